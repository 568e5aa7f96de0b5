import type { FeedbackCorrection, QueueOrder } from '../state/index.js';

/**
 * Where a request waits, and for whom.
 * - on-arrival: it is given its pipeline when it comes (PipelineChoice) and waits in the queue of each of its pools in turn, until
 *   a device falls idle.
 * - earliest-free: one queue per model before all its first stages together, one before every later stage; a batch is handed to
 *   the device that is free first, which may still be busy.
 */
export type PlacementRule = 'on-arrival' | 'earliest-free';

/**
 * How large a batch is, and when one smaller than planned starts though the queue is empty behind it.
 * - eager: of those that wait as many as are all in time; at once (InferLine, PARD's pull).
 * - wait: the same, but it waits for company for `share` of the time the head could still wait, which ends when a batch with one
 *   request more would be late. 1 is PPipe's "till the last moment" (§5.4), 0 is eager.
 * - last-moment: the largest planned batch in which the head is in time if the later stages take full ones, or those that wait
 *   where they are fewer. For more it waits until `stepNs` past the last moment at which a batch of one more would be in time
 *   on a free device. `leaves` says what that leaves time for, besides its execution and the later stages: its own transfer to
 *   the next, or nothing (the published simulator), so that one that has waited to the last finds that only a smaller batch,
 *   or none, is in time.
 */
export type FormationRule =
  | { kind: 'eager' }
  | { kind: 'wait'; share: number }
  | { kind: 'last-moment'; leaves: 'transfer' | 'nothing'; stepNs: number };

/**
 * Which waiting request is given up.
 * - never. - expired: its deadline is past. - hopeless: alone and without queueing it would miss its deadline.
 * - full-batch: hopeless, and while more than `share` of a planned batch wait behind it, one that would be late in such a batch.
 *   Serving it would force a small batch under overload, when throughput is what all the others need (Nexus' early drop;
 *   the published PPipe's first-sight rule has the same end).
 * - unservable: the device that would take it next cannot have it in time, even alone.
 * - nearly-full: unservable, and at first sight what that device cannot have in time in at least `share` of a planned batch (the
 *   published simulator).
 * - queueing: the same, but only where such a batch would be in time on a free device: then it is load that keeps it.
 *
 * The last two spare whom its queue has waited on: all of them, or the last (the published simulator: one number per queue).
 */
export type DropRule =
  | { kind: 'never' }
  | { kind: 'expired' }
  | { kind: 'hopeless' }
  | { kind: 'full-batch'; share: number }
  | { kind: 'unservable' }
  | { kind: 'nearly-full'; share: number; spares: 'all-waited' | 'last-waited' }
  | { kind: 'queueing'; share: number; spares: 'all-waited' | 'last-waited' };

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

/**
 * In which order batches that end a step at one instant go on.
 * - told: as they were told; those delivered then enter their queue together.
 * - by-place: delivered batches one by one by the number of their uplink, each served before the next enters, executed ones by the
 *   number of their device (the published simulator).
 */
export type InstantRule = 'told' | 'by-place';

/** The choices a stage-local scheduler is put together from: any with any. */
export interface StageLocalPolicy {
  order: QueueOrder;
  placement: PlacementRule;
  /** Of what is placed on arrival. */
  choice: PipelineChoice;
  formation: FormationRule;
  drop: DropRule;
  late: LateRule;
  correction: FeedbackCorrection;
  instant: InstantRule;
  /** Kept free before every deadline by all of the above; outcomes are judged without it. */
  slackNs: number;
  /** More tasks in flight than this are refused. */
  mostTasks: number;
  /** Executions a task may be lost in before its request fails. */
  mostTries: number;
}

export const DEFAULT_POLICY: StageLocalPolicy = {
  order: { kind: 'deadline' },
  placement: 'on-arrival',
  choice: { kind: 'least-loaded' },
  formation: { kind: 'eager' },
  drop: { kind: 'full-batch', share: 1 },
  late: { kind: 'background', patience: 4, mostMissed: 0.25, window: 128 },
  correction: { kind: 'average', weight: 0.1 },
  instant: 'told',
  slackNs: 0,
  mostTasks: 1 << 20,
  mostTries: 2,
};

/** First come, first served: what waits starts as soon as a device is free, and nothing is given up. */
export const FIFO_POLICY: StageLocalPolicy = {
  ...DEFAULT_POLICY,
  order: { kind: 'fifo' },
  choice: { kind: 'proportional' },
  drop: { kind: 'never' },
  late: { kind: 'drop' },
  correction: { kind: 'none' },
};

/**
 * The reactive scheduler PPipe is compared with (§7.4): every stage batches for itself, and nobody knows of the links; a batch is as
 * large as is in time if the later stages take what was planned, and is handed ahead to the device that is free first.
 */
export const REACTIVE_POLICY: StageLocalPolicy = {
  ...DEFAULT_POLICY,
  placement: 'earliest-free',
  formation: { kind: 'last-moment', leaves: 'transfer', stepNs: 1 },
  drop: { kind: 'queueing', share: 1, spares: 'all-waited' },
  late: { kind: 'drop' },
  correction: { kind: 'steps', weight: 0.1, deviations: 2 },
};
