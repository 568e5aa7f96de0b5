import type { Tensors } from '../execution/index.js';
import type { LatencySummary } from '../metrics/index.js';
import type { ArrivalProcess } from '../workload/index.js';

export interface LoadOptions {
  /** Needed where the server has several. */
  model?: string;
  rps: number;
  durationS: number;
  /** Default poisson. */
  arrivals?: ArrivalProcess;
  /** Default 0. */
  seed?: number;
  /** Rows of every request; default 1. */
  rows?: number;
  /** What counts as in time; without it the model's SLO as the server tells it. */
  sloMs?: number;
  /** Ends the run early; what is still open is counted as cancelled. */
  signal?: AbortSignal;
  /** Whether an answer is right; one that is not counts as failed. */
  check?: (response: LoadResponse) => boolean;
  /** Tensors as bytes rather than JSON; default true. */
  binary?: boolean;
  /** Most connections; default 512. */
  connections?: number;
  /** A request without an answer after this is failed; default 30. */
  timeoutS?: number;
  /** Inputs to send, in turn; seeded random ones of the model's shapes where absent. */
  inputs?: readonly Tensors[];
  /** Told about once a second. */
  onProgress?: (progress: { sent: number; done: number; ofSeconds: number; seconds: number }) => void;
}

export interface LoadResponse {
  /** Place in the order of sending. */
  index: number;
  inputs: Tensors;
  outputs: Tensors;
}

export interface LoadReport {
  url: string;
  model: string;
  arrivals: ArrivalProcess;
  seed: number;
  rows: number;
  sloMs?: number;
  /** Asked for. */
  rps: number;
  durationS: number;
  /** From the first intended send to the last outcome, at least durationS. */
  elapsedS: number;
  /** sent = inTime + late + dropped + failed + cancelled. */
  sent: number;
  answered: number;
  inTime: number;
  late: number;
  /** Answered 503. */
  dropped: number;
  failed: number;
  cancelled: number;
  /** Why requests failed, and how many each. */
  failures: Record<string, number>;
  throughputRps: number;
  goodputRps: number;
  attainment?: number;
  dropRate?: number;
  /** From the intended send, answered requests. */
  latencyMs?: LatencySummary;
  /** Requests handed over per second of the sending. */
  sentRps: number;
  /** How late after its intended time a request was handed over. */
  sendLatenessMs?: LatencySummary;
  /** A figure that makes the run unfit as a measurement, said in words. */
  warnings: string[];
}
