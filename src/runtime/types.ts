import type { Tensors } from '../execution/index.js';
import type { LatencySummary } from '../metrics/index.js';
import type { LogEntry, StageLocalPolicy } from '../serving/index.js';
import type { ArrivalProcess } from '../workload/index.js';

export interface ServeOptions {
  /** Default 127.0.0.1. */
  host?: string;
  /** Default 8000; 0 takes any free port. */
  port?: number;
  /** Largest request body, default 64 MiB. */
  maxBodyBytes?: number;
  /** In place of every model's SLO of the plan. */
  sloMs?: number;
  /** Which scheduler decides: every pool for itself (the default), or reservations over the whole way (PPipe §5.4). */
  scheduler?: 'stage-local' | 'reservation';
  /** How queues, batches, drops and pipelines are handled by the stage-local one; defaults in src/serving. */
  policy?: Partial<StageLocalPolicy>;
  /** Told what happens: up, down, restarted, batch failed, closing. */
  onLog?: (event: ServeEvent) => void;
  /** The decision log: all the core hears and says, for replay. */
  onDecision?: (entry: LogEntry) => void;
  /** Ends a start that is under way; what was started is released. */
  signal?: AbortSignal;
}

export type ServeEvent =
  | { kind: 'loading'; device: string; done: number; of: number }
  | { kind: 'ready'; url: string }
  | { kind: 'deviceDown'; device: string; why: string }
  | { kind: 'deviceUp'; device: string }
  | { kind: 'batchFailed'; device: string; why: string }
  | { kind: 'draining'; pending: number }
  | { kind: 'closed' };

export interface RunningServer {
  /** Where it answers, e.g. `http://127.0.0.1:8000`. */
  readonly url: string;
  readonly address: { readonly host: string; readonly port: number };
  /** Process ids of the executors, for observers. */
  executorPids(): readonly number[];
  /** Resolves when the server has closed. */
  readonly closed: Promise<void>;
  /** Takes no more requests, answers all it has, releases the executors. */
  close(): Promise<void>;
  /** What GET /metrics answers. */
  metricsText(): Promise<string>;
  /** Time spent in the scheduling core so far. */
  coreTime(): { decideUs: number; calls: number; requests: number };
}

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
