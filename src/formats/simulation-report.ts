import type { Emitted, LatencyHistogram } from './common.js';
import type { EngineFigures } from './engine-profile.js';
import type { GateVerdicts } from './gate-check.js';
import type { PlanChecks } from './plan-checks.js';
import type { DeviceTimeShares } from './workflow-plan.js';

/** SimulationReport holds the outcomes and figures of a simulated run. docs/metrics.md defines every figure. */
export interface SimulationReport extends Emitted, PlanChecks, GateVerdicts {
  kind: 'simulation-report';
  /** The seed; with the inputs and options here, it gives the same bytes again. */
  seed: number;
  /**
   * complete says whether the run was finished. False means that it was interrupted, and that figures cover
   * only the time until then.
   */
  complete: boolean;
  workload: SimulatedWorkload;
  scheduler: SimulatedScheduler;
  /**
   * transfers says whether transfers took the time of the cluster's links, or none, as in the server of a
   * bundle.
   */
  transfers?: 'links' | 'none';
  execution: SimulatedExecution;
  /** The engine's own figures, where they were simulated. */
  engine?: EngineFigures;
  /** Where the verdicts of a pipeline's models are from; absent where they were drawn by the plan's probabilities. */
  verdicts?: SimulatedVerdicts;
  /** No percentile differs from the exact one by more than this share; 0 where percentiles are exact. */
  percentileError: number;
  /** The notes of the plan. */
  notes?: string[];
  overall: SimulatedRequests;
  models: SimulatedModel[];
  drops: SimulatedDrop[];
  /**
   * The cost of the devices that were in use; of pipelines only, and where every class that was used has a
   * price.
   */
  cost?: SimulatedCost;
  classes: Record<string, SimulatedClass>;
  pools: SimulatedPool[];
  /** How busy the links of the servers were; absent of workflows, whose outputs are counted as fetches. */
  links?: SimulatedLinks;
  windows?: SimulatedWindows;
  /** How the requests of a gear plan were answered. */
  cascade?: SimulatedCascade;
  /** The work that serving workflows took. */
  workflows?: SimulatedWorkflows;
  /** The outcomes of requests by their priorities, where they have some. */
  priorities?: SimulatedPriorities;
  /** The figures over several runs; those above are of the first of them. */
  runs?: SimulatedRuns;
}

/** SimulatedCascade says how the requests of a gear plan were answered: by which models, how rightly, in which gears. */
export interface SimulatedCascade {
  /** The share of answered requests that were answered rightly; absent where none was answered. */
  accuracy?: number;
  /** The accuracy that the plan expects over its distribution of loads. */
  plannedAccuracy: number;
  /** The samples in the records. After the last one, the first was taken again. */
  samples: number;
  /** The share of answered requests that each model answered, and the share of these that is right. */
  answeredBy: { stage: string; share: number; accuracy?: number }[];
  /** The share of time in which each gear was active, beside the planned one. */
  gears: { fromRps: number; toRps: number; plannedShare: number; share: number }[];
  /** How often another gear became active. */
  shifts: number;
  /** By windows of the same length as those of the report: the answered requests that arrived in each. */
  windows?: { fromS: number; accuracy?: number; p95Ms?: number; gear: number }[];
}

/** SimulatedWorkflows says what it took to serve workflows. */
export interface SimulatedWorkflows {
  /** How many calls the requests made. */
  tasks: number;
  /** How often an output was sent to where it was needed. */
  fetches: number;
  loads: number;
  evictions: number;
  deviceTime: DeviceTimeShares;
  /** The time that devices and their utilisation are counted over: until the load and the last request ended. */
  overS: number;
  /** How many groups of devices there were, each with a scheduler of its own. */
  subclusters: number;
  /** The share of next calls, ends included, that were as expected; absent where the scheduler expects nothing. */
  rightGuesses?: number;
  /** The partial schedules that were looked at to find devices for tasks; absent where the scheduler looks at none. */
  schedules?: number;
}

/** SimulatedPriorities counts requests by their priorities. */
export interface SimulatedPriorities {
  /** The share that requests not in time have of the weight of all; absent where none came. */
  weightedDropRate?: number;
  levels: SimulatedPriorityLevel[];
}

/** SimulatedPriorityLevel has the requests of one priority; 0 is the default level. */
export interface SimulatedPriorityLevel {
  priority: number;
  /** The share of requests that was drawn for, and how much it counts that one is in time. */
  share: number;
  weight: number;
  arrived: number;
  inTime: number;
  late: number;
  dropped: number;
  failed: number;
  goodputRps: number;
  /** Absent where none came. */
  attainment?: number;
}

