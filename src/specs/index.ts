/**
 * This room answers what is asked of a spec, whatever its kind: it loads and resolves it, solves it on threads of its own,
 * confirms a plan against it, and compares cases of it side by side.
 *
 * It takes a spec's path and options, and gives a plan, the reasons why there is none, or one row per case.
 * The parts that are the same for all kinds lie at the top of the room; the parts that differ are in an entry
 * for each kind (`spec-of.ts`), in a folder of its own, which is loaded where a spec of the kind is met. The
 * searches are in `milp`, `inferline`, `gearplan` and `hold`. It prints nothing. Start reading at `specs.ts`,
 * then `solve.ts`, `compare.ts` and `confirm-plan.ts`.
 */

export { asProfiled } from './as-profiled.js';
export { compareSpec } from './compare.js';
export type { CompareOptions, Comparison } from './compare-options.js';
export {
  confirmBundledPlan,
  confirmPlan,
  confirmSimulated,
  type PlanConfirmation,
  refuseUnchecked,
  type Strictness,
} from './confirm-plan.js';
export { bundleNotes } from './core-notes.js';
export { describedSpec } from './described.js';
export { COPIES_ENDED } from './ended-reasons.js';
export { type AnySpec, refusing, usedOrTold, usedSpec } from './every-fault.js';
export type { NotHeldModel } from './not-held.js';
export { type NotHeld, notHeldReason } from './not-held.js';
export { refuseForSeveral, solveTogether } from './several.js';
export type { NotSolved, PlanSolved } from './solve.js';
export { type Solved, solveSpec } from './solve.js';
export type { SolveLimits } from './solve-limits.js';
export type { SolveOptions } from './solve-options.js';
export { SPEC_KINDS, type SpecKind } from './spec-kind.js';
export type { GivenOptions, KindOption } from './taken-options.js';
export type { FurthestFigure, TimingRound } from './timing-round.js';
export type { TogetherOptions, TogetherSolved } from './together-options.js';
