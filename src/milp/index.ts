/**
 * Pooled pipelines (PPipe §3, §5, A.1, A.2): the model layer, the HiGHS adapter, columns and their pricing, the search for
 * whole numbers, placement, and a checker that shares nothing with the planner.
 *
 * In goes a problem without files or open ends, out comes an outcome: a plan with a proven bound, infeasible with reasons,
 * or no plan in time. It reads no file, knows no clock but the one it is handed, and draws nothing at random.
 */
export { type Baseline, baselineProblem, planBaseline } from './baselines.js';
export { checkPlan, confirmed } from './check/check.js';
export { unitsOf } from './check/check-units.js';
export {
  type ClassExplanation,
  explainPlan,
  type ModelExplanation,
  type PlanExplanation,
} from './explain/explain.js';
export { explainInfeasible, type InfeasibilityExplanation } from './explain/explain-infeasible.js';
export { literalChoices } from './literal/literal-size.js';
export { type HighsEngine, loadHighs } from './lp/highs.js';
export { LinearModel } from './lp/linear-model.js';
export type { PlanOptions, PlanProgress } from './options.js';
export { type Change, diffPlans, type PipelineChange, type PlanDiff } from './plan/diff.js';
export { type PlacementRules, type PoolToPlace, placeVirtualGpus } from './plan/placement.js';
export type {
  PlanBody,
  PooledOutcome,
  PooledProblem,
  ProblemModel,
  ResolvedPlanner,
  SearchLimit,
  SolverReport,
} from './problem.js';
export { planPooled } from './solve.js';
export { type NamedProfile, resolvePooled } from './tables/resolve.js';
