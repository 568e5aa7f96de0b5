import { describe, expect, it } from 'vitest';
import { fieldChanges } from '../../src/formats/index.js';

describe('fieldChanges()', () => {
  it('finds no change between equal values, nor in the last digits of numbers', () => {
    const value = { a: [1, { b: 'x' }], c: null };
    expect(fieldChanges(value, structuredClone(value))).toEqual([]);
    expect(fieldChanges({ rps: 1e6 }, { rps: 1e6 + 1e-4 })).toEqual([]);
    expect(fieldChanges([Number.POSITIVE_INFINITY], [Number.POSITIVE_INFINITY])).toEqual([]);
    for (const [a, b] of [
      [5, Number.POSITIVE_INFINITY],
      [Number.POSITIVE_INFINITY, 5],
    ])
      expect(fieldChanges([a], [b])).toHaveLength(1);
  });

  it('names every field that is changed, added or left out, with both values', () => {
    expect(
      fieldChanges(
        { same: 1, rps: 5, list: [1, 2], kind: { a: 1 }, gone: 'x' },
        { same: 1, rps: 6, list: [1, 3, 4], kind: [1], added: null },
        '/plan',
      ),
    ).toEqual([
      { path: '/plan/rps', before: '5', after: '6' },
      { path: '/plan/list/1', before: '2', after: '3' },
      { path: '/plan/list/2', after: '4' },
      { path: '/plan/kind', before: '{"a":1}', after: '[1]' },
      { path: '/plan/gone', before: '"x"' },
      { path: '/plan/added', after: 'null' },
    ]);
  });

  it('shortens long values', () => {
    const [change] = fieldChanges({ a: 'y'.repeat(200) }, {});
    expect(change?.before).toHaveLength(60);
  });
});
