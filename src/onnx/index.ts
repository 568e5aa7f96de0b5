/**
 * This room reads ONNX files, puts their nodes in order, finds where they can be cut, and extracts partitions.
 *
 * Bytes go in. Out come the graph's nodes in topological order, the tensors that live at every cut, and models made of
 * parts of the file's own bytes. Only names, types and shapes are decoded. Weights, attributes and fields newer than
 * this code are copied as they are, and external data is pointed to, never read. The room runs nothing, measures
 * nothing and opens no files.
 */
export {
  BATCH,
  type BatchAxis,
  type BatchDim,
  batchDim,
  bindDims,
  followRows,
  freeDims,
  type LostOutput,
  type MeasuredShapes,
  makeBatchSymbolic,
  type RowsFollowed,
  type SeenTensor,
  type SymbolicBatch,
  type UnknownNode,
  unsentTypes,
  zeroDims,
} from './batch/index.js';
export {
  type Cut,
  type CutFault,
  cutFault,
  cutFaultText,
  cutsOf,
  type Extracted,
  type ExtractedPieces,
  type ExtractOptions,
  exposeTensors,
  extractPartition,
  extractPieces,
  type LargestCut,
  largestCut,
  liveTensors,
  mayBranch,
  nameNodes,
  type Pick,
  type Probe,
  type Probed,
  peakBytes,
  probeTensors,
  type SentBytes,
  type TensorFault,
  tensorFaultText,
} from './cut/index.js';
export type { ExternalCopy, Weight } from './read/index.js';
export {
  dataSizedTensors,
  externalLocations,
  randomNodes,
  readModel,
  textsNotUtf8,
  withoutWeights,
} from './read/index.js';
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
export { dtypeOf } from './wire/index.js';
