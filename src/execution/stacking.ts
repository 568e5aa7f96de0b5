import { type Fault, InputError } from '../artifacts/index.js';
import type { NumericArray } from './dtype.js';
import { emptyTensor } from './tensor.js';
import { elementCount, isStrings, type TensorData } from './tensor-data.js';

/**
 * stackBatch joins one tensor of several requests along the batch axis, in the order given. Along axis 0 this is one
 * copy per part; along a later axis, one copy per part and outer row. A single part is returned as it is.
 * @throws InputError when dtypes or other dimensions differ, the axis is not one of the shape, or there are no parts
 */
export function stackBatch(parts: readonly TensorData[], batchAxis: number): TensorData {
  const first = parts[0];
  if (first === undefined) throw new InputError('stack tensors', [{ path: '', message: 'there are none' }]);
  const faults = stackFaults(parts, first, batchAxis);
  if (faults.length > 0) throw new InputError('stack tensors', faults);
  if (parts.length === 1) return first;
  const rows = parts.map((part) => part.dims[batchAxis]!);
  const total = rows.reduce((sum, count) => sum + count, 0);
  const stacked = emptyTensor(first.dtype, first.dims.with(batchAxis, total));
  const { outer, inner } = aroundAxis(first.dims, batchAxis);
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

/**
 * splitBatch gives the parts of a stacked tensor, each with its `rowsPerPart` rows along the batch axis, in order.
 * Where all dimensions before that axis are 1 (as for axis 0), the parts are views of the tensor's memory, not copies;
 * strings are always copied.
 * @throws InputError when the rows are not whole numbers of at least 0 that add up to the axis
 */
export function splitBatch(
  tensor: TensorData,
  batchAxis: number,
  rowsPerPart: readonly number[],
): TensorData[] {
  checkSplit(tensor, batchAxis, rowsPerPart);
  const { outer, inner } = aroundAxis(tensor.dims, batchAxis);
  const outerLength = tensor.dims[batchAxis]! * inner;
  let offset = 0;
  return rowsPerPart.map((rows) => {
    const length = rows * inner;
    const dims = tensor.dims.with(batchAxis, rows);
    const from = offset;
    offset += length;
    if (outer === 1) return { dtype: tensor.dtype, dims, data: view(tensor.data, from, length) };
    const part = emptyTensor(tensor.dtype, dims);
    for (let row = 0; row < outer; row++) {
      copy(tensor.data, row * outerLength + from, length, part.data, row * length);
    }
    return part;
  });
}

function stackFaults(parts: readonly TensorData[], first: TensorData, axis: number): Fault[] {
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

function checkSplit(tensor: TensorData, axis: number, rowsPerPart: readonly number[]): void {
  const total = rowsPerPart.reduce((sum, rows) => sum + rows, 0);
  const whole = rowsPerPart.every((rows) => Number.isInteger(rows) && rows >= 0);
  if (whole && tensor.dims[axis] === total) return;
  const message = `it is ${shown(tensor)}, and parts of ${rowsPerPart.join(' + ')} rows are asked for along axis ${axis}`;
  throw new InputError('split a tensor', [{ path: '', message }]);
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
