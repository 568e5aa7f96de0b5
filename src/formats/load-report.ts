import type { Emitted, LatencyHistogram } from './common.js';
import type { GateVerdicts } from './gate-check.js';
import type { PlanServing } from './pooled-spec.js';
import type { SimulatedLatency } from './simulation-report.js';

/**
 * LoadDocument is the report of a load on a server, as it is written and printed. Names end in the unit; rates are per
 * second.
 */
export interface LoadDocument extends Emitted, LoadOutcomes, GateVerdicts {
  kind: 'load-report';
  /** false where it was interrupted: figures are of what was sent until then. Absent before version 1.5. */
  complete?: boolean;
  url: string;
  /** The attainment of all requests once more, at the path where reports of simulations have it. Absent before version 1.7. */
  overall?: { attainment?: number };
  /** The model that was asked; absent where there were several. */
  model?: string;
  /** The outcomes of the requests of each model, where there were several. */
  models?: ModelLoad[];
  /** The outcomes of the requests of each priority, of all models; absent where none was asked for. */
  priorities?: PriorityLoad[];
  /** The arrival process; `trace` where the requests were those of traces. */
  arrivals: 'poisson' | 'uniform' | 'gamma' | 'trace';
  seed: number;
  rows: number;
  /** How requests carried their tensors. Absent before version 1.8. */
  tensors?: 'binary' | 'json';
  /** The rate that was asked for. */
  rps: number;
  durationS: number;
  /**
   * The seconds from the beginning to the last outcome; at least durationS, or the time until an abort if that is less.
   */
  elapsedS: number;
  /** The number of failed requests by reason. */
  failures: Record<string, number>;
  /** The number of dropped requests by the status of their answers; absent where there are none, and before version 1.8. */
  drops?: Record<string, number>;
  throughputRps: number;
  goodputRps: number;
  /** Requests handed over per second while the client was sending. */
  sentRps: number;
  /** How long after its intended time a request was handed over. */
  sendLatenessMs?: SimulatedLatency;
  /** The digest of the plan that the server serves, where it tells. */
  planSha256?: string;
  /** The notes of that plan, where the server reports them and there are any. */
  notes?: string[];
  /** How the server schedules, with every choice of its policy, where it tells. */
  serving?: PlanServing;
  /** When requests were to be sent; absent where they were more than a million. */
  sends?: LoadSends[];
  /** How many of the answers to labelled samples are right; absent where nobody gave labels. */
  labelled?: LabelledOutcomes;
  /** The models of a cascade that answered; absent where the server does not say. */
  answeredBy?: LoadAnsweredBy[];
  /** The server's own figures of the load; absent where it has none. */
  served?: LoadServed[];
  /** Sentences that say which figures make the run unfit as a measurement. */
  warnings: string[];
}

/** LabelledOutcomes counts the right answers to labelled samples, which were sent in turn. */
export interface LabelledOutcomes {
  samples: number;
  answered: number;
  right: number;
  /** Absent where nothing was answered. */
  accuracy?: number;
}

/** LoadAnsweredBy is a model of a cascade, with the rows that it answered, and their share of all rows that were answered. */
export interface LoadAnsweredBy {
  stage: string;
  rows: number;
  share: number;
}

/** LoadOutcomes says how requests ended. sent = inTime + late + dropped + failed + cancelled. */
export interface LoadOutcomes {
  sloMs?: number;
  sent: number;
  answered: number;
  inTime: number;
  late: number;
  /** Requests that the server gave up: it answered 408, 429, 503 or 504. */
  dropped: number;
  failed: number;
  cancelled: number;
  attainment?: number;
  dropRate?: number;
  /** Latency of answered requests, from the intended send. */
  latencyMs?: SimulatedLatency;
  latencyHistogram?: LatencyHistogram;
}

/** ModelLoad holds the outcomes of one model's requests. */
export interface ModelLoad extends LoadOutcomes {
  name: string;
}

/** PriorityLoad holds the outcomes of the requests that sent one priority; 0 is the default level, of which nothing is sent. */
export interface PriorityLoad extends LoadOutcomes {
  priority: number;
  /** The share of requests that was drawn for. */
  share: number;
}

/** LoadSends says when the requests of a model were to be sent. `gapTimes` reads them. */
export interface LoadSends {
  model: string;
  /** The whole nanoseconds from the start to the first request, and from each to the next, with spaces between. */
  gapsNs: string;
}

/** LoadServed is what the server says of the requests and batches of a model during the load. */
export interface LoadServed {
  model: string;
  answered: number;
  /** The mean time from a request's arrival at the server until its answer. */
  requestMs?: number;
  /** The mean time of a request in queues. */
  queueMs?: number;
  executions: LoadExecutions[];
}

/** LoadExecutions says how long the batches of one size of a partition took, from a device's receipt to the results. */
export interface LoadExecutions {
  pipeline: number;
  partition: number;
  class: string;
  virtual: number;
  batch: number;
  executed: number;
  /** The batches that the times are of: the last ones. */
  measured: number;
  medianUs?: number;
  p95Us?: number;
}

/** gapsText writes ascending times in whole nanoseconds as `LoadSends` holds them. */
export function gapsText(timesNs: readonly number[]): string {
  return timesNs.map((time, i) => time - (timesNs[i - 1] ?? 0)).join(' ');
}

/** gapTimes reads times in nanoseconds from the text of their gaps. It gives undefined where that is not such a text. */
export function gapTimes(text: string): Float64Array<ArrayBuffer> | undefined {
  if (text === '') return new Float64Array(0);
  if (!/^[\d ]*$/.test(text)) return undefined;
  let timeNs = 0;
  const times = Float64Array.from(text.split(' '), (gap) => {
    timeNs += gap === '' ? Number.NaN : Number(gap);
    return timeNs;
  });
  return Number.isSafeInteger(timeNs) ? times : undefined;
}
