import type { Emitted } from './common.js';

/** TraceDescription is what `plan trace` prints as JSON. */
export interface TraceDescription extends Emitted {
  readonly kind: 'trace-description';
  readonly traces: readonly DescribedTrace[];
  /** All traces together; there where several traces all have arrival times. */
  readonly all?: TraceFigures;
  /** The window of the original trace that this one is, in seconds from its start; without an end it goes on to its end. */
  readonly window?: TraceWindow;
  /** The number of requests of the original trace, where this one has another number. */
  readonly requestsBefore?: number;
}

/** TraceWindow is a window of a trace. */
export interface TraceWindow {
  readonly fromS: number;
  readonly toS?: number;
}

/** DescribedTrace holds the figures of one trace among those that were described together. */
export interface DescribedTrace extends TraceFigures {
  /** The model that the trace was said to be for, or the file's path. */
  readonly name: string;
  /** Its share of the requests of all traces. */
  readonly share: number;
  /** This many further requests of the file began before the trace, and are left out; absent where there are none. */
  readonly begunBefore?: number;
}

/** TraceFigures are the figures of a trace, which the room `workload` computes and explains. */
export interface TraceFigures {
  readonly kind: 'arrivals' | 'counts';
  readonly format: string;
  readonly requests: number;
  readonly durationS: number;
  readonly meanRps?: number;
  readonly windows: {
    readonly lengthS: number;
    readonly count: number;
    readonly empty: number;
    readonly peakRps: number;
    readonly peakFromS: number;
    readonly dispersion?: number;
  };
  readonly gaps?: {
    readonly meanS: number;
    readonly cv?: number;
    readonly p50S: number;
    readonly p99S: number;
    readonly longestS: number;
    readonly longestFromS: number;
  };
  readonly intervals?: {
    readonly count: number;
    readonly shortestS: number;
    readonly longestS: number;
    readonly silenceS: number;
    readonly silenceFromS: number;
  };
}
