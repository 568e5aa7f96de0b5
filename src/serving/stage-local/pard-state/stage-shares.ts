import { followersOf, type Pool } from '../../topology.js';

/**
 * stageShares divides an SLO among stages: the share of a stage is its value over the sum of the values on the path through it
 * for which that is greatest. Edges that lead back are left out.
 * @param values one for each pool, not negative; where all on a path are 0, its shares are 0
 */
export function stageShares(pools: readonly Pool[], values: Float64Array): Float64Array {
  return longestThrough(pools, values).map((sum, pool) => (sum === 0 ? 0 : (values[pool] as number) / sum));
}

/** longestThrough sums the values on the path through each stage for which that is greatest. Edges that lead back are left out. */
export function longestThrough(pools: readonly Pool[], values: Float64Array): Float64Array {
  const before = new Float64Array(pools.length);
  const after = new Float64Array(pools.length);
  const laterOf = (pool: number) => followersOf(pools[pool] as Pool).filter((to) => to > pool);
  const through = (sums: Float64Array, pool: number) => (sums[pool] as number) + (values[pool] as number);
  for (let pool = 0; pool < pools.length; pool++)
    for (const to of laterOf(pool)) before[to] = Math.max(before[to] as number, through(before, pool));
  for (let pool = pools.length - 1; pool >= 0; pool--)
    for (const to of laterOf(pool)) after[pool] = Math.max(after[pool] as number, through(after, to));
  return values.map((value, pool) => (before[pool] as number) + value + (after[pool] as number));
}
