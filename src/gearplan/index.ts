/**
 * This room plans how a family of models is served as cascades (CascadeServe §4).
 *
 * It takes a spec with its cluster, profiles and records as values, and arrivals to try gears with. It gives a gear plan
 * (which cascade serves which range of loads, and which device holds which models) with a proved bound, or the reasons
 * why there is none, or every fault of the spec. It reads no files. Start reading at `objectives.ts`, then `planner.ts`,
 * `best-gears.ts` and `trials.ts`; `frontier.ts` has the cascades to choose from, `placement-model.ts` is the
 * MILP of placements, and `loop.ts` is the paper's algorithm.
 */

export { type FamilyAnswer, isPlacementHard, planFamily } from './answer.js';
export { type Cascade, cascadeOf } from './cascade.js';
export { type EvaluatedFrom, evaluatedFaults, gearChanges } from './evaluated.js';
export {
  explainFamily,
  type FrontierPoint,
  frontierOf,
  type GearExplanation,
  type ServedAccuracy,
} from './explain.js';
export { familyFigures } from './family-figures.js';
export type { FamilyQuestion } from './family-question.js';
export { type CascadeSpace, cascadeSpace } from './frontier.js';
export { KnownModels } from './known-models.js';
export { planByLoop } from './loop.js';
export { type GearAnswer, type GearQuestion, solveGears } from './objectives.js';
export { type PlacementSolver, placementSolver } from './placement-solver.js';
export type { GearPlanBody } from './plan-body.js';
export { type GearOutcome, mostAccurate } from './planner.js';
export type { FamilyModel, GearProblem, LoadRange } from './problem.js';
export { repeatedPromise, type SimulateGears } from './promise.js';
export {
  type CascadeFiles,
  cascadeSpecFaults,
  type LoadPoint,
  type ResolvedCascade,
  rangesOf,
  resolveCascade,
} from './resolve.js';
export type { GearMethod } from './scope.js';
export { proportionalArrivals } from './trials.js';
