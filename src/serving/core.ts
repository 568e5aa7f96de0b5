/**
 * A scheduler as its driver sees it: told what happened and when, it appends decisions to the buffer it was made with.
 *
 * Times are integer nanoseconds since the run began and never go back. A driver tells all events of an instant, then calls
 * `decide` once, then carries out every decision and clears the buffer before it tells anything more: until then no number
 * (request, task, batch) that a decision names is used again.
 *
 * A request of n rows is n tasks, each at one partition at a time, in the pools of a pipeline one after the other; the request is
 * answered when all have ended. That count is the join which tasks that fork will need; forks themselves, outcomes per task of
 * `executed`, are not told yet.
 */
export interface ServingCore {
  /** A request of `rows` tasks; @returns its number, in use until its outcome is decided and its last batch has come back. */
  arrived(at: number, model: number, deadlineNs: number, rows: number): number;
  /**
   * Whether a request of one row that came now would be dropped for what stands before it: a question, it changes nothing.
   * Yes only where, on every pipeline that is up, tasks that can still be in time fill all devices with full batches until it
   * is too late for this one; so that refusing it keeps no device from work.
   * @param ahead requests that will come before it and are not in yet
   */
  wouldDrop(at: number, model: number, deadlineNs: number, ahead: number): boolean;
  /** A request that would be dropped was not read; @returns its number: it is dropped for overload, at the entry. */
  turnedAway(at: number, model: number): number;
  /** Its client left. @returns whether that ended it: if not, its outcome was decided before, and is said or in the buffer */
  cancelled(at: number, request: number): boolean;
  /** The device began the batch. */
  started(at: number, batch: number): void;
  /** The batch's results are there. */
  executed(at: number, batch: number, startedAt: number, endedAt: number): void;
  /** The batch gave no results; its device is well. Its tasks are tried again alone, one that was alone fails. */
  failed(at: number, batch: number): void;
  /** The batch's tensors are with the next pool. */
  transferred(at: number, batch: number, startedAt: number, endedAt: number): void;
  /** The time asked for by wakeAt has come. Being early or uncalled for does no harm. */
  due(at: number): void;
  /** The device takes work. All are down at the beginning. */
  deviceUp(at: number, device: number): void;
  /** The device is gone, and with it the batch on it: of that batch nothing more may be told. */
  deviceDown(at: number, device: number): void;
  /** Nothing more is taken in; what is in finishes without waiting for company. */
  drain(at: number): void;
  /** All events of this instant have been told. */
  decide(at: number): void;

  /** Requests without an outcome. */
  readonly pending: number;
  /** The task of a row of a request. O(row). */
  taskOf(request: number, row: number): number;
  batchSize(batch: number): number;
  /** Task i of a batch. */
  batchTask(batch: number, i: number): number;
  batchPool(batch: number): number;
  batchDevice(batch: number): number;
}
