import { applicationsOf, planOf, planTopologyOf } from '../../src/plans/index.js';
import { streamsOf, uniformAt } from '../../src/random/index.js';
import {
  Decision,
  type LogEntry,
  makeCore,
  type Readings,
  type ServingCore,
  StageLocalCore,
  type StageTopology,
} from '../../src/serving/index.js';
import { arrivalsOf } from '../../src/simulation/index.js';
import { type SimulationObserver, type SimulationSummary, simulate } from '../../src/simulator/index.js';
import { type PardWorkload, type ServedBy, servedWorkload } from './workloads.js';

/** Watch looks at a core of stages from within: observers of a simulation are told what happens, and not what is decided. */
export interface Watch extends SimulationObserver {
  /** made tells of the core before anything is told to it. */
  made?(core: StageLocalCore, topology: StageTopology): void;
  /** collected tells that a task was put into the next batch of its device: t_b of the paper. */
  collected?(atNs: number, task: number, pool: number): void;
  /** decided tells that the core has decided on all that happened at an instant. */
  decided?(atNs: number): void;
  /** heard tells of each event that the core hears, and of each decision that it makes. */
  heard?(entry: LogEntry): void;
}

/** WatchedBy says by whom a workload is served, and how what the paper leaves open is read. */
export interface WatchedBy extends ServedBy {
  readonly readings?: Readings;
}

/** watchedRun simulates a workload once in this thread, and tells the watch of it. */
export function watchedRun(asked: PardWorkload, by: WatchedBy = {}, watch: Watch = {}): SimulationSummary {
  const { readings, ...served } = by;
  const { plan, scheduler, workload, seed } = servedWorkload(asked, served);
  const topology = planTopologyOf(plan, { transfers: 'links', rules: 'own' });
  const { fates, activationDelayNs } = planOf(plan).world(plan);
  const verdict = fates?.((purpose) => uniformAt(seed, purpose));
  const chosen = { ...scheduler, policy: { ...scheduler.policy, readings } };
  return simulate({
    topology,
    arrivals: arrivalsOf(workload, applicationsOf(plan), seed),
    observers: [watch],
    ...(watch.heard === undefined ? {} : { log: (entry) => watch.heard?.(entry) }),
    ...(verdict === undefined ? {} : { verdict }),
    ...(activationDelayNs === undefined ? {} : { activationDelayNs }),
    makeCore: (decisions) => {
      const core = makeCore(chosen, topology, { decisions, streams: streamsOf(seed, 'core') });
      if (core instanceof StageLocalCore) {
        watch.made?.(core, topology);
        watchDecisions(core, decisions, watch);
      }
      return core;
    },
  });
}

/** dropRate is the share of requests that were not answered in time (§5.1: one that is late counts as dropped). */
export function dropRate({ requests, inTime }: SimulationSummary): number {
  return (requests - inTime) / requests;
}

type Buffer = Parameters<Parameters<typeof simulate>[0]['makeCore']>[0];

function watchDecisions(core: ServingCore, decisions: Buffer, watch: Watch): void {
  if (watch.collected === undefined && watch.decided === undefined) return;
  const decide = core.decide.bind(core);
  core.decide = (at) => {
    decide(at);
    if (watch.collected !== undefined)
      for (let i = 0; i < decisions.count; i++)
        if (decisions.kind(i) === Decision.collect) watch.collected(at, decisions.a(i), decisions.b(i));
    watch.decided?.(at);
  };
}
