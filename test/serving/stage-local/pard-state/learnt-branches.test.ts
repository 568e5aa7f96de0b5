import { describe, expect, it } from 'vitest';
import { streamOf } from '../../../../src/random/index.js';
import type { EdgeCondition, Pool } from '../../../../src/serving/index.js';
import { LearntBranches } from '../../../../src/serving/stage-local/pard-state/learnt-branches.js';

const DRAWS = 4000;
const VERDICT: EdgeCondition = { kind: 'verdict' };

/** Pools of a DAG whose edges are given as [to, when]. */
function poolsOf(edges: readonly (readonly [number, EdgeCondition])[][]): Pool[] {
  const transferNs = new Float64Array(1);
  return edges.map((of, partition): Pool => {
    return {
      model: 0,
      stage: { kind: 'partition', pipeline: 0, partition },
      deviceClass: 'gpu',
      virtual: 1,
      batch: 1,
      transferNs,
      latencyNs: new Float64Array(1),
      transferBytes: 0,
      throughputRps: 1,
      devices: [],
      edges: of.map(([to, when]) => ({ to, when, transferNs, transferBytes: 0 })),
    };
  });
}

/** The times after each pool, drawn. */
function drawn(branches: LearntBranches, timesNs: readonly number[]): Float64Array[] {
  const later = timesNs.map(() => new Float64Array(DRAWS));
  branches.draw((pool) => timesNs[pool]!, streamOf(5, 'branches'), later);
  return later;
}

const share = (times: Float64Array, time: number) => times.filter((one) => one === time).length / DRAWS;

describe('LearntBranches', () => {
  // Stage 0 leads to 1 or 2, both to 3.
  const fork = poolsOf([
    [
      [1, VERDICT],
      [2, VERDICT],
    ],
    [[3, { kind: 'always' }]],
    [[3, { kind: 'always' }]],
    [],
  ]);

  it('takes all edges where no task was seen, which is the worst path', () => {
    const later = drawn(new LearntBranches(fork), [1, 10, 300, 5]);
    expect(later.map((times) => new Set(times))).toEqual([
      new Set([305]),
      new Set([5]),
      new Set([5]),
      new Set([0]),
    ]);
  });

  it('draws a branch as often as tasks took it, and never both of which one is taken', () => {
    const branches = new LearntBranches(fork);
    for (let task = 0; task < 5000; task++) branches.took(0, task % 4 === 0 ? 0b01 : 0b10);
    const [first] = drawn(branches, [1, 10, 300, 5]) as [Float64Array];
    expect(share(first, 15)).toBeCloseTo(0.25, 1);
    expect(share(first, 305)).toBeCloseTo(0.75, 1);
  });

  it('counts nothing where no edge was taken, and the longer way where both were', () => {
    const branches = new LearntBranches(fork);
    for (let task = 0; task < 1000; task++) branches.took(0, task % 2 === 0 ? 0 : 0b11);
    const [first] = drawn(branches, [1, 10, 300, 5]) as [Float64Array];
    expect(share(first, 0) + share(first, 305)).toBe(1);
    expect(share(first, 0)).toBeCloseTo(0.5, 1);
  });

  it('forgets what was long ago', () => {
    const branches = new LearntBranches(fork);
    for (let task = 0; task < 2000; task++) branches.took(0, 0b01);
    for (let task = 0; task < 1024; task++) branches.took(0, 0b10);
    expect(share(drawn(branches, [1, 10, 300, 5])[0]!, 305)).toBe(1);
  });

  it('watches only stages whose edges are not always taken', () => {
    const branches = new LearntBranches(fork);
    expect([0, 1, 2, 3].map((pool) => branches.watches(pool))).toEqual([true, false, false, false]);
  });

  it('leaves edges out that lead back', () => {
    const loop = poolsOf([[[1, VERDICT]], [[0, VERDICT]]]);
    expect(drawn(new LearntBranches(loop), [7, 11]).map((times) => times[0])).toEqual([11, 0]);
  });
});
