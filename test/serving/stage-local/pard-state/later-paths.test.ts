import { describe, expect, it } from 'vitest';
import { streamOf } from '../../../../src/random/index.js';
import type { Pool } from '../../../../src/serving/index.js';
import { laterPaths } from '../../../../src/serving/stage-local/pard-state/later-paths.js';
import { stageShares } from '../../../../src/serving/stage-local/pard-state/stage-shares.js';
import { seeds } from '../../../cases.js';
import { randomDag } from '../../dags.js';

/** Pools of which only the edges count: the stages that each leads to. */
const poolsOf = (...later: number[][]): Pool[] =>
  later.map((of) => ({ edges: of.map((to) => ({ to })) }) as Pool);

const listed = (pools: Pool[], lengths = pools.map(() => 1)) =>
  laterPaths(pools, (pool) => lengths[pool]!).map((paths) => paths.map((path) => Array.from(path)));

/** Every path from a stage to an end, found one stage at a time, by edges to later stages. */
function pathsFrom(pools: readonly Pool[], pool: number): number[][] {
  const later = [...new Set(pools[pool]!.edges.map(({ to }) => to))].filter((to) => to > pool);
  return later.length === 0 ? [[]] : later.flatMap((to) => pathsFrom(pools, to).map((path) => [to, ...path]));
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

describe('laterPaths()', () => {
  it('lists the one path of a chain, and the empty one of its last stage', () => {
    expect(listed(poolsOf([1], [2], []))).toEqual([[[1, 2]], [[2]], [[]]]);
  });

  it('lists the paths of a DAG, the longest first', () => {
    const pools = poolsOf([1, 2], [3], [3], []);
    expect(listed(pools, [1, 5, 9, 1])[0]).toEqual([
      [2, 3],
      [1, 3],
    ]);
  });

  it('leaves out edges that lead back, and takes two edges to one stage for one', () => {
    expect(listed(poolsOf([1, 1], [0]))).toEqual([[[1]], [[]]]);
  });

  it('keeps the sixteen longest paths of a DAG that has more', () => {
    for (const seed of seeds(40, 400)) {
      const { pools } = randomDag(streamOf(seed, 'dag'));
      const lengths = pools.map(({ latencyNs }) => latencyNs.at(-1)!);
      const lengthOf = (path: number[]) => sum(path.map((pool) => lengths[pool]!));
      listed(pools, lengths).forEach((paths, pool) => {
        const all = pathsFrom(pools, pool);
        const longest = all.map(lengthOf).sort((a, b) => b - a);
        expect(paths.map(lengthOf)).toEqual(longest.slice(0, 16));
        for (const path of paths) expect(all).toContainEqual(path);
      });
    }
  });
});

describe('stageShares()', () => {
  it('divides an SLO on a chain by the values', () => {
    expect(Array.from(stageShares(poolsOf([1], [2], []), Float64Array.of(1, 2, 5)))).toEqual([
      1 / 8,
      2 / 8,
      5 / 8,
    ]);
  });

  it('gives stages nothing on whose paths all is 0', () => {
    expect(Array.from(stageShares(poolsOf([1], [], []), Float64Array.of(0, 0, 3)))).toEqual([0, 0, 1]);
  });

  it('divides by the greatest sum of a path through the stage, on any DAG', () => {
    for (const seed of seeds(40, 400)) {
      const stream = streamOf(seed, 'shares');
      const { pools } = randomDag(stream);
      const values = Float64Array.from(pools, () => stream.integer(20));
      const entries = pools.flatMap((_, pool) =>
        pools.some(({ edges }) => edges.some(({ to }) => to === pool)) ? [] : [pool],
      );
      const paths = entries.flatMap((entry) => pathsFrom(pools, entry).map((path) => [entry, ...path]));
      const shares = stageShares(pools, values);
      pools.forEach((_, pool) => {
        const most = Math.max(
          ...paths.flatMap((path) => (path.includes(pool) ? [sum(path.map((on) => values[on]!))] : [])),
        );
        expect([seed, pool, shares[pool]]).toEqual([seed, pool, most === 0 ? 0 : values[pool]! / most]);
      });
    }
  });
});
