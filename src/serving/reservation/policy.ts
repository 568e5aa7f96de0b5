import type { ReservationCorrection } from '../state/index.js';

/**
 * ReservationTableRule says what is remembered of the reservations of a resource.
 * - gaps: every reservation, and the free time between them (PPipe A.3). Each resource serves its reservations in
 *   their order, except for late ones and those that fit before the next (`ReservedForwarding`).
 * - busy-until: only the end of the last. Reservations then have no order to be kept: a batch is handed on as
 *   soon as it is there, first come, first served, and an accepted request can be late (the published
 *   simulator).
 */
export type ReservationTableRule = 'gaps' | 'busy-until';

/**
 * LateSingleRule says how a pipeline of batch 1 in which the request would be late is compared with others by
 * how long its batch waits.
 * - as-others: by its wait (PPipe Algorithm 1).
 * - shunned: as if its wait were an SLO longer (the published simulator).
 */
export type LateSingleRule = 'as-others' | 'shunned';

/**
 * LastMomentRule says until when a batch waits for company.
 * - in-time: until `wakeStepNs` past the last moment at which a batch of one more would be in time, but no
 *   later than the last moment of the tasks that wait.
 * - one-more: until `wakeStepNs` past the last moment of a batch of one more, even if the tasks that wait are
 *   then late (the published simulator).
 */
export type LastMomentRule = 'in-time' | 'one-more';

/**
 * FirstSightRule says when a request is dropped as soon as it becomes the oldest, though a smaller batch
 * could still save it.
 * - never: only a request that not even a batch of 1 can save is dropped (PPipe Algorithm 1).
 * - nearly-full: it is dropped where no batch of at least `share` of the planned one can be in time (the
 *   published simulator).
 * - queueing: it is dropped likewise, but only where such a batch would be in time if it had nothing to wait
 *   for. Then it is load that makes it late, and small batches would make the load worse.
 */
export type FirstSightRule =
  | { kind: 'never' }
  | { kind: 'nearly-full'; share: number }
  | { kind: 'queueing'; share: number };

/**
 * ReviewRule says when the pipeline, size and last moment of a waiting batch are decided anew.
 * - when-due: when it could be dispatched, or might not be in time any more.
 * - every-arrival: also at each arrival of its model (the published simulator).
 */
export type ReviewRule = 'when-due' | 'every-arrival';

/** EVERY_ARRIVAL says whether an arrival has its model's waiting batch decided anew. */
export const EVERY_ARRIVAL: { readonly [K in ReviewRule]: boolean } = {
  'when-due': false,
  'every-arrival': true,
};

/** ReservationPolicy holds the choices that a reservation scheduler is put together from. */
export interface ReservationPolicy {
  tables: ReservationTableRule;
  lateSingles: LateSingleRule;
  /** `askOthers` says whether the other pipelines are asked before a request is dropped. */
  askOthers: boolean;
  firstSight: FirstSightRule;
  review: ReviewRule;
  correction: ReservationCorrection;
  lastMoment: LastMomentRule;
  /**
   * `wakeStepNs` is how far past the last moment of a batch of one more the wait ends, in nanoseconds
   * (LastMomentRule).
   */
  wakeStepNs: number;
  /** `mostTasks` is how many tasks may be in flight; a request beyond them is refused. */
  mostTasks: number;
  /** `mostTries` is how many executions of a task may fail or be lost before its request ends. */
  mostTries: number;
}

/** RESERVATION_POLICY is the default policy; docs/serving.md says how it differs from the published one. */
export const RESERVATION_POLICY: ReservationPolicy = {
  tables: 'gaps',
  lateSingles: 'shunned',
  askOthers: true,
  firstSight: { kind: 'queueing', share: 1 },
  review: 'when-due',
  correction: { kind: 'average', weight: 0.03, deviations: 1.5 },
  lastMoment: 'in-time',
  wakeStepNs: 1,
  mostTasks: 1 << 20,
  mostTries: 2,
};
