import { describe, expect, it } from 'vitest';
import type { TensorSpec } from '../../src/artifacts/index.js';
import type { TensorData } from '../../src/execution/index.js';
import { stackRows } from '../../src/runtime/rows.js';

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
