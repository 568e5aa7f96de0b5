/**
 * This room turns tensors into the bytes of the Open Inference Protocol and back, as JSON and as its binary
 * extension.
 *
 * It takes and gives tensors and their encodings. It does not read whole requests (`runtime` does) and knows
 * no sockets. Start reading at `wire.ts`, then `json.ts`.
 */
export { asGiven, type Json, parseJson, partOf, quotedJson } from './json.js';
export { bytesOf, jsonOf, tensorFromBytes, tensorFromJson } from './wire.js';
export { WireFault } from './wire-fault.js';
