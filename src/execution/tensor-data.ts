import type { NumericArray } from './dtype.js';

/** TensorData is a tensor's values with its element type and shape, row-major. Strings are an array of strings. */
export interface TensorData {
  readonly dtype: string;
  readonly dims: readonly number[];
  readonly data: NumericArray | readonly string[];
}

/** elementCount gives the number of elements of a shape; 1 for a scalar. */
export function elementCount(dims: readonly number[]): number {
  return dims.reduce((product, dim) => product * dim, 1);
}

/** tensorBytes gives a tensor's bytes as sent. A string takes four for its length, plus its UTF-8 bytes. */
export function tensorBytes(tensor: TensorData): number {
  if (isStrings(tensor.data)) {
    return tensor.data.reduce((bytes, text) => bytes + 4 + Buffer.byteLength(text), 0);
  }
  return tensor.data.byteLength;
}

/** isStrings says whether a tensor holds text; its data is else a typed array. */
export function isStrings(data: TensorData['data']): data is readonly string[] {
  return Array.isArray(data);
}

/** sameTensor says whether two tensors have the same shape and elements. It does not compare their types. */
export function sameTensor(one: TensorData, other: TensorData): boolean {
  if (one.dims.length !== other.dims.length || one.dims.some((dim, i) => dim !== other.dims[i])) return false;
  if (isStrings(one.data) || isStrings(other.data)) {
    const texts = other.data;
    return one.data.length === texts.length && one.data.every((text, i) => text === texts[i]);
  }
  const bytes = (data: Exclude<TensorData['data'], readonly string[]>) =>
    Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  return bytes(one.data).equals(bytes(other.data));
}