/** SimulatedRuns holds figures over runs that differ in their seeds alone: `seed`, `seed` + 1 and so on. */
export interface SimulatedRuns {
  /** At least 2. */
  count: number;
  /** The confidence of the intervals `low` to `high` of the means, by Student's t. */
  confidence: number;
  overall: RunsFigures;
  models: (RunsFigures & { name: string })[];
}

/** RunsFigures holds the figures of all requests, or of one model, over several runs. */
export interface RunsFigures {
  /** Absent where a run had no request. */
  attainment?: FigureOverRuns;
  goodputRps: FigureOverRuns;
  /** Absent where a run answered no request. */
  p99Ms?: FigureOverRuns;
}

/** FigureOverRuns is a figure's mean over runs, its range, and the confidence interval of the mean. */
export interface FigureOverRuns {
  mean: number;
  least: number;
  most: number;
  low: number;
  high: number;
}

/** SimulatedWorkload describes the load of a run, as it was asked for. */
export interface SimulatedWorkload {
  arrivals: 'poisson' | 'uniform' | 'gamma' | 'trace';
  /** The coefficient of variation of the gaps between gamma arrivals. */
  cv?: number;
  /** The requests that count arrive in [0, durationS). */
  durationS: number;
  /** Others arrive for so long before, which fill the queues and do not count; absent where the run began idle. */
  warmUpS?: number;
  /** How the requests of a trace's intervals were placed in them; absent where it has none. */
  spread?: 'poisson' | 'uniform' | 'gamma';
  /** The phases of a load that changed over time, in their order. */
  phases?: SimulatedPhase[];
  models: SimulatedLoad[];
}

/** SimulatedPhase is a stretch of a load that changes over time. */
export interface SimulatedPhase {
  durationS: number;
  /** The time before the phase in which rates and variation change from those of the phase before. */
  transitionS: number;
  /** The rates by model. */
  rps: number[];
  cv?: number;
}

/** SimulatedLoad is the load that was asked for of one model. */
export interface SimulatedLoad {
  name: string;
  /** The mean rate that was asked for. */
  rps: number;
  /** rps over the plan's throughput of this model. */
  loadFactor: number;
}

/** SimulatedScheduler names the scheduler of a run and every choice of its policy. */
export interface SimulatedScheduler {
  name: string;
  /** The preset that the policy began with; absent where it was the scheduler's own. */
  preset?: string;
  /** Every choice of the policy, as it was. */
  policy: Record<string, unknown>;
  /** The tuner that changed the replicas, with all of its settings. */
  tuner?: { kind: string; [setting: string]: unknown };
}

/** SimulatedVerdicts says that the verdicts of a pipeline's models were recorded. */
export interface SimulatedVerdicts {
  /** The requests in the records. After the last one, the first was taken again. */
  recordedRequests: number;
}

/** SimulatedExecution says how execution times differed from the planned ones. */
export interface SimulatedExecution {
  /** Executions take this multiple of the planned time. */
  slow: number;
  /** jitter says whether execution times vary: not at all, by the profile's spread, or with a stated cv. */
  jitter: 'none' | 'profile' | 'cv';
  cv?: number;
}

/** SimulatedRequests says how requests ended. docs/metrics.md defines every figure. */
export interface SimulatedRequests {
  arrived: number;
  inTime: number;
  late: number;
  dropped: number;
  failed: number;
  /** The requests served in time over all that ended; absent where none did. */
  attainment?: number;
  /** The requests dropped or late over all that ended; absent where none did. */
  dropRate?: number;
  /** The device time of requests dropped or late over that of all; absent where there was none. */
  invalidRate?: number;
  offeredRps: number;
  throughputRps: number;
  goodputRps: number;
  latencyMs?: SimulatedLatency;
  latencyHistogram?: LatencyHistogram;
  splitMs?: SimulatedSplit;
}

/** SimulatedLatency is over answered requests. */
export interface SimulatedLatency {
  count: number;
  mean: number;
  p50: number;
  p90: number;
  p95: number;
  p99: number;
  max: number;
}

/** SimulatedSplit says where the latency went; the means add up to its mean. */
export interface SimulatedSplit {
  queueing: SimulatedLatency;
  transfer: SimulatedLatency;
  compute: SimulatedLatency;
}

