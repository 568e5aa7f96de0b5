/**
 * This room turns tensors into the bytes of the Open Inference Protocol and back, as JSON and as its binary
 * extension.
 *
 * It takes and gives tensors and their encodings, and tensors as programs of workflows have them. It does not
 * read whole requests (`runtime` does) and knows no sockets. Work that may take long is done in steps
 * (`steps.ts`), so that a server can do other things between them. Start reading at `wire.ts`, then
 * `json.ts`; how the JSON of a large request is cut before anything is parsed is in `request-parts.ts`.
 */

export { atOnce, type Steps } from '../collections/index.js';
export { type Json, parseCutJson, parseJson, partOf, quotedJson } from './json.js';
export {
  calledFace,
  callFaults,
  programTensor,
  type SpecifiedFace,
  sentFace,
  tensorOfProgram,
} from './program-tensors.js';
export { type DataText, requestParts } from './request-parts.js';
export {
  bytesOf,
  dataTextBytes,
  jsonOf,
  jsonTexts,
  tensorFromBytes,
  tensorFromJson,
  tensorOfBytes,
  tensorOfText,
} from './wire.js';
export { WireFault } from './wire-fault.js';
