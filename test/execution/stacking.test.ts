import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { describe, expect, it } from 'vitest';
import {
  DTYPES,
  dtypeOfOip,
  elementCount,
  oipDatatype,
  randomTensor,
  splitBatch,
  stackBatch,
  type TensorData,
  tensorBytes,
} from '../../src/execution/index.js';
import { inWholeRun } from '../cases.js';

const DTYPE_NAMES = [...Object.keys(DTYPES), 'string'];

function stream(seed: number) {
  const generator = xoroshiro128plus(seed);
  return {
    int: (low: number, high: number) => uniformInt(generator, low, high),
    unit: () => uniformInt(generator, 0, 2 ** 30 - 1) / 2 ** 30,
  };
}

/** at gives the element at a multi-index by strides, the slow way. */
function at(tensor: TensorData, index: readonly number[]): unknown {
  return tensor.data[index.reduce((flat, i, axis) => flat * tensor.dims[axis]! + i, 0)];
}

function* indices(dims: readonly number[]): Generator<number[]> {
  const total = elementCount(dims);
  for (let flat = 0; flat < total; flat++) {
    const index: number[] = [];
    let rest = flat;
    for (const dim of [...dims].reverse()) {
      index.unshift(rest % dim);
      rest = Math.floor(rest / dim);
    }
    yield index;
  }
}

describe('stackBatch() and splitBatch()', () => {
  inWholeRun(
    'put every element where its part and index say, for random dtypes, shapes and axes, and undo it again',
    () => {
      for (let seed = 0; seed < 300; seed++) {
        const { int, unit } = stream(seed);
        const dtype = DTYPE_NAMES[int(0, DTYPE_NAMES.length - 1)]!;
        const rank = int(1, 4);
        const axis = int(0, rank - 1);
        const dims = Array.from({ length: rank }, () => int(seed % 7 === 0 ? 0 : 1, 4));
        const rows = Array.from({ length: int(1, 5) }, () => int(1, 3));
        const parts = rows.map((n) =>
          randomTensor({ dtype, dims: dims.with(axis, n) }, unit, {
            low: 0,
            high: dtype === 'bool' ? 2 : 100,
          }),
        );
        const stacked = stackBatch(parts, axis);
        expect(stacked.dims[axis], `seed ${seed}`).toBe(rows.reduce((a, b) => a + b));
        let offset = 0;
        for (const part of parts) {
          for (const index of indices(part.dims)) {
            expect(at(stacked, index.with(axis, index[axis]! + offset)), `seed ${seed}`).toBe(
              at(part, index),
            );
          }
          offset += part.dims[axis]!;
        }
        expect(splitBatch(stacked, axis, rows), `seed ${seed}`).toEqual(parts);
      }
    },
  );

  it('refuse parts of unlike dtypes or shapes, naming each', () => {
    const part = (dtype: string, dims: number[]) => randomTensor({ dtype, dims }, () => 0.5);
    const parts = [
      part('float32', [1, 3]),
      part('float32', [2, 3]),
      part('int32', [1, 3]),
      part('float32', [1, 4]),
    ];
    expect(() => stackBatch(parts, 0)).toThrow(/part 2: is int32\[1, 3\].*\n.*part 3: is float32\[1, 4\]/s);
    expect(() => stackBatch(parts.slice(0, 2), 2)).toThrow(/batch axis is 2/);
    expect(() => stackBatch([], 0)).toThrow(/there are none/);
    expect(() => splitBatch(part('float32', [4, 3]), 0, [1, 2])).toThrow(/1 \+ 2 rows/);
  });
});

describe('tensors', () => {
  it('have as many bytes as are sent, with lengths for strings', () => {
    expect(tensorBytes(randomTensor({ dtype: 'float16', dims: [2, 3] }, () => 0.5))).toBe(12);
    expect(tensorBytes(randomTensor({ dtype: 'int64', dims: [] }, () => 0.5))).toBe(8);
    expect(tensorBytes({ dtype: 'string', dims: [2], data: ['é', 'ab'] })).toBe(4 + 2 + 4 + 2);
  });

  it('have dtypes that convert to names of the Open Inference Protocol and back', () => {
    for (const dtype of DTYPE_NAMES) expect(dtypeOfOip(oipDatatype(dtype)!)).toBe(dtype);
    expect(oipDatatype('float32')).toBe('FP32');
    expect(oipDatatype('bfloat16')).toBeUndefined();
    expect(dtypeOfOip('FP8')).toBeUndefined();
  });

  it('hold random values within the range that is valid for the dtype', () => {
    const { unit } = stream(1);
    const ids = randomTensor({ dtype: 'int64', dims: [1000] }, unit, { low: 5, high: 9 })
      .data as BigInt64Array;
    expect(new Set(ids)).toEqual(new Set([5n, 6n, 7n, 8n]));
    expect(new Set<unknown>(randomTensor({ dtype: 'bool', dims: [100] }, unit).data)).toEqual(
      new Set([0, 1]),
    );
    const halves = new Set<unknown>(randomTensor({ dtype: 'float16', dims: [100] }, () => 0.5).data);
    expect(halves).toEqual(new Set([0x3800]));
    expect(() => randomTensor({ dtype: 'float8', dims: [1] }, unit)).toThrow(/known types are float32/);
  });
});