/** SimulatedModel holds the figures of one model. */
export interface SimulatedModel {
  name: string;
  /** Absent of a workflow whose requests are never late. */
  sloMs?: number;
  plannedRps: number;
  /** As in `requests`, at the path where reports of loads have it. */
  attainment?: number;
  requests: SimulatedRequests;
}

/** SimulatedDrop counts the requests of a model that were dropped at one place for one reason. */
export interface SimulatedDrop {
  model: string;
  reason: string;
  /** The place is `entry`, or the `pipeline<i>/partition<k>` in whose queue the request stood. */
  place: string;
  count: number;
}

/** SimulatedCost is the price of the devices in use, from activation to standby. */
export interface SimulatedCost {
  /** The currency of the prices, where the plan's cluster names one. */
  currency?: string;
  total: number;
  /** The mean over the run. */
  perHour: number;
  /** The time that it is over: from the beginning until the load and its last request ended. */
  overS: number;
}

/** SimulatedClass says how busy the GPUs of a device class were. `utilisation` is from 0 to 1. */
export interface SimulatedClass {
  /** emulated says whether the class is emulated, as its profiles say. */
  emulated?: true;
  /** Where devices come and go, those that are in use at the beginning. */
  virtualGpus: number;
  /** The number of whole GPUs that they make up: the sum of 1/v. */
  gpus: number;
  /** The GPU seconds with a batch on them. */
  busyGpuS: number;
  utilisation: number;
  /** The GPU seconds for which its devices were in use, from activation to standby; of pipelines only. */
  usedGpuS?: number;
  /** The price of that time, where the class has an hourly price. */
  cost?: number;
  /** The shares of time by what its devices did; of workflows only. */
  deviceTime?: DeviceTimeShares;
}

/**
 * SimulatedPool holds the batches that a partition's virtual GPUs executed in the whole run, and how busy these were.
 * `pipeline` and `partition` count from 0 in the plan, and `utilisation` is from 0 to 1.
 */
export interface SimulatedPool {
  model: string;
  pipeline: number;
  partition: number;
  /** The name of the stage, in a pipeline. */
  stage?: string;
  class: string;
  virtual: number;
  /** Where devices come and go, those that are in use at the beginning. */
  virtualGpus: number;
  /** Its devices of further classes; absent where all are of one class. */
  others?: SimulatedPoolClass[];
  /** How many were in use; absent where all were from beginning to end. */
  inUse?: SimulatedInUse;
  /** The largest planned batch size. */
  batch: number;
  batches: number;
  requests: number;
  meanBatch?: number;
  /** The numbers of batches of 1, 2, … `batch` requests. */
  sizes: number[];
  utilisation: number;
  /** How often devices loaded and evicted the component; of workflows only. */
  loads?: number;
  evictions?: number;
}

/** SimulatedPoolClass is a further class of the devices of a pool. */
export interface SimulatedPoolClass {
  class: string;
  virtual: number;
  virtualGpus: number;
}

/** SimulatedInUse says how many devices were in use: the fewest, the mean over time, and the most. */
export interface SimulatedInUse {
  least: number;
  mean: number;
  most: number;
}

/** SimulatedLinks says how busy the links of the servers were, in each direction. */
export interface SimulatedLinks {
  uplink: SimulatedLinkUse;
  downlink: SimulatedLinkUse;
}

/** SimulatedLinkUse is the share of the time during which servers' links were in use. */
export interface SimulatedLinkUse {
  mean: number;
  busiest: number;
}

/** SimulatedWindows holds the figures of the run by windows of a given number of seconds. */
export interface SimulatedWindows {
  seconds: number;
  rows: SimulatedWindow[];
}

/** SimulatedWindow holds the requests that arrived in it, the batches that began in it, and the device time in it. */
export interface SimulatedWindow {
  fromS: number;
  arrived: number;
  inTime: number;
  late: number;
  dropped: number;
  failed: number;
  attainment?: number;
  invalidRate?: number;
  offeredRps: number;
  goodputRps: number;
  latencyMs?: { mean: number; p50: number; p99: number; max: number };
  /** The means over answered requests. */
  splitMs?: { queueing: number; transfer: number; compute: number };
  batches: number;
  meanBatch?: number;
  /** The figures by class, in the order of classes. */
  utilisation: number[];
  /** The attainments by model; null where none of its requests ended. */
  attainments: (number | null)[];
  /** The mean number of devices in use, in the order of pools; absent where all were from beginning to end. */
  inUse?: number[];
}
