/**
 * ONNX files: read, order, cut, extract.
 *
 * Bytes go in; out come the graph's nodes in topological order, the tensors that live at every cut, and models made of
 * parts of the file's own bytes. Only names, types and shapes are decoded: weights, attributes and fields newer than
 * this code are copied as they are, and external data is pointed to, never read. It runs nothing, measures nothing and
 * opens no files.
 */
export {
  type BatchAxis,
  type BatchDim,
  batchDim,
  bindDims,
  freeDims,
  makeBatchSymbolic,
  type SymbolicBatch,
  zeroDims,
} from './batch/index.js';
export {
  type Cut,
  cutFault,
  cutsOf,
  type Extracted,
  type ExtractOptions,
  exposeTensors,
  extractPartition,
  type LargestCut,
  largestCut,
  mayBranch,
  nameNodes,
  type Pick,
  type Probe,
  type Probed,
  peakBytes,
  probeTensors,
} from './cut/index.js';
export type { ExternalCopy } from './read/index.js';
export { externalLocations, randomNodes, readModel } from './read/index.js';
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
} from './wire/index.js';
