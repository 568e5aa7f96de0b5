/** DtypeInfo says how ONNX Runtime for Node stores an element type, and its name in the Open Inference Protocol. */
export interface DtypeInfo {
  readonly bytes: number;
  readonly array: NumericArrayConstructor;
  /** The datatype's name in the Open Inference Protocol. */
  readonly oip: string;
}

/** NumericArray is any array that holds the elements of a numeric tensor. */
export type NumericArray =
  | Float32Array
  | Float64Array
  | Int8Array
  | Int16Array
  | Int32Array
  | BigInt64Array
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | BigUint64Array;

/** NumericArrayConstructor makes such arrays; `length` counts elements, `byteOffset` bytes. */
export interface NumericArrayConstructor {
  readonly name: string;
  new (length: number): NumericArray;
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): NumericArray;
}

/**
 * DTYPES holds the element types that tensors at a model's boundary may have, by ONNX Runtime's names. `bool` is a
 * byte of 0 or 1. `float16` is its 16 bits (a Uint16Array, also where the platform has a Float16Array). Strings have
 * no fixed size and are not in the table.
 */
export const DTYPES: Readonly<Record<string, DtypeInfo>> = {
  float32: { bytes: 4, array: Float32Array, oip: 'FP32' },
  float64: { bytes: 8, array: Float64Array, oip: 'FP64' },
  float16: { bytes: 2, array: Uint16Array, oip: 'FP16' },
  int8: { bytes: 1, array: Int8Array, oip: 'INT8' },
  int16: { bytes: 2, array: Int16Array, oip: 'INT16' },
  int32: { bytes: 4, array: Int32Array, oip: 'INT32' },
  int64: { bytes: 8, array: BigInt64Array, oip: 'INT64' },
  uint8: { bytes: 1, array: Uint8Array, oip: 'UINT8' },
  uint16: { bytes: 2, array: Uint16Array, oip: 'UINT16' },
  uint32: { bytes: 4, array: Uint32Array, oip: 'UINT32' },
  uint64: { bytes: 8, array: BigUint64Array, oip: 'UINT64' },
  bool: { bytes: 1, array: Uint8Array, oip: 'BOOL' },
};

/** STRING_DTYPE is the dtype of tensors of text, whose elements are no numbers. */
export const STRING_DTYPE = 'string';
const STRING_OIP = 'BYTES';

/**
 * dtypeInfo gives a numeric dtype's storage; undefined for `string` and for types that cannot cross a boundary here.
 */
export function dtypeInfo(dtype: string): DtypeInfo | undefined {
  return Object.hasOwn(DTYPES, dtype) ? DTYPES[dtype] : undefined;
}

/** oipDatatype gives the Open Inference Protocol's name of a dtype (`float32` → `FP32`, `string` → `BYTES`), if any. */
export function oipDatatype(dtype: string): string | undefined {
  return dtype === STRING_DTYPE ? STRING_OIP : dtypeInfo(dtype)?.oip;
}

/** dtypeOfOip gives the dtype that the Open Inference Protocol calls `datatype`, or undefined. */
export function dtypeOfOip(datatype: string): string | undefined {
  if (datatype === STRING_OIP) return STRING_DTYPE;
  return Object.keys(DTYPES).find((dtype) => DTYPES[dtype]!.oip === datatype);
}
