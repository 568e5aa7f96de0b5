import type { ReservationPolicy } from '../reservation/index.js';
import { REACTIVE_POLICY, type StageLocalPolicy } from '../stage-local/index.js';

/**
 * PUBLISHED_POLICY makes every choice as PPipe's published simulator does. With a topology of its rules, it
 * replays the published runs row for row.
 */
export const PUBLISHED_POLICY: ReservationPolicy = {
  tables: 'busy-until',
  lateSingles: 'shunned',
  askOthers: false,
  firstSight: { kind: 'nearly-full', share: 0.95 },
  review: 'every-arrival',
  correction: { kind: 'none' },
  lastMoment: 'one-more',
  wakeStepNs: 1000,
  mostTasks: 1 << 20,
  mostTries: 2,
};

/** PUBLISHED_REACTIVE_POLICY makes the reactive scheduler's choices as PPipe's published simulator does. */
export const PUBLISHED_REACTIVE_POLICY: StageLocalPolicy = {
  ...REACTIVE_POLICY,
  formation: { kind: 'last-moment', leaves: 'nothing', stepNs: 1000 },
  drop: { kind: 'nearly-full', share: 0.95, spares: 'last-waited' },
  correction: { kind: 'none' },
  instant: 'by-place',
};
