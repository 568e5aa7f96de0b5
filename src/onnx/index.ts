/**
 * ONNX files: read, order, cut, extract.
 *
 * Bytes go in; out come the graph's nodes in topological order, the tensors that live at every cut, and models made of
 * parts of the file's own bytes. Only names, types and shapes are decoded: weights, attributes and fields newer than
 * this code are copied as they are, and external data is pointed to, never read. It runs nothing, measures nothing and
 * opens no files.
 */
export { makeBatchSymbolic, type SymbolicBatch } from './batch.js';
export { type BatchAxis, type BatchDim, batchDim } from './batch-dim.js';
export { randomNodes } from './constants.js';
export { type Cut, cutFault, cutsOf } from './cuts.js';
export { bindDims, freeDims } from './dims.js';
export { mayBranch } from './ends.js';
export type { ExternalCopy } from './external.js';
export { type Extracted, type ExtractOptions, extractPartition } from './extract.js';
export { type LargestCut, largestCut, peakBytes } from './live.js';
export { type Pick, type Probe, type Probed, probeTensors } from './probes.js';
export { readModel } from './read.js';
export { exposeTensors, nameNodes } from './rewrite.js';
export type {
  ExternalData,
  Initializer,
  OnnxFunction,
  OnnxGraph,
  OnnxModel,
  OnnxNode,
  TensorType,
  ValueInfo,
  ValueType,
} from './types.js';
