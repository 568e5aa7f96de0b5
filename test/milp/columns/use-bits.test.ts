import { describe, expect, test } from 'vitest';
import {
  type ColumnSet,
  enumerateColumns,
  LabelPricing,
  ListedColumns,
} from '../../../src/milp/columns/index.js';
import { modelTable } from '../../../src/milp/tables/index.js';
import { type ModelByHand, problemByHand } from '../by-hand.js';

/** Two blocks, either of which any of 40 classes can run. */
const NAMES = Array.from({ length: 40 }, (_, k) => `C${k}`);
const DEVICES = Object.fromEntries(NAMES.map((name) => [name, { count: 1 }]));
const MODEL: ModelByHand = {
  name: 'm',
  sloMs: 100,
  latencyUs: Object.fromEntries(NAMES.map((name) => [name, { 1: { 1: [1000, 1000] } }])),
};

describe('prices where the use of far classes is worth something', () => {
  const problem = problemByHand(DEVICES, [MODEL], { maxPartitions: 2, linkThroughput: false });
  const table = modelTable(problem, 0);
  const prices = {
    perGpu: new Float64Array(40).fill(1),
    perUse: Float64Array.from(NAMES, (_, k) => (k === 0 ? 5 : k === 32 ? 7 : 0)),
  };
  const set = enumerateColumns(table, problem.planner, { limit: 1e6 }) as ColumnSet;

  // Each block takes a thousandth of a GPU per request; classes 0 and 32 are worth 12 together.
  test.each([
    ['listed', new ListedColumns(set)],
    ['labelled', new LabelPricing(table, problem.planner, () => false)],
  ])('both are counted in %s columns', (_, source) => {
    expect(source.cheapest(prices, Infinity)).toBeCloseTo(0.002 - 12, 9);
  });
});

test('problemByHand() refuses shares of more classes than can be counted', () => {
  const minShare = Object.fromEntries(NAMES.slice(0, 33).map((name) => [name, 0.01]));
  expect(() => problemByHand(DEVICES, [{ ...MODEL, minShare }])).toThrow(
    'asks for shares of 33 classes; at most 32 are planned',
  );
  expect(() => problemByHand(DEVICES, [{ ...MODEL, minShare: { ...minShare, C32: 0 } }])).not.toThrow();
});
