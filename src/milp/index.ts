/**
 * This room plans pooled pipelines (PPipe §3, §5, A.1, A.2). It holds columns and their pricing, the
 * search for whole numbers, and placement; `lp` solves what it states. Its plans are checked by `checks`,
 * which shares no code with it.
 *
 * In goes a problem without files or open defaults. Out comes an outcome: a plan with a proven bound, infeasible with
 * reasons, or no plan in time. The room reads no file, knows only the clock that it is handed, and draws no random
 * numbers.
 */
export { type Baseline, baselineProblem, planBaseline } from './baselines.js';

export {
  type ClassExplanation,
  explainInfeasible,
  explainPlan,
  type InfeasibilityExplanation,
  type ModelExplanation,
  type PlanExplanation,
} from './explain/index.js';
export { literalChoices } from './literal/index.js';
export type { PlanOptions, PlanProgress } from './options.js';
export {
  type PlacementRules,
  type PoolToPlace,
  placeVirtualGpus,
  regrouped,
  type VirtualGpuCounts,
} from './plan/index.js';
export type {
  PlanBody,
  PooledOutcome,
  PooledProblem,
  ProblemModel,
  ResolvedPlanner,
  SearchLimit,
  SolverReport,
  WholeGpusPer,
} from './problem.js';
export { boundPooled, planPooled } from './solve.js';
export { modelNotes, type ProfileFile, resolvePooled, unusableNote, usableFigures } from './tables/index.js';
