import { stageName } from '../../../src/formats/index.js';
import { applicationsOf, planOf, planTopologyOf } from '../../../src/plans/index.js';
import { streamsOf, uniformAt } from '../../../src/random/index.js';
import { makeCore, type StageTopology } from '../../../src/serving/index.js';
import { arrivalsOf, executionOf, type SimulationSetup } from '../../../src/simulation/index.js';
import { type SimulatorOptions, simulate, type VerdictOf } from '../../../src/simulator/index.js';
import { arrivalsAt } from '../../../src/workload/index.js';
import { inTimeBound } from '../oracle/bound.js';
import { offlineProblem } from '../oracle/of-topology.js';
import type { WorkerSteps } from '../oracle/problem.js';
import { type AskedWorkload, pardWorkload, type ServedBy, servedWorkload } from '../workloads.js';
import { type RunCounts, WatchedRun } from './watched-run.js';

/** AskedRuns is a workload, who serves it, and what is bounded. */
export interface AskedRuns extends AskedWorkload {
  readonly servers: readonly NamedServer[];
  /** Whether the most that can be in time is bounded with all devices, and with those that each scheduler had too. */
  readonly bounds: 'none' | 'all-devices' | 'own-devices';
}

/** NamedServer is who serves a workload, and its name in tables. */
export interface NamedServer extends ServedBy {
  readonly name: string;
}

/** ServedRun is a workload as one scheduler serves it. */
export interface ServedRun extends RunCounts {
  readonly server: string;
  /** No policy that has the same devices at the same times has more in time. */
  readonly bound?: number;
}

/** ServedRuns is a workload as several serve it. */
export interface ServedRuns {
  readonly stages: readonly string[];
  /** No policy has more in time, with all devices up all the time. */
  readonly bound?: number;
  readonly runs: readonly ServedRun[];
}

/** SharedWorld is what is the same for all who serve a workload. */
export interface SharedWorld {
  readonly topology: StageTopology;
  readonly arrivalNs: Float64Array;
  readonly verdict: VerdictOf | undefined;
}

/**
 * servedRuns simulates a workload under several schedulers, in this thread, which it blocks. All get the same requests at the
 * same instants, of which the models say the same. Bounds count workers as a fluid: whole batches gave the same for all
 * workloads that were tried, and take ten times as long.
 */
export async function servedRuns({ servers, bounds, ...asked }: AskedRuns): Promise<ServedRuns> {
  const made = await pardWorkload(asked);
  const setups = servers.map((server) => servedWorkload(made, server));
  const world = worldOf(setups[0] ?? servedWorkload(made));
  const boundWith = (workers?: readonly WorkerSteps[]) =>
    inTimeBound(offlineProblem(world.topology, { ...world, ...(workers && { workers }) }), {
      mostArrivals: 0,
    });
  const runs = setups.map((setup, i): ServedRun => {
    const counts = served(setup, world, { seconds: asked.durationS });
    const own = bounds === 'own-devices' ? { bound: boundWith(counts.workers) } : {};
    return { server: servers[i]!.name, ...counts, ...own };
  });
  const stages = world.topology.pools.map(({ stage }) => stageName(stage));
  return { stages, ...(bounds === 'none' ? {} : { bound: boundWith() }), runs };
}

/** worldOf finds when requests come, and what the models say of them. */
export function worldOf({ plan, workload, transfers, seed }: SimulationSetup): SharedWorld {
  const arrivals = arrivalsOf(workload, applicationsOf(plan), seed);
  const arrivalNs: number[] = [];
  while (arrivals.next()) arrivalNs.push(arrivals.atNs);
  const { fates } = planOf(plan).world(plan);
  return {
    topology: planTopologyOf(plan, { transfers, rules: 'own' }),
    arrivalNs: Float64Array.from(arrivalNs),
    verdict: fates?.((purpose) => uniformAt(seed, purpose)),
  };
}

/** served simulates as `plan simulate` does, with an observer of its own, and with more simulator options. */
export function served(
  { plan, scheduler, transfers, execution, seed }: SimulationSetup,
  { arrivalNs, verdict }: SharedWorld,
  {
    seconds,
    observers = [],
    weight,
  }: Pick<SimulatorOptions, 'observers' | 'weight'> & { readonly seconds: number },
): RunCounts {
  const topology = planTopologyOf(plan, { transfers, rules: 'own' });
  const watched = new WatchedRun(topology.pools.length, seconds);
  const { activationDelayNs } = planOf(plan).world(plan);
  const executed = executionOf(execution, topology, seed);
  simulate({
    topology,
    arrivals: arrivalsAt(arrivalNs),
    observers: [watched, ...observers],
    makeCore: (decisions) => makeCore(scheduler, topology, { decisions, streams: streamsOf(seed, 'core') }),
    ...(verdict === undefined ? {} : { verdict }),
    ...(weight === undefined ? {} : { weight }),
    ...(activationDelayNs === undefined ? {} : { activationDelayNs }),
    ...(executed === undefined ? {} : { execution: executed }),
  });
  return watched.counts();
}
