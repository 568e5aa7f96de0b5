import type { TlsPaths } from '../access/index.js';
import type { TunerOptions } from '../plans/index.js';
import type { LogEntry, SchedulerOptions } from '../serving/index.js';
import type { CheckedBundle } from './bundle/opened-bundle.js';
import type { EndedRequests } from './live/counters.js';
import type { UpReason } from './live/live-device.js';
import type { ScaledDevice } from './live/standby-watch.js';

/** AccessOptions says who may come in to a server. */
export interface AccessOptions extends TlsPaths {
  /** The address to listen on; the default is 127.0.0.1. */
  host?: string;
  /** The port; the default is 8000, and 0 takes any free port. */
  port?: number;
  /** A port of its own for the metrics; 0 takes any free port. By default they are at the other one. */
  metricsPort?: number | undefined;
  /** A file of tokens, one a line as `name:token`; only requests with one of them are let in then. */
  tokenFile?: string | undefined;
  /** Names by which clients may call the server, besides those of this machine. Others are refused then, and on loopback always. */
  allowHosts?: readonly string[] | undefined;
}

/** ServeOptions says how a bundle is served. The scheduler is the one that its plan names, unless another is named. */
export interface ServeOptions extends Omit<SchedulerOptions, 'preset'>, TunerOptions, AccessOptions {
  /** The largest request body; the default is 64 MiB. */
  maxBodyBytes?: number;
  /**
   * The most memory for the bodies of all open requests, with the tensors that are made of JSON; the default is 512 MiB.
   * A request beyond it is answered with 503.
   */
  maxBodiesBytes?: number;
  /**
   * The most memory for the answers that are being written or sent; the default is 512 MiB. An answer beyond it is
   * replaced by 503.
   */
  maxAnswersBytes?: number;
  /** The most connections that are open at once; the default is 4096. Others are closed as they come. */
  maxConnections?: number;
  /**
   * The longest time a client may take to send a request, and may read nothing of an answer; the default is one minute.
   * 408 ends the wait for a request, and the end of the connection that for a reader.
   */
  requestTimeoutMs?: number;
  /**
   * How long open requests are waited for when the server closes; the default is 10 s. Requests that are
   * still open then are dropped, and executors are ended at once.
   */
  drainTimeoutMs?: number;
  /** The server or device of the plan whose devices alone serve here, by themselves, such as `T4-0` or `T4-0/gpu1`. */
  at?: string | undefined;
  /** An SLO that replaces those of the plan for every model. */
  sloMs?: number;
  /**
   * onLog is called when a device has loaded its model, is activated or retired, comes up or goes down, when a batch
   * fails, and when the server is ready, drains or has closed. Before it is ready, `crowded` says where the devices
   * leave too little of the host.
   */
  onLog?: (event: ServeEvent) => void;
  /** onDecision receives the decision log: all events and decisions of the core, for replay. */
  onDecision?: (entry: LogEntry) => void;
  /** confirm gets the bundle once its files are checked, before a device is started. An error ends the start. */
  confirm?: (bundle: CheckedBundle) => Promise<void>;
  /** A signal whose abort ends a start that is under way. Everything that was started is released. */
  signal?: AbortSignal;
}

/** ServeEvent is what a server reports while it starts, serves and closes. */
export type ServeEvent =
  | { kind: 'loading'; device: string; done: number; of: number }
  | { kind: 'crowded'; why: string }
  | { kind: 'warning'; why: string }
  | { kind: 'clientCame'; name: string; address: string }
  | { kind: 'refused'; requests: number; address: string; why: string }
  | { kind: 'readAgain'; said: string }
  | { kind: 'ready'; url: string }
  | { kind: 'deviceDown'; device: string; why: string }
  | { kind: 'deviceUp'; device: string; why: UpReason }
  | ({ kind: 'deviceActivated' } & ScaledDevice)
  | ({ kind: 'deviceRetired' } & ScaledDevice)
  | { kind: 'notStarted'; device: string; why: string }
  | { kind: 'deviceHangs'; device: string; ms: number }
  | { kind: 'deviceGoesOn'; device: string }
  | { kind: 'batchFailed'; device: string; why: string }
  | { kind: 'loadFailed'; device: string; component: string; why: string }
  | { kind: 'programPrinted'; workflow: string; text: string }
  | { kind: 'loadStrayed'; share: number }
  | { kind: 'draining'; pending: number }
  | { kind: 'drainTimedOut'; requests: number; ms: number }
  /**
   * `unsent` counts answers that could not be sent, and `crossed` requests that came as the server closed, which no
   * outcome counts.
   */
  | { kind: 'closed'; outcomes: EndedRequests; unsent: number; crossed: number };

/** RunningServer is a server that answers requests until it is closed. */
export interface RunningServer {
  /** The URL where it answers, such as `http://127.0.0.1:8000`. */
  readonly url: string;
  readonly address: { readonly host: string; readonly port: number };
  /** The URL of the metrics, where they have a port of their own. */
  readonly metricsUrl: string | undefined;
  /**
   * renewAccess reads the files of tokens and certificates again. Files with faults change nothing;
   * `readAgain` tells.
   */
  renewAccess(): Promise<void>;
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
