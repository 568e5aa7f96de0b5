/**
 * ONNX files: read, order, cut, extract.
 *
 * Bytes go in; out come the graph's nodes in topological order, the tensors that live at every cut, and models made of
 * parts of the file's own bytes. Only names, types and shapes are decoded: weights, attributes and fields newer than
 * this code are copied as they are, and external data is pointed to, never read. It runs nothing, measures nothing and
 * opens no files.
 */
export { makeBatchSymbolic, type SymbolicBatch } from './batch/batch.js';
export { type BatchAxis, type BatchDim, batchDim } from './batch/batch-dim.js';
export { bindDims, freeDims } from './batch/dims.js';
export { type Cut, cutFault, cutsOf } from './cut/cuts.js';
export { mayBranch } from './cut/ends.js';
export { type Extracted, type ExtractOptions, extractPartition } from './cut/extract.js';
export { exposeTensors, nameNodes } from './cut/rewrite.js';
export type { ExternalCopy } from './read/external.js';
export { readModel } from './read/read.js';
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
} from './wire/types.js';
