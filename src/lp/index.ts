/**
 * This room states linear and mixed-integer models and solves them with HiGHS. Only it imports `highs`.
 *
 * In goes a `LinearModel`: named variables, constraints and one objective, as values (`linear-model.ts`). Out comes one
 * union of all ends of a solve, in which an objective can be read only where there is a solution (`highs.ts`). The room
 * knows no problem, plan or column: what a model means, and which bound follows from it, is for the planner that states it.
 */
export {
  type HighsEngine,
  loadHighs,
  milpWork,
  type NewColumns,
  type OpenModel,
  type SolveOutcome,
  type SolverOptions,
} from './highs.js';
export { LinearModel, type Term } from './linear-model.js';
