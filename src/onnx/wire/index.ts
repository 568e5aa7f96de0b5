/**
 * This folder reads and writes protobuf messages on the wire: fields, tensors, value infos and their types. It decodes
 * only what it must.
 *
 * Start with `wire.ts`. Limits on hostile files are named constants beside what they limit (`problems.ts`).
 */

export { codeOf, dtypeOf, travellingTypes, travels } from './dtypes.js';
export {
  ANNOTATION,
  ATTRIBUTE,
  DIM,
  ENTRY,
  FUNCTION,
  GRAPH,
  MODEL,
  NODE,
  OPSET,
  SHAPE,
  SPARSE,
  TENSOR,
  TENSOR_TYPE,
  TYPE,
  VALUE_INFO,
} from './fields.js';
export { tensorHead, tensorNumbers, unlessUnreadable } from './numbers.js';
export { Problems, quoted, short } from './problems.js';
export { entryOf, readSparse, readTensor } from './tensor.js';
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
export { NESTED_TYPES, readValueInfo, valueInfoBytes } from './value-info.js';
export { vectorBytes } from './vector.js';
export {
  concat,
  delimited,
  type Field,
  fieldsOf,
  LENGTH_DELIMITED,
  merged,
  messageField,
  numberField,
  numberOf,
  numbersOf,
  payloadOf,
  rawField,
  rewritten,
  rewrittenParts,
  textField,
  textOf,
  WireError,
} from './wire.js';
export { withGraph } from './with-graph.js';
