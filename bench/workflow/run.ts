import { streamOf, streamsOf } from '../../src/random/index.js';
import {
  Decisions,
  DYORC_POLICY,
  DynamicCore,
  type FrequencyRow,
  type WorkflowPolicy,
} from '../../src/serving/index.js';
import { type RecordedRun, WorkflowDriver, type WorkflowSummary } from '../../src/simulator/index.js';
import { applicationsOf, capacityRps, drawnRun, mixCluster } from './mix.js';

/** MixRun says what is run: a cluster under a load, which is the part of what it could execute in full batches. */
export interface MixRun {
  readonly devices: number;
  readonly load: number;
  readonly requests: number;
  readonly seed: number;
  readonly policy?: Partial<WorkflowPolicy>;
  readonly sloFactor?: number;
  /** What is known of programs at the start: nothing where it is absent. */
  readonly frequencies?: readonly FrequencyRow[];
}

/** MixResult is what a run of the mix came to. */
export interface MixResult {
  readonly summary: WorkflowSummary;
  readonly core: DynamicCore;
  readonly tasks: number;
  /** The processor time of the run, its driver included. */
  readonly cpuUs: number;
  /** The times from arrival to answer of the requests that were answered. */
  readonly latenciesNs: readonly number[];
}

/** runMix serves requests of the mix in virtual time. */
export function runMix(run: MixRun): MixResult {
  const { devices, load, requests, seed, policy = {}, sloFactor = 20, frequencies = [] } = run;
  const { topology, table } = mixCluster({ devices, sloFactor });
  const decisions = new Decisions();
  const core = new DynamicCore(topology, decisions, {
    table,
    policy: { ...DYORC_POLICY, ...policy },
    streams: streamsOf(seed, 'core'),
    frequencies,
  });
  const applications = applicationsOf(requests, streamOf(seed, 'applications'));
  const calls = streamOf(seed, 'calls');
  const runs = applications.map((application) => drawnRun(application, calls));
  const rps = load * devices * capacityRps(runs);
  const latenciesNs: number[] = [];
  const before = process.cpuUsage();
  const summary = new WorkflowDriver({
    topology,
    table,
    decisions,
    core,
    arrivals: poisson(rps, applications, seed),
    runOf: (order) => runs[order] as RecordedRun,
    observers: [
      {
        ended: (atNs, _application, _request, arrivedAtNs, outcome) => {
          if (outcome <= 1) latenciesNs.push(atNs - arrivedAtNs);
        },
      },
    ],
  }).run();
  const { user, system } = process.cpuUsage(before);
  const tasks = runs.reduce((sum, run) => sum + run.calls.length, 0);
  return { summary, core, tasks, cpuUs: user + system, latenciesNs };
}

function poisson(rps: number, applications: readonly number[], seed: number) {
  const gaps = streamOf(seed, 'gaps');
  let [came, at] = [0, 0];
  return {
    next: () => {
      if (came === applications.length) return false;
      came += 1;
      at += Math.ceil((gaps.exponential() * 1e9) / rps);
      return true;
    },
    get atNs() {
      return at;
    },
    get model() {
      return applications[came - 1] as number;
    },
  };
}
