import type { Fault } from '../formats/index.js';
import { dtypeInfo, type NumericArray, STRING_DTYPE } from './dtype.js';
import { elementCount, isStrings, type TensorData } from './tensor-data.js';

/** MakeTensor makes a tensor whose elements are to be overwritten. */
export type MakeTensor = (dtype: string, dims: readonly number[]) => TensorData;

/** tensorMaker makes tensors in memory that `allocate` gives, which may be more than asked. */
export function tensorMaker(allocate: (bytes: number) => ArrayBuffer): MakeTensor {
  return (dtype, dims) => {
    const length = elementCount(dims);
    if (dtype === STRING_DTYPE) return { dtype, dims, data: new Array<string>(length).fill('') };
    const { array, bytes } = dtypeInfo(dtype)!;
    return { dtype, dims, data: new array(allocate(length * bytes), 0, length) };
  };
}

/** copiedTensor gives a tensor in memory of its own. */
export function copiedTensor({ dtype, dims, data }: TensorData, make: MakeTensor): TensorData {
  const copied = make(dtype, dims);
  copy(data, 0, data.length, copied.data, 0);
  return copied;
}

/** joinFaults says why tensors cannot be joined along an axis: none are there, or dtypes or other dimensions differ. */
export function joinFaults(parts: readonly TensorData[], axis: number): Fault[] {
  const first = parts[0];
  if (first === undefined) return [{ path: '', message: 'there are none' }];
  if (!(Number.isInteger(axis) && axis >= 0 && axis < first.dims.length)) {
    return [{ path: '', message: `batch axis is ${axis}, but the shape is [${first.dims.join(', ')}]` }];
  }
  const agrees = (part: TensorData) =>
    part.dtype === first.dtype &&
    part.dims.length === first.dims.length &&
    part.dims.every((dim, i) => i === axis || dim === first.dims[i]);
  return parts.flatMap((part, i) =>
    agrees(part)
      ? []
      : [
          {
            path: `part ${i}`,
            message: `is ${shown(part)}, but part 0 is ${shown(first)}, axis ${axis} apart`,
          },
        ],
  );
}

/** joinedParts joins parts that `joinFaults` takes. A single part is returned as it is. */
export function joinedParts(parts: readonly TensorData[], axis: number, make: MakeTensor): TensorData {
  const first = parts[0]!;
  if (parts.length === 1) return first;
  const rows = parts.map((part) => part.dims[axis]!);
  const total = rows.reduce((sum, count) => sum + count, 0);
  const stacked = make(first.dtype, first.dims.with(axis, total));
  const { outer, inner } = aroundAxis(first.dims, axis);
  let at = 0;
  for (let row = 0; row < outer; row++) {
    parts.forEach((part, i) => {
      const length = rows[i]! * inner;
      copy(part.data, row * length, length, stacked.data, at);
      at += length;
    });
  }
  return stacked;
}

/** splitFault says why a tensor cannot be split into parts of a given number of rows along an axis; undefined where it can. */
export function splitFault(
  tensor: TensorData,
  axis: number,
  rowsPerPart: readonly number[],
): string | undefined {
  const total = rowsPerPart.reduce((sum, rows) => sum + rows, 0);
  const whole = rowsPerPart.every((rows) => Number.isInteger(rows) && rows >= 0);
  if (whole && tensor.dims[axis] === total) return undefined;
  return `it is ${shown(tensor)}, and parts of ${rowsPerPart.join(' + ')} rows are asked for along axis ${axis}`;
}

/** splitParts gives parts for which there is no `splitFault`: views where all dimensions before the axis are 1, else copies. */
export function splitParts(
  tensor: TensorData,
  { axis, rowsPerPart, make }: { axis: number; rowsPerPart: readonly number[]; make: MakeTensor },
): TensorData[] {
  const { outer, inner } = aroundAxis(tensor.dims, axis);
  const outerLength = tensor.dims[axis]! * inner;
  let offset = 0;
  return rowsPerPart.map((rows) => {
    const length = rows * inner;
    const dims = tensor.dims.with(axis, rows);
    const from = offset;
    offset += length;
    if (outer === 1) return { dtype: tensor.dtype, dims, data: view(tensor.data, from, length) };
    const part = make(tensor.dtype, dims);
    for (let row = 0; row < outer; row++) {
      copy(tensor.data, row * outerLength + from, length, part.data, row * length);
    }
    return part;
  });
}

function aroundAxis(dims: readonly number[], axis: number): { outer: number; inner: number } {
  return { outer: elementCount(dims.slice(0, axis)), inner: elementCount(dims.slice(axis + 1)) };
}

function copy(
  from: TensorData['data'],
  start: number,
  length: number,
  to: TensorData['data'],
  at: number,
): void {
  if (isStrings(from)) {
    for (let i = 0; i < length; i++) (to as string[])[at + i] = from[start + i]!;
  } else {
    const source = start === 0 && length === from.length ? from : from.subarray(start, start + length);
    (to as Float32Array).set(source as Float32Array, at);
  }
}

function view(data: TensorData['data'], start: number, length: number): NumericArray | readonly string[] {
  return isStrings(data) ? data.slice(start, start + length) : data.subarray(start, start + length);
}

function shown(tensor: TensorData): string {
  return `${tensor.dtype}[${tensor.dims.join(', ')}]`;
}
