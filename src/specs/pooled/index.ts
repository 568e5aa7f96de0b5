/**
 * This folder answers pooled specs: it loads them, solves them on threads, searches for what they hold, times partitions,
 * and compares cases.
 */
export { type CompareCase, compareCases } from './cases.js';
export { type HeldOutcome, holdPlan } from './hold.js';
export { type HoldDone, holdText } from './hold-report.js';
export { holdTarget, ownShareNotes } from './hold-target.js';
export { type NotHeld, notHeldParts, notHeldReason } from './not-held.js';
export {
  type LoadedPooled,
  type LoadedProblem,
  loadPooled,
  loadProblem,
  pooledFigures,
  servingOf,
} from './pooled.js';
export { repeatedPromiseFaults } from './repeated-promise.js';
export { refusedRow, rowOf } from './rows.js';
export type { InfeasibleOutcome, SolveJob } from './solve-worker.js';
export { SolverPool } from './solver-pool.js';
export { type BetweenRounds, type TimingRound, timePartitions } from './time-partitions.js';
