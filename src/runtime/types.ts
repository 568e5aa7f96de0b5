import type { LogEntry, StageLocalPolicy } from '../serving/index.js';

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
