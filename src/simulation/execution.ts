import type { ToldFaults } from '../formats/index.js';
import {
  type EngineFigures,
  fault,
  type LatencyQuantile,
  type Loaded,
  measuredAs,
  option,
  type Profile,
  type SimulatedExecution,
  stageIndex,
  stageName,
  stageRoute,
} from '../formats/index.js';
import { type PlanPart, planOf, type StagePlan } from '../plans/index.js';
import { streamOf } from '../random/index.js';
import { type ChosenScheduler, ownerOf, type Topology } from '../serving/index.js';
import type { PlanProfiles } from './profiles.js';

/** How many deviations above the median of a normal distribution its quantiles lie. */
const DEVIATIONS: Readonly<Record<LatencyQuantile, number>> = { p50: 0, p95: 1.6448536269514722 };

/** Execution describes how executions differ from the plan. It is plain data. */
export interface Execution {
  /** Executions take this multiple of the planned time. */
  readonly slow: number;
  readonly jitter?: Jitter;
  /** By pool, index batch − 1 holds a further factor on the planned time, as it was measured on a server. */
  readonly factors?: readonly Float64Array[];
}

/**
 * Jitter describes log-normal factors on execution times.
 * - cv: the factors have mean 1 and this coefficient of variation.
 * - profile: by pool, index batch − 1 holds the deviation of the factor's logarithm. 1 is the quantile of the factors
 *   that the pool was planned with: their median where `quantiles` does not say.
 */
export type Jitter =
  | { readonly kind: 'cv'; readonly cv: number }
  | {
      readonly kind: 'profile';
      readonly deviations: readonly Float64Array[];
      readonly quantiles?: readonly LatencyQuantile[];
    };

/**
 * PlannedExecution gives the execution time in ns of a batch of `size` requests, from its pool and its planned time in
 * ns.
 */
export type PlannedExecution = (pool: number, size: number, plannedNs: number) => number;

/**
 * executionOf gives a function from a batch's planned time to its execution time, both in nanoseconds and the latter at
 * least 1. Every call draws anew, from a stream of its own for each pool.
 * @returns undefined where executions take exactly the planned time
 */
export function executionOf(
  execution: Execution,
  topology: Pick<Topology, 'models' | 'pools'>,
  seed: number,
): PlannedExecution | undefined {
  const { factors } = execution;
  const drawn = drawnExecution(execution, topology, seed);
  if (factors === undefined) return drawn;
  return (pool, size, plannedNs) => {
    const measuredNs = Math.max(1, (factors[pool]?.[size - 1] ?? 1) * plannedNs);
    return drawn === undefined ? measuredNs : drawn(pool, size, measuredNs);
  };
}

function drawnExecution(
  { slow, jitter }: Execution,
  topology: Pick<Topology, 'models' | 'pools'>,
  seed: number,
): PlannedExecution | undefined {
  if (jitter === undefined)
    return slow === 1 ? undefined : (_pool, _size, plannedNs) => Math.max(1, slow * plannedNs);
  const streams = topology.pools.map((pool) =>
    streamOf(
      seed,
      `execution/${ownerOf(topology, pool)}/${stageRoute(pool.stage)}/${stageIndex(pool.stage)}`,
    ),
  );
  const drawn = (pool: number): number => (streams[pool] as { normal(): number }).normal();
  if (jitter.kind === 'cv') {
    const variance = Math.log(1 + jitter.cv * jitter.cv);
    const deviation = Math.sqrt(variance);
    return (pool, _size, plannedNs) =>
      Math.max(1, slow * plannedNs * Math.exp(deviation * drawn(pool) - variance / 2));
  }
  const { deviations, quantiles = [] } = jitter;
  return (pool, size, plannedNs) => {
    const above = drawn(pool) - DEVIATIONS[quantiles[pool] ?? 'p50'];
    return Math.max(1, slow * plannedNs * Math.exp((deviations[pool]?.[size - 1] ?? 0) * above));
  };
}

/** describedExecution describes an execution for a report. Of a profile's spread it says only that it was used. */
export function describedExecution({ slow, jitter }: Execution): SimulatedExecution {
  if (jitter === undefined) return { slow, jitter: 'none' };
  return jitter.kind === 'cv' ? { slow, jitter: 'cv', cv: jitter.cv } : { slow, jitter: 'profile' };
}

/** describedEngine gives the figures of an engine that were simulated, which are the same for all schedulers that have them. */
export function describedEngine(schedulers: readonly ChosenScheduler[]): { engine?: EngineFigures } {
  const engine = schedulers.find((one) => one.engine !== undefined)?.engine;
  return engine === undefined ? {} : { engine: { ...engine } };
}

