import { describe, expect, test } from 'vitest';
import {
  canPlace,
  type PlacementRules,
  type PoolToPlace,
  placeVirtualGpus,
} from '../../../src/milp/plan/placement.js';

const BY_CLASS: PlacementRules = { wholeGpusPer: 'class', virtualPer: 'gpu' };
const BY_POSITION: PlacementRules = { wholeGpusPer: 'position', virtualPer: 'gpu' };

function pool(pipeline: number, virtual: number, virtualGpus: number, partition = 0, model = 0): PoolToPlace {
  return { model, pipeline, partition, class: 'A', virtual, virtualGpus };
}

function placed(pools: readonly PoolToPlace[], count: number, rules: PlacementRules) {
  const where = { devices: { A: { count } } };
  const seats = placeVirtualGpus(pools, where, rules);
  expect(canPlace(pools, where, rules)).toBe(seats !== undefined);
  return seats?.map(({ server, virtual, pipeline }) => `${server} 1/${virtual} p${pipeline}`);
}

describe('placeVirtualGpus()', () => {
  test('keeps halves of two positions, and of two models, on GPUs of their own', () => {
    const apart = [pool(0, 2, 1), pool(0, 2, 1, 1)];
    expect(placed(apart, 2, BY_POSITION)).toEqual(['A-0 1/2 p0', 'A-1 1/2 p0']);
    expect(placed(apart, 1, BY_POSITION)).toBeUndefined();
    expect(placed(apart, 1, BY_CLASS)).toEqual(['A-0 1/2 p0', 'A-0 1/2 p0']);
    const models = [pool(0, 2, 1), pool(1, 2, 1, 0, 1)];
    expect(placed(models, 1, BY_POSITION)).toBeUndefined();
    expect(placed(models, 1, BY_CLASS)).toHaveLength(2);
  });

  test('fills the GPU that the pool before left open, and then its own', () => {
    expect(placed([pool(0, 2, 1), pool(1, 2, 4)], 3, BY_CLASS)).toEqual([
      'A-0 1/2 p0',
      'A-0 1/2 p1',
      'A-1 1/2 p1',
      'A-1 1/2 p1',
      'A-2 1/2 p1',
    ]);
    // Of a long row, all but the GPU that is shared and the one that is left over are one entry each.
    const where = { devices: { A: { count: 9000 } } };
    const row = placeVirtualGpus([pool(0, 3, 2), pool(1, 3, 3 * 5000)], where, BY_CLASS)!;
    expect(row.map(({ pipeline, count = 1 }) => [pipeline, count])).toEqual([
      [0, 1],
      [0, 1],
      [1, 1],
      [1, 4999],
      [1, 4999],
      [1, 4999],
      [1, 1],
      [1, 1],
    ]);
  });

  test('takes a GPU more where parts that add up do not fit side by side', () => {
    // A half, two thirds and four fifths make less than two GPUs.
    const parts = [pool(0, 2, 1), pool(1, 3, 2), pool(2, 5, 4)];
    expect(placed(parts, 2, BY_CLASS)).toBeUndefined();
    expect(placed(parts, 3, BY_CLASS)).toHaveLength(7);
    expect(placed([pool(0, 2, 1), pool(1, 3, 2), pool(2, 5, 3)], 2, BY_CLASS)).toHaveLength(6);
  });

  test('loses no part where there are too many to try every order', () => {
    // They make 2.99 GPUs. Whether they fit on three takes more than 20,000 tries to know, so they are given four.
    const pools = [2, 5, 6, 7].map((v, i) => pool(i, v, v - 1));
    const where = { devices: { A: { count: 4 } } };
    expect(canPlace(pools, { devices: { A: { count: 3 } } }, BY_CLASS)).toBe(false);
    const seats = placeVirtualGpus(pools, where, BY_CLASS)!;
    const worth = new Map<string, number>();
    for (const { server, virtual } of seats) worth.set(server, (worth.get(server) ?? 0) + 1 / virtual);
    expect(seats).toHaveLength(pools.reduce((sum, { virtualGpus }) => sum + virtualGpus, 0));
    for (const sum of worth.values()) expect(sum).toBeLessThan(1 + 1e-9);
    pools.forEach(({ virtualGpus }, p) => {
      expect(seats.filter(({ pipeline }) => pipeline === p)).toHaveLength(virtualGpus);
    });
  });
});
