/**
 * ServingCore is a scheduler as its driver sees it. The driver tells it what happened and when, and the core
 * appends its decisions to the buffer it was made with.
 *
 * Times, deadlines among them, are integer nanoseconds since the run began, and they never go back. A driver tells
 * all events of an instant, then calls `decide` once. It then carries out every decision and clears the buffer before
 * it tells anything more. Until then, no number (of a request, task or batch) that a decision names is used again.
 *
 * A request of n rows is n tasks. Each task is at one stage at a time. In a chain it passes the stages one after the
 * other. In a DAG it goes on along all edges that are taken for it, as one task along each, and the tasks of a row that
 * come to one stage become one. The request is answered when nothing of it is left.
 */
export interface ServingCore {
  /**
   * arrived reports that a request of `rows` (at least 1) tasks has arrived. A core that is draining or full drops
   * it at once, by a decision.
   * @param weight how much it counts that the request is in time, above 0 and finite; 1 where it is not said
   * @returns the number of the request, in use until its outcome is decided and its last batch has come back
   */
  arrived(at: number, model: number, deadlineNs: number, rows: number, weight?: number): number;
  /**
   * wouldDrop returns whether a request of one row that came now would be dropped because of the requests
   * before it. It changes nothing. It is true only where, in every pipeline that is up, tasks that can still
   * be in time fill all devices with full batches until it is too late for this one. So a refusal never
   * leaves a device idle. A core that cannot know (as `reservation`, or where other requests with a longer
   * SLO may wait before it) says false.
   * @param ahead requests that will come before it and are not in yet
   */
  wouldDrop(at: number, model: number, deadlineNs: number, ahead: number): boolean;
  /**
   * turnedAway reports that a request that would be dropped was refused unread. Its outcome is a drop for
   * overload, at the entry.
   * @returns the number of the request
   */
  turnedAway(at: number, model: number): number;
  /**
   * cancelled reports that the client of a request has left.
   * @returns whether this ended the request. It is false where the outcome was decided before: the driver
   *   has already carried out that decision, or finds it in the buffer.
   */
  cancelled(at: number, request: number): boolean;
  /** started reports that the device of the batch has begun it. */
  started(at: number, batch: number): void;
  /**
   * executed reports that the results of the batch are there, and when its execution began and ended.
   * @param verdicts what the stage's model says of each task, in their order, where the edges of the stage
   * ask for it: bit i says whether the i-th of the edges that ask for it is taken; or the number is a
   * certainty. Absent verdicts are 0.
   */
  executed(at: number, batch: number, startedAt: number, endedAt: number, verdicts?: ArrayLike<number>): void;
  /**
   * failed reports that the batch gave no results although its device is well. Each of its tasks is tried again
   * in a batch of its own; a task that was the only one of the batch fails.
   */
  failed(at: number, batch: number): void;
  /** transferred reports that the tensors of the batch are with the next pool, and when they were sent and came. */
  transferred(at: number, batch: number, startedAt: number, endedAt: number): void;
  /**
   * due reports that the time that `wakeAt` asked for has come. A call that is early, or that nobody asked for,
   * does no harm.
   */
  due(at: number): void;
  /** deviceUp reports that the device, which was down, takes work. All devices are down at the beginning. */
  deviceUp(at: number, device: number): void;
  /**
   * deviceDown reports that the device is gone, and the batch that ran on it with it. Nothing more may be reported
   * of that batch.
   */
  deviceDown(at: number, device: number): void;
  /**
   * drain reports that no further request is taken in. The requests that are in are finished, and no batch waits for
   * company any more.
   */
  drain(at: number): void;
  /** decide lets the core decide: it has heard all events of this instant. */
  decide(at: number): void;

  /** pending counts the requests without an outcome. */
  readonly pending: number;
  /** taskOf is the task of one row of a request, counted from 0. O(row). */
  taskOf(request: number, row: number): number;
  batchSize(batch: number): number;
  /** batchTask is task i of a batch, counted from 0. */
  batchTask(batch: number, i: number): number;
  batchPool(batch: number): number;
  batchDevice(batch: number): number;
  /** batchEdge is the edge by which a batch is sent on in a DAG, counted through all pools' edges; 0 in chains. */
  batchEdge(batch: number): number;
  /** requestOf is the request of a task, and `rowOf` is the row of that request, counted from 0. */
  requestOf(task: number): number;
  rowOf(task: number): number;
}
