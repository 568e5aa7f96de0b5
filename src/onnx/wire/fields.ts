/** These fields of onnx.proto (IR version 13) are read or written. All other fields are only copied. */
export const MODEL = {
  irVersion: 1,
  producerName: 2,
  producerVersion: 3,
  domain: 4,
  modelVersion: 5,
  docString: 6,
  graph: 7,
  opsetImport: 8,
  trainingInfo: 20,
  functions: 25,
} as const;
export const OPSET = { domain: 1, version: 2 } as const;
export const GRAPH = {
  node: 1,
  name: 2,
  initializer: 5,
  input: 11,
  output: 12,
  valueInfo: 13,
  quantizationAnnotation: 14,
  sparseInitializer: 15,
} as const;
export const NODE = {
  input: 1,
  output: 2,
  name: 3,
  opType: 4,
  attribute: 5,
  domain: 7,
  overload: 8,
} as const;
export const ATTRIBUTE = {
  name: 1,
  i: 3,
  s: 4,
  t: 5,
  g: 6,
  ints: 8,
  tensors: 10,
  strings: 9,
  graphs: 11,
  type: 20,
  reference: 21,
  sparseTensor: 22,
  sparseTensors: 23,
} as const;
export const TENSOR = {
  dims: 1,
  dataType: 2,
  segment: 3,
  floatData: 4,
  int32Data: 5,
  stringData: 6,
  int64Data: 7,
  name: 8,
  rawData: 9,
  doubleData: 10,
  uint64Data: 11,
  externalData: 13,
  dataLocation: 14,
} as const;
export const SPARSE = { values: 1, indices: 2, dims: 3 } as const;
export const ENTRY = { key: 1, value: 2 } as const;
export const VALUE_INFO = { name: 1, type: 2 } as const;
export const TYPE = { tensor: 1, sequence: 4, map: 5, opaque: 7, sparse: 8, optional: 9 } as const;
export const TENSOR_TYPE = { elemType: 1, shape: 2 } as const;
export const CONTAINER_TYPE = { elemType: 1 } as const;
export const MAP_TYPE = { valueType: 2 } as const;
export const SHAPE = { dim: 1 } as const;
export const DIM = { value: 1, param: 2, denotation: 3 } as const;
export const ANNOTATION = { tensorName: 1 } as const;
export const FUNCTION = {
  name: 1,
  input: 4,
  output: 5,
  node: 7,
  opsetImport: 9,
  domain: 10,
  attributeDefault: 11,
  overload: 13,
} as const;
