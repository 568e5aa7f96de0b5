import type { RowsAnswer } from '../tensors/tensors-of-rows.js';
import type { Dropped } from './drops.js';
import type { BatchPhases, RequestTimes } from './request-times.js';

/** Arrival is a request as it comes in. */
export interface Arrival {
  /** The value of `now()` when the request came, within this turn of the event loop. */
  readonly at: number;
  /** When it had come whole, where that was in an earlier turn. */
  readonly wholeNs?: number;
  readonly model: number;
  readonly deadlineNs: number;
  /** How much it counts that the request is in time; 1 where absent. */
  readonly weight?: number;
}

/** Ticket stands for a request that the driver has taken. */
export interface Ticket {
  readonly request: number;
  /**
   * cancel reports that the client is gone. It gives true where the request was still open: `done` is not called then.
   */
  cancel(): boolean;
}

/** Ending says how a request ended. */
export type Ending =
  | ({ kind: 'answered'; inTime: boolean } & RowsAnswer)
  | Dropped
  | { kind: 'failed'; why: string };

/** BatchRecord describes a batch that ended, for the counters. */
export interface BatchRecord {
  readonly pool: number;
  readonly device: number;
  readonly size: number;
  /** When it went through its phases; absent where it failed. */
  readonly phases?: BatchPhases;
  /** The time from handing the batch over to its results, as the driver sees it. */
  readonly busyUs: number;
}

/** Done is called once with a request's ending and its times, which are all 0 of one that was turned away. */
export type Done = (ending: Ending, times: RequestTimes) => void;
