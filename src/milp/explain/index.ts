/**
 * Explanations say what binds a plan, what one GPU more gives, which SLO would change it, and why a spec has no plan.
 */
export {
  type ClassExplanation,
  explainPlan,
  type ModelExplanation,
  type PlanExplanation,
} from './explain.js';
export { explainInfeasible, type InfeasibilityExplanation } from './explain-infeasible.js';
