import { describe, expect, it } from 'vitest';
import type { TensorData } from '../../../src/execution/index.js';
import type { TensorSpec } from '../../../src/formats/index.js';
import { splitRows, stackRows } from '../../../src/runtime/tensors/rows.js';

describe('stackRows() of an input without a batch axis', () => {
  const spec: TensorSpec = { name: 'words', dtype: 'string', shape: [2] };
  const words = (...data: string[]): TensorData => ({ dtype: 'string', dims: [2], data });

  it('gives the tensor that all rows have', () => {
    const rows = [words('a', 'b'), words('a', 'b')];
    expect(stackRows(rows, spec)).toEqual(words('a', 'b'));
  });

  it('refuses rows that differ, even if their strings read the same in a row', () => {
    const rows = [words('a,b', 'c'), words('a', 'b,c')];
    expect(() => stackRows(rows, spec)).toThrow('differs between the requests of a batch');
  });
});

const three: TensorData = { dtype: 'float32', dims: [3], data: Float32Array.of(1, 2, 3) };
const common: TensorSpec = { name: 'y', dtype: 'float32', shape: [3] };
const listed: TensorSpec = { ...common, variableAxes: [0] };

it('splitRows() gives each of several rows what is common to them', () => {
  expect(splitRows(three, common, 2)).toEqual([three, three]);
});

it('splitRows() gives nobody a list that several rows may be in, but to a row alone', () => {
  expect(() => splitRows(three, listed, 2)).toThrow(
    /y has no batch axis and a size that depends on the data/,
  );
  expect(splitRows(three, listed, 1)).toEqual([three]);
});
