/** In which order a queue is served; equals in the order they came. */
export type QueueOrder = { kind: 'fifo' } | { kind: 'deadline' };

/**
 * When an idle device starts a batch smaller than planned though the queue is empty behind it.
 * - eager: at once (InferLine, PARD's pull).
 * - wait: it waits for company for `share` of the time the head could still wait, which ends when a batch with one request more
 *   would be late. 1 is PPipe's "till the last moment" (§5.4), 0 is eager.
 */
export type FormationRule = { kind: 'eager' } | { kind: 'wait'; share: number };

/**
 * Which waiting request is given up.
 * - never. - expired: its deadline is past. - hopeless: alone and without queueing it would miss its deadline.
 * - full-batch: hopeless, and while more than `share` of a planned batch wait behind it, one that would be late in such a batch.
 *   Serving it would force a small batch under overload, when throughput is what all the others need (Nexus' early drop;
 *   the published PPipe's first-sight rule has the same end).
 */
export type DropRule =
  | { kind: 'never' }
  | { kind: 'expired' }
  | { kind: 'hopeless' }
  | { kind: 'full-batch'; share: number };

/**
 * What becomes of a request that the drop rule gives up.
 * - drop: it is dropped at once.
 * - background: it is answered late rather than not at all, where that takes nothing from those that can be in time: it
 *   stands behind them all, for devices that would else be idle, until `patience` SLOs past its deadline. Where more than the
 *   share `mostMissed` of the last `window` requests of its model were not in time (a moving average), that is overload and
 *   not chance: it is dropped at once. So is one whose deadline is its own, sooner than the SLO.
 */
export type LateRule =
  | { kind: 'drop' }
  | { kind: 'background'; patience: number; mostMissed: number; window: number };

/**
 * Which pipeline of its model a request goes to, on arrival, among those that are up and can make its deadline.
 * - proportional: smooth weighted round robin by planned throughput.
 * - least-loaded: the fewest requests in flight per planned throughput. In the long run also proportional, since an
 *   overloaded pipeline takes no more than it ends; under bursts it evens out what chance has made uneven.
 */
export type PipelineChoice = { kind: 'proportional' } | { kind: 'least-loaded' };

/** Whether expectations follow what executions really took: a moving average of measured over planned, per pool (PPipe §5.4). */
export type FeedbackCorrection = { kind: 'none' } | { kind: 'average'; weight: number };

/** The choices a stage-local scheduler is put together from. */
export interface StageLocalPolicy {
  order: QueueOrder;
  formation: FormationRule;
  drop: DropRule;
  late: LateRule;
  choice: PipelineChoice;
  correction: FeedbackCorrection;
  /** Kept free before every deadline by all of the above; outcomes are judged without it. */
  slackNs: number;
  /** More tasks in flight than this are refused. */
  mostTasks: number;
  /** Executions a task may be lost in before its request fails. */
  mostTries: number;
}

export const DEFAULT_POLICY: StageLocalPolicy = {
  order: { kind: 'deadline' },
  formation: { kind: 'eager' },
  drop: { kind: 'full-batch', share: 1 },
  late: { kind: 'background', patience: 4, mostMissed: 0.25, window: 128 },
  choice: { kind: 'least-loaded' },
  correction: { kind: 'average', weight: 0.1 },
  slackNs: 0,
  mostTasks: 1 << 20,
  mostTries: 2,
};

/** First come, first served: what waits starts as soon as a device is free, and nothing is given up. */
export const FIFO_POLICY: StageLocalPolicy = {
  ...DEFAULT_POLICY,
  order: { kind: 'fifo' },
  formation: { kind: 'eager' },
  drop: { kind: 'never' },
  late: { kind: 'drop' },
  choice: { kind: 'proportional' },
  correction: { kind: 'none' },
};
