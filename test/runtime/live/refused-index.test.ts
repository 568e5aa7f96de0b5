import { expect, it } from 'vitest';
import type { TensorData } from '../../../src/execution/index.js';
import { refusedIndex } from '../../../src/runtime/live/refused-index.js';

const ids = (...values: number[]): TensorData => ({
  dtype: 'int64',
  dims: [1, values.length],
  data: BigInt64Array.from(values, BigInt),
});
const x: TensorData = { dtype: 'float32', dims: [1, 1], data: Float32Array.of(99) };
const said = (words: string) =>
  `Cannot run a model on cpu: Non-zero status code returned while running Gather node. Name:'find' Status Message: ${words}`;
const GATHER = said('indices element out of data bounds, idx=99 must be within the inclusive range [-8,7]');

it('refusedIndex() names the inputs that hold the index, the node and the range', () => {
  expect(
    refusedIndex(GATHER, [
      { x, ids: ids(1, 2) },
      { x, ids: ids(3, 99) },
    ]),
  ).toBe('input ids holds 99, which is out of range at node "find"; it takes -8 to 7');
  expect(refusedIndex(GATHER, [{ a: ids(99), b: ids(0), c: ids(99) }])).toContain('input a or c holds 99');
  const small: TensorData = { dtype: 'int32', dims: [1], data: Int32Array.of(99) };
  expect(refusedIndex(GATHER, [{ small }])).toContain('input small holds 99');
});

it('refusedIndex() reports a computed index where no input of whole numbers holds it', () => {
  expect(refusedIndex(GATHER, [{ x, ids: ids(98) }])).toBe(
    'an index made of its data is 99, which is out of range at node "find"; it takes -8 to 7',
  );
});

it.each([
  [
    'GatherND',
    'invalid index found, index = -99',
    'input ids holds -99, which is out of range at node "find"',
  ],
  [
    'ScatterND',
    'invalid indice found, indice = -99',
    'input ids holds -99, which is out of range at node "find"',
  ],
  [
    'GatherElements',
    '/src/gather_elements.cc:150 void core_impl() GatherElements op: Out of range value in index tensor',
    'an index in its data is out of range at node "find"',
  ],
])('refusedIndex() recognizes the words of %s', (_op, words, expected) => {
  expect(refusedIndex(said(words), [{ ids: ids(-99) }])).toBe(expected);
});

it('refusedIndex() ignores other failures', () => {
  expect(refusedIndex('its process 12 ended by SIGKILL', [{ ids: ids(1) }])).toBeUndefined();
  expect(refusedIndex(said('Input X must have 3 dimensions'), [{ ids: ids(3) }])).toBeUndefined();
});
