import type { Emitted } from './common.js';

/** What became of the requests of a simulated run. docs/metrics.md defines every figure. */
export interface SimulationReport extends Emitted {
  kind: 'simulation-report';
  /** Enough, with the inputs and options here, to get the same bytes again. */
  seed: number;
  /** false when it was interrupted: figures are of what arrived until then. */
  complete: boolean;
  workload: SimulatedWorkload;
  scheduler: SimulatedScheduler;
  execution: SimulatedExecution;
  /** No percentile is further off than this share of itself; 0 where they are exact. */
  percentileError: number;
  overall: SimulatedRequests;
  models: SimulatedModel[];
  drops: SimulatedDrop[];
  classes: Record<string, SimulatedClass>;
  pools: SimulatedPool[];
  links: SimulatedLinks;
  windows?: SimulatedWindows;
}

export interface SimulatedWorkload {
  arrivals: 'poisson' | 'uniform' | 'gamma' | 'trace';
  /** Coefficient of variation of the gaps of gamma arrivals. */
  cv?: number;
  /** Requests arrive in [0, durationS). */
  durationS: number;
  /** How the requests of a trace's intervals were placed in them; absent where it has none. */
  spread?: 'poisson' | 'uniform' | 'gamma';
  /** Of a load that changed over time, in their order. */
  phases?: SimulatedPhase[];
  models: SimulatedLoad[];
}

export interface SimulatedPhase {
  durationS: number;
  /** Before that, how long rates and variation took to get here from the phase before. */
  transitionS: number;
  /** By model. */
  rps: number[];
  cv?: number;
}

export interface SimulatedLoad {
  name: string;
  /** Mean rate asked for. */
  rps: number;
  /** rps over the plan's throughput of this model. */
  loadFactor: number;
}

export interface SimulatedScheduler {
  name: string;
  /** Where the policy began; absent where it was the scheduler's own. */
  preset?: string;
  /** Every choice, as it was. */
  policy: Record<string, unknown>;
}

export interface SimulatedExecution {
  /** Executions take this multiple of the planned time. */
  slow: number;
  /** none, drawn from the profile's spread, or of a stated cv. */
  jitter: 'none' | 'profile' | 'cv';
  cv?: number;
}

export interface SimulatedRequests {
  arrived: number;
  inTime: number;
  late: number;
  dropped: number;
  failed: number;
  /** In time / all that ended; absent where none did. */
  attainment?: number;
  /** (Dropped + late) / the same. */
  dropRate?: number;
  /** Device time of requests dropped or late over that of all; absent where there was none. */
  invalidRate?: number;
  offeredRps: number;
  throughputRps: number;
  goodputRps: number;
  latencyMs?: SimulatedLatency;
  splitMs?: SimulatedSplit;
}

/** Over answered requests. */
export interface SimulatedLatency {
  count: number;
  mean: number;
  p50: number;
  p90: number;
  p95: number;
  p99: number;
  max: number;
}

/** Where the latency went; the means add up to its mean. */
export interface SimulatedSplit {
  queueing: SimulatedLatency;
  transfer: SimulatedLatency;
  compute: SimulatedLatency;
}

export interface SimulatedModel {
  name: string;
  sloMs: number;
  plannedRps: number;
  requests: SimulatedRequests;
}

export interface SimulatedDrop {
  model: string;
  reason: string;
  /** entry, or pipeline<i>/partition<k> in whose queue it stood. */
  place: string;
  count: number;
}

export interface SimulatedClass {
  /** An emulated device class, as its profiles say. */
  emulated?: true;
  virtualGpus: number;
  /** Their worth in GPUs: the sum of 1/v. */
  gpus: number;
  /** GPU seconds with a batch on them. */
  busyGpuS: number;
  utilisation: number;
}

export interface SimulatedPool {
  model: string;
  pipeline: number;
  partition: number;
  class: string;
  virtual: number;
  virtualGpus: number;
  /** The largest planned. */
  batch: number;
  batches: number;
  requests: number;
  meanBatch?: number;
  /** Batches of 1, 2, … batch requests. */
  sizes: number[];
  utilisation: number;
}

export interface SimulatedLinks {
  uplink: SimulatedLinkUse;
  downlink: SimulatedLinkUse;
}

/** Share of the time that servers' links were taken. */
export interface SimulatedLinkUse {
  mean: number;
  busiest: number;
}

export interface SimulatedWindows {
  seconds: number;
  rows: SimulatedWindow[];
}

/** Requests that arrived in it, batches that began in it, device time that fell in it. */
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
  /** Means over answered requests. */
  splitMs?: { queueing: number; transfer: number; compute: number };
  batches: number;
  meanBatch?: number;
  /** By class, in the order of classes. */
  utilisation: number[];
  /** By model; null where none of its requests ended. */
  attainments: (number | null)[];
}
