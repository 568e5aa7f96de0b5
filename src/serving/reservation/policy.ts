import type { ReservationCorrection } from '../state/index.js';

/**
 * What a reservation remembers of a resource.
 * - gaps: every reservation and what is free between them (A.3). Each resource serves its reservations in their order.
 * - busy-until: the end of the last. Reservations then have no order to be kept: a batch is handed on as soon as it is
 *   there, first come first served, and an accepted request can be late (the published simulator).
 */
export type TableRule = 'gaps' | 'busy-until';

/**
 * Which pipeline a batch is offered to first.
 * - least-waiting: whose full batch waits least for devices and links (Algorithm 1).
 * - behind-share: the one furthest behind its planned share of what has been dispatched.
 */
export type OfferRule = 'least-waiting' | 'behind-share';

/**
 * How least-waiting looks at a pipeline of batch 1 in which the request would be late.
 * - as-others: by what it waits.
 * - shunned: as if it waited an SLO longer.
 */
export type LateSingleRule = 'as-others' | 'shunned';

/**
 * The last moment to wait for company.
 * - in-time: a step past the last at which a batch of one more would be in time, but no later than those that wait can be.
 * - one-more: that step past, whatever it is to those that wait (the published simulator).
 */
export type LastMomentRule = 'in-time' | 'one-more';

/**
 * When a request is dropped as soon as it becomes the oldest, though a smaller batch could still save it.
 * - never: only what not even a batch of 1 can save is dropped (Algorithm 1).
 * - nearly-full: where no batch of at least `share` of the planned one can be in time (the published simulator).
 * - queueing: the same, but only where such a batch could be if it had nothing to wait for: then it is load that keeps it,
 *   and small batches would make the load worse.
 */
export type FirstSightRule =
  | { kind: 'never' }
  | { kind: 'nearly-full'; share: number }
  | { kind: 'queueing'; share: number };

/**
 * When a batch that waits for company is thought over: pipeline, size and last moment.
 * - when-due: when it could be dispatched, or might not be in time any more.
 * - every-arrival: at each arrival of its model as well (the published simulator).
 */
export type ReviewRule = 'when-due' | 'every-arrival';

/** The choices a reservation scheduler is put together from. */
export interface ReservationPolicy {
  tables: TableRule;
  offer: OfferRule;
  lateSingles: LateSingleRule;
  /** Before a request is dropped for one pipeline's load, the others are asked. */
  askOthers: boolean;
  firstSight: FirstSightRule;
  review: ReviewRule;
  correction: ReservationCorrection;
  lastMoment: LastMomentRule;
  /** Its step. */
  wakeStepNs: number;
  /** More tasks in flight than this are refused. */
  mostTasks: number;
  /** Executions a task may be lost in before its request fails. */
  mostTries: number;
}

export const RESERVATION_POLICY: ReservationPolicy = {
  tables: 'gaps',
  offer: 'least-waiting',
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
