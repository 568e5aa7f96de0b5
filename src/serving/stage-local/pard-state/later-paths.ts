import { followersOf, type Pool } from '../../topology.js';

/** The paths that are kept of each stage: those that take longest. A DAG of many forks has more than can be summed up. */
const MOST_PATHS = 16;

/** Path is a way from a stage to an end, the stage itself left out. */
interface Path {
  readonly pools: readonly number[];
  readonly lengthNs: number;
}

/**
 * laterPaths lists, for each pool, the paths that a task can still take after it, as the pools on them in order. Of more than
 * MOST_PATHS it keeps the longest. Edges that lead back, as they may where gears have models in different orders, are left
 * out. A last stage has one path, which is empty.
 * @param lengthNs how long a stage takes
 */
export function laterPaths(
  pools: readonly Pool[],
  lengthNs: (pool: number) => number,
): readonly (readonly Int32Array[])[] {
  const paths: Path[][] = pools.map(() => []);
  for (let pool = pools.length - 1; pool >= 0; pool--) {
    const later = [...new Set(followersOf(pools[pool] as Pool))].filter((to) => to > pool);
    const through = later.flatMap((to) =>
      (paths[to] as Path[]).map((path) => ({
        pools: [to, ...path.pools],
        lengthNs: lengthNs(to) + path.lengthNs,
      })),
    );
    const longest = through.toSorted((a, b) => b.lengthNs - a.lengthNs).slice(0, MOST_PATHS);
    paths[pool] = longest.length > 0 ? longest : [{ pools: [], lengthNs: 0 }];
  }
  return paths.map((of) => of.map((path) => Int32Array.from(path.pools)));
}
