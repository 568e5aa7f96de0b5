import { largestOf, lastOf, smallestOf } from '../../../collections/index.js';
import { gearsOf, type Pool, slosSharing, type Topology } from '../../topology.js';
import { longestThrough } from './stage-shares.js';

/** SpareTimes says how the stages of a plan share what SLOs leave beside the executions of a row that is always alone. */
export interface SpareTimes {
  /** By pool, the execution of a row alone on the fastest class of its devices. */
  readonly aloneNs: Float64Array;
  /** By pool, what the SLO leaves beside `aloneNs` along the longest way through it; below 0 where such a row is late. */
  readonly spareNs: Float64Array;
  /** By pool, its part of that: as large as the part of its full batch on the way through it whose full batches take longest. */
  readonly shares: Float64Array;
}

/**
 * spareTimes works out the spare times of a plan. Where each stage lets its tasks wait for no longer than its part, those that
 * are executed alone end in time on every way. Of models that share pools, the shortest SLO counts.
 */
export function spareTimes(topology: Topology): SpareTimes {
  const { pools } = topology;
  const aloneNs = Float64Array.from(pools, leastAloneNs);
  const fullNs = Float64Array.from(pools, ({ latencyNs }) => lastOf(latencyNs));
  const { leastNs: sloNs } = slosSharing(topology);
  const alongNs = alongLongest(topology, aloneNs);
  const fullAlongNs = alongLongest(topology, fullNs);
  return {
    aloneNs,
    spareNs: alongNs.map((ns, pool) => (sloNs[(pools[pool] as Pool).model] as number) - ns),
    shares: fullAlongNs.map((ns, pool) => (ns === 0 ? 0 : (fullNs[pool] as number) / ns)),
  };
}

function leastAloneNs({ latencyNs, classes }: Pool): number {
  return smallestOf((classes ?? [{ latencyNs }]).map((one) => one.latencyNs[0] as number));
}

/**
 * alongLongest sums values along the way through each pool for which the sum is greatest; in a cascade, ways are those
 * of gears.
 */
function alongLongest({ pools, routes }: Topology, values: Float64Array): Float64Array {
  const gears = gearsOf(routes)?.gears;
  if (gears === undefined) return longestThrough(pools, values);
  const ways = gears.map(({ steps }) => steps.map(({ pool }) => pool));
  const sumOf = (way: readonly number[]) => way.reduce((sum, pool) => sum + (values[pool] as number), 0);
  return values.map((own, pool) =>
    Math.max(own, largestOf(ways.filter((way) => way.includes(pool)).map(sumOf))),
  );
}
