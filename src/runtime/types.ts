import type { TunerOptions } from '../plans/index.js';
import type { LogEntry, SchedulerOptions } from '../serving/index.js';
import type { OpenedBundle } from './opened-bundle.js';

/** ServeOptions says how a bundle is served. The scheduler is the one that its plan names, unless another is named. */
export interface ServeOptions extends Omit<SchedulerOptions, 'preset'>, TunerOptions {
  /** The address to listen on; the default is 127.0.0.1. */
  host?: string;
  /** The port; the default is 8000, and 0 takes any free port. */
  port?: number;
  /** The largest request body; the default is 64 MiB. */
  maxBodyBytes?: number;
  /**
   * The most memory for the bodies of all open requests; the default is 512 MiB. A request beyond it is
   * answered with 503.
   */
  maxBodiesBytes?: number;
  /** The longest time a client may take to send a request; the default is one minute, and 408 ends the wait. */
  requestTimeoutMs?: number;
  /** An SLO that replaces those of the plan for every model. */
  sloMs?: number;
  /**
   * onLog is called when a device has loaded its model, comes up or goes down, when a batch fails, and when the server
   * is ready, drains or has closed. Before it is ready, `crowded` says where the devices leave too little of the host.
   */
  onLog?: (event: ServeEvent) => void;
  /** onDecision receives the decision log: all events and decisions of the core, for replay. */
  onDecision?: (entry: LogEntry) => void;
  /** confirm gets the bundle once its files are checked, before a device is started. An error ends the start. */
  confirm?: (bundle: OpenedBundle) => Promise<void>;
  /** A signal whose abort ends a start that is under way. Everything that was started is released. */
  signal?: AbortSignal;
}

/** ServeEvent is what a server tells while it starts, serves and closes. */
export type ServeEvent =
  | { kind: 'loading'; device: string; done: number; of: number }
  | { kind: 'crowded'; why: string }
  | { kind: 'ready'; url: string }
  | { kind: 'deviceDown'; device: string; why: string }
  | { kind: 'deviceUp'; device: string }
  | { kind: 'notStarted'; device: string; why: string }
  | { kind: 'batchFailed'; device: string; why: string }
  | { kind: 'loadStrayed'; share: number }
  | { kind: 'draining'; pending: number }
  | { kind: 'closed' };

/** RunningServer is a server that answers requests until it is closed. */
export interface RunningServer {
  /** The URL where it answers, such as `http://127.0.0.1:8000`. */
  readonly url: string;
  readonly address: { readonly host: string; readonly port: number };
  /** executorPids lists the process ids of the executors, for observers. */
  executorPids(): readonly number[];
  /** closed resolves when the server has closed. */
  readonly closed: Promise<void>;
  /** close takes no more requests, answers those it has, and releases the executors. */
  close(): Promise<void>;
  /** metricsText gives the text that GET /metrics answers. */
  metricsText(): Promise<string>;
  /**
   * coreTime gives the microseconds spent in the scheduling core so far, its calls, and the requests that it was told.
   */
  coreTime(): { decideUs: number; calls: number; requests: number };
}
