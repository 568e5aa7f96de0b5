/**
 * This folder finds where a graph can be cut (`cuts.ts`) and writes the partition between two cuts as an ONNX file made
 * of copied bytes (`extract.ts`).
 */

export type { SentBytes } from './crossing.js';
export {
  type Cut,
  type CutFault,
  cutFault,
  cutFaultText,
  cutsOf,
  type TensorFault,
  tensorFaultText,
} from './cuts.js';
export {
  type Extracted,
  type ExtractedPieces,
  type ExtractOptions,
  extractPartition,
  extractPieces,
} from './extract.js';
export { type LargestCut, largestCut, peakBytes } from './live.js';
export { type Pick, type Probe, type Probed, probeTensors } from './probes.js';
export { mayBranch } from './ranks.js';
export { exposeTensors, nameNodes } from './rewrite.js';
export { liveTensors } from './spans.js';
