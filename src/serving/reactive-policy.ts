import type { FirstSightRule, ReservationCorrection } from './reservation-policy.js';

/**
 * Whom the first-sight rule spares for having been waited on before.
 * - all-waited: every request.
 * - last-waited: the one that its queue waited on last (the published simulator: one remembered number per queue).
 */
export type SpareRule = 'all-waited' | 'last-waited';

/**
 * What a batch's last moment to wait for company leaves time for, besides its execution and the later stages' planned times.
 * - transfer: its own transfer to the next stage.
 * - nothing (the published simulator): one that waits to the last then finds that only a smaller batch, or none, is in time.
 */
export type WaitRule = 'transfer' | 'nothing';

/**
 * In which order batches that end a step at one instant go on.
 * - told: as they were told; those delivered then enter their queue together.
 * - by-place: delivered batches one by one by the number of their uplink, each served before the next enters, executed ones by the
 *   number of their device (the published simulator).
 */
export type InstantRule = 'told' | 'by-place';

/** The choices a reactive scheduler is put together from. */
export interface ReactivePolicy {
  /** At every stage anew. */
  firstSight: FirstSightRule;
  spares: SpareRule;
  waitLeaves: WaitRule;
  instant: InstantRule;
  correction: ReservationCorrection;
  /** The last moment to wait for company is this long after the last at which a batch of one more would be in time. */
  wakeStepNs: number;
  /** More tasks in flight than this are refused. */
  mostTasks: number;
  /** Executions a task may be lost in before its request fails. */
  mostTries: number;
}

export const REACTIVE_POLICY: ReactivePolicy = {
  firstSight: { kind: 'queueing', share: 1 },
  spares: 'all-waited',
  waitLeaves: 'transfer',
  instant: 'told',
  correction: { kind: 'average', weight: 0.1, deviations: 2 },
  wakeStepNs: 1,
  mostTasks: 1 << 20,
  mostTries: 2,
};

/** Every choice as PPipe's published simulator makes it; with a topology of its rules, its runs row for row. */
export const PUBLISHED_REACTIVE_POLICY: ReactivePolicy = {
  firstSight: { kind: 'nearly-full', share: 0.95 },
  spares: 'last-waited',
  waitLeaves: 'nothing',
  instant: 'by-place',
  correction: { kind: 'none' },
  wakeStepNs: 1000,
  mostTasks: 1 << 20,
  mostTries: 2,
};