/**
 * profiledJitter reads the spread of every pool's executions from its model's profile: the sum of its blocks'
 * 95th percentiles over the sum of their medians, as if all blocks of a partition were slow together. A batch
 * size that was not measured takes the spread of the next larger one that was. A partition of layers takes that of all
 * blocks.
 * @param profiles those of all the plan's models, in its order
 * @param told where every missing profile or figure is added
 * @returns undefined after a fault
 */
export function profiledJitter(
  plan: StagePlan,
  profiles: PlanProfiles,
  told: ToldFaults,
): Jitter | undefined {
  const before = told.count;
  const parts = measuredParts(plan, profiles);
  if (parts === undefined) {
    const said =
      profiles.length === 0
        ? "none of the plan's profiles exists"
        : `only ${profiles.length} of the plan's profiles exist`;
    told.missing([
      fault(
        `${said}; give a coefficient of variation instead, such as ${option('jitter')} 0.1`,
        option('jitter', 'profile'),
      ),
    ]);
    return undefined;
  }
  const deviations = parts.map(({ part, profile }) => spreadOf(part, profile, told));
  if (told.count > before) return undefined;
  // Where all are planned with medians, nothing is said of it.
  const quantiles = parts.map(({ part: { latencyQuantile = 'p50' } }) => latencyQuantile);
  return { kind: 'profile', deviations, ...(quantiles.every((one) => one === 'p50') ? {} : { quantiles }) };
}

/** measuredParts finds the profile of what each pool executes, and the class that it has there; undefined where one is missing. */
function measuredParts(
  plan: StagePlan,
  profiles: PlanProfiles,
): { part: PlanPart; profile: Loaded<'profile'> }[] | undefined {
  const own = planOf(plan);
  // Where one is missing, the others are not at their places.
  const placed = own.profiled(plan).length === profiles.length ? profiles : [];
  const parts = own.parts(plan).map((part) => ({ ...part, device: measuredAs(plan.cluster, part.device) }));
  const found = parts.flatMap((part) => {
    const { profile: which } = part;
    const profile =
      typeof which === 'number' ? placed[which] : profiles.find(({ value }) => value.model.name === which);
    return profile === undefined ? [] : [{ part, profile }];
  });
  return found.length === parts.length ? found : undefined;
}

function spreadOf(partition: PlanPart, { value, path }: Loaded<'profile'>, told: ToldFaults): Float64Array {
  const { device, virtual, batch, otherClasses, stage } = partition;
  if (otherClasses !== undefined) {
    const said = `${stageName(stage)} has replicas of ${[device, ...otherClasses].join(' and ')}, whose spreads are not told apart; give a coefficient of variation instead, such as ${option('jitter')} 0.1`;
    told.add(fault(said, option('jitter', 'profile')));
    return new Float64Array(batch);
  }
  const deviations = new Float64Array(batch);
  let larger: number | undefined;
  for (let b = batch; b >= 1; b--) {
    larger = deviationAt(value, partition, b) ?? larger;
    deviations[b - 1] = larger ?? Number.NaN;
  }
  if (deviations.some(Number.isNaN)) {
    const at = `${path}#/devices/${device}/blockLatencyP95Us/${virtual}`;
    const said = `has no spread at batch ${batch}, which the plan uses; give one instead, such as ${option('jitter')} 0.1`;
    told.add(fault(said, at));
  }
  return deviations;
}

/**
 * deviationAt gives a partition's deviation at a batch size. A partition of layers takes that of the whole
 * model, because profiles hold spreads of blocks only.
 */
function deviationAt(
  profile: Profile,
  { blocks, device, virtual }: PlanPart,
  batch: number,
): number | undefined {
  const measured = profile.devices[device];
  const medians = measured?.blockLatencyUs[virtual]?.[batch];
  const p95s = measured?.blockLatencyP95Us?.[virtual]?.[batch];
  if (medians === undefined || p95s === undefined) return undefined;
  const [from, end] = blocks ?? [0, medians.length];
  let median = 0;
  let p95 = 0;
  for (let block = from; block < end; block++) {
    median += medians[block] ?? Number.NaN;
    p95 += p95s[block] ?? Number.NaN;
  }
  const ratio = p95 / median;
  return Number.isNaN(ratio) ? undefined : Math.max(0, Math.log(ratio)) / DEVIATIONS.p95;
}
