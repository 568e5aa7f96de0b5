import type { Tensors } from '../execution/index.js';
import type { Emitted, LoadDocument } from '../formats/index.js';
import type { ArrivalProcess, Arrivals, PriorityShare } from '../workload/index.js';
import type { ClientAccess } from './client-access.js';

/** TensorsAs says how a request carries its tensors: behind its JSON as the protocol's extension has it, or in its JSON. */
export type TensorsAs = 'binary' | 'json';

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
  /** The priorities that requests send, drawn by their shares under the seed; by default none is sent. */
  priorities?: readonly PriorityShare[];
  /**
   * The latency that counts as in time; by default the model's SLO as the server states it. Without either, there is no
   * attainment.
   */
  sloMs?: number;
  /** Ends the run early when aborted. Open requests then count as cancelled. */
  signal?: AbortSignal;
  /** check says whether an answer is right. A wrong answer counts as failed. */
  check?: (response: LoadResponse) => boolean;
  /**
   * tensors says whether tensors are sent, and asked for, as bytes or as JSON; by default as bytes where the
   * server reports that it takes them, and for models of float16, which JSON does not carry.
   */
  tensors?: TensorsAs;
  /** The largest number of connections; the default is 512. */
  connections?: number;
  /**
   * A request has failed when its answer does not begin, or goes on no more, for this many seconds, or is not whole so long
   * after it began; the default is 30.
   */
  timeoutS?: number;
  /** The headers and certificates that the client sends to be let in; by default nothing. */
  access?: ClientAccess;
  /** The largest request that the metadata of a server may ask for; the default is 64 MiB. */
  maxRequestBytes?: number;
  /** The largest answer that is read, and the most of all answers that are being read; 64 and 512 MiB by default. */
  maxAnswerBytes?: number;
  maxAnswersBytes?: number;
  /** The most that a server may tell of itself in all: its models, their metadata and counters; the default is 16 MiB. */
  maxDescriptionBytes?: number;
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

/** LoadReport holds the outcomes and figures of a load: the document without its head. */
export type LoadReport = Omit<LoadDocument, keyof Emitted | 'kind'>;
