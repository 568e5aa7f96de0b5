import * as ort from 'onnxruntime-node';
import type { BatchAxis } from '../../src/onnx/index.js';
import type { Tensors } from './runtime.js';

type Numbers = Float32Array | BigInt64Array;

/** stacked joins rows along each input's batch axis; inputs without one are the first row's. */
export function stacked(rows: readonly Tensors[], axes: readonly BatchAxis[]): Tensors {
  return Object.fromEntries(
    axes.map(({ name, axis }) => {
      const parts = rows.map((row) => row[name]!);
      return [name, axis === undefined ? parts[0]! : joined(parts, axis)];
    }),
  );
}

function joined(parts: readonly ort.Tensor[], axis: number): ort.Tensor {
  const { dims, type } = parts[0]!;
  const outer = product(dims.slice(0, axis));
  const inner = product(dims.slice(axis));
  const whole = new Array<number | bigint>(outer * inner * parts.length);
  parts.forEach((part, index) => {
    for (let o = 0; o < outer; o++)
      for (let i = 0; i < inner; i++)
        whole[(o * parts.length + index) * inner + i] = (part.data as Numbers)[o * inner + i]!;
  });
  const shape = dims.map((dim, at) => (at === axis ? dim * parts.length : dim));
  return type === 'int64'
    ? new ort.Tensor('int64', BigInt64Array.from(whole as bigint[]), shape)
    : new ort.Tensor('float32', Float32Array.from(whole as number[]), shape);
}

/** rowOf gives one row of a batch, as a tensor with 1 on the batch's axis. */
export function rowOf(tensor: ort.Tensor, axis: number, row: number): ort.Tensor {
  const { dims } = tensor;
  const outer = product(dims.slice(0, axis));
  const inner = product(dims.slice(axis + 1));
  const data = Float32Array.from({ length: outer * inner }, (_, at) => {
    const index = (Math.floor(at / inner) * dims[axis]! + row) * inner + (at % inner);
    return Number((tensor.data as Float32Array)[index]);
  });
  return new ort.Tensor(
    'float32',
    data,
    dims.map((dim, at) => (at === axis ? 1 : dim)),
  );
}

function product(dims: readonly number[]): number {
  return dims.reduce((all, dim) => all * dim, 1);
}
