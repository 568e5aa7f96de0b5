import type { Tensors } from '../execution/index.js';
import type { LatencySummary } from '../metrics/index.js';
import type { ArrivalProcess, Arrivals } from '../workload/index.js';

/** LoadOptions says which requests are sent to a server, and when. `rps` is the mean rate of requests per second. */
export interface LoadOptions {
  /** The model's name; needed when the server has several. */
  model?: string;
  rps: number;
  durationS: number;
  /** The arrival process; the default is poisson. */
  arrivals?: ArrivalProcess;
  /** The coefficient of variation of the gaps of gamma arrivals; the default is 1. */
  cv?: number;
  /** Requests at given times to given models, instead of drawn arrivals for one model. */
  schedule?: LoadSchedule;
  /** The seed of arrivals and random inputs; the default is 0. */
  seed?: number;
  /** The rows of every request; the default is 1. */
  rows?: number;
  /** The latency that counts as in time; by default the model's SLO as the server states it. */
  sloMs?: number;
  /** Ends the run early when aborted. Open requests then count as cancelled. */
  signal?: AbortSignal;
  /** check says whether an answer is right. A wrong answer counts as failed. */
  check?: (response: LoadResponse) => boolean;
  /** Whether tensors are sent as bytes rather than JSON; the default is true. */
  binary?: boolean;
  /** The largest number of connections; the default is 512. */
  connections?: number;
  /**
   * A request has failed when its answer does not begin, or goes on no more, for this many seconds; the default is 30.
   */
  timeoutS?: number;
  /** Inputs to send in turn; by default they are random, seeded, and of the model's shapes. */
  inputs?: readonly Tensors[];
  /** onProgress is called about once a second. */
  onProgress?: (progress: { sent: number; done: number; ofSeconds: number; seconds: number }) => void;
}

/** LoadSchedule says when requests are sent, and for which models. `rps` is then only the rate that was asked for. */
export interface LoadSchedule {
  /** The arrivals; `model` is an index of `models`. */
  arrivals: Arrivals;
  models: readonly string[];
}

/** LoadResponse is an answered request, as `check` sees it. */
export interface LoadResponse {
  /** The request's index in the order of sending. */
  index: number;
  inputs: Tensors;
  outputs: Tensors;
}

/** LoadReport holds the outcomes and figures of a load. Names end in the unit; rates are per second. */
export interface LoadReport {
  url: string;
  /** The model that was asked; absent where there were several. */
  model?: string;
  /** The outcomes of the requests of each model, where there were several. */
  models?: ModelLoad[];
  /** The arrival process; `trace` where the requests were those of traces. */
  arrivals: ArrivalProcess | 'trace';
  seed: number;
  rows: number;
  sloMs?: number;
  /** The rate that was asked for. */
  rps: number;
  durationS: number;
  /**
   * The seconds from the beginning to the last outcome; at least durationS, or the time until an abort if that is less.
   */
  elapsedS: number;
  /** sent = inTime + late + dropped + failed + cancelled. */
  sent: number;
  answered: number;
  inTime: number;
  late: number;
  /** Requests that the server answered with 503. */
  dropped: number;
  failed: number;
  cancelled: number;
  /** The number of failed requests by reason. */
  failures: Record<string, number>;
  throughputRps: number;
  goodputRps: number;
  attainment?: number;
  dropRate?: number;
  /** Latency of answered requests, from the intended send. */
  latencyMs?: LatencySummary;
  /** Requests handed over per second while the client was sending. */
  sentRps: number;
  /** How long after its intended time a request was handed over. */
  sendLatenessMs?: LatencySummary;
  /** Sentences that say which figures make the run unfit as a measurement. */
  warnings: string[];
}

/** ModelLoad holds the outcomes of one model's requests. */
export interface ModelLoad
  extends Pick<
    LoadReport,
    | 'sloMs'
    | 'sent'
    | 'answered'
    | 'inTime'
    | 'late'
    | 'dropped'
    | 'failed'
    | 'cancelled'
    | 'attainment'
    | 'dropRate'
    | 'latencyMs'
  > {
  name: string;
}
