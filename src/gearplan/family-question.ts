import { type CascadeSpec, cascadeMethodOf } from '../formats/index.js';
import { heldGears } from './held-gears.js';
import { type GearAnswer, type GearQuestion, type GearSolution, solveGears } from './objectives.js';
import { gearPlanBodyOf, type PlannedFamily } from './plan.js';
import type { GearPlanBody } from './plan-body.js';
import type { SearchEnd, SearchTools } from './planner.js';
import type { SimulateGears } from './promise.js';
import type { CascadeFiles, ClassProblem, ResolvedCascade } from './resolve.js';

/** FamilyQuestion is a resolved spec with the arrivals that gears are tried with. */
export interface FamilyQuestion extends SearchEnd, SearchTools {
  readonly spec: CascadeSpec;
  readonly files: CascadeFiles;
  readonly resolved: ResolvedCascade;
  /** Draws an integer below a number, for random search. */
  readonly integer: (below: number) => number;
  /** Simulates whole plans, which confirms what they promise. Without it, plans promise nothing. */
  readonly simulate?: SimulateGears;
}

/** ClassAnswer is the answer for one class. */
export interface ClassAnswer {
  readonly of: ClassProblem;
  readonly answer: GearAnswer;
}

/** questionOf is what is asked of a class. */
export function questionOf(
  { spec, resolved, arrivalsOf, solvePlacement, integer, work, interrupted }: FamilyQuestion,
  of: ClassProblem,
): GearQuestion {
  const method = cascadeMethodOf(spec);
  const { objective, accuracy } = resolved;
  return {
    problem: of.problem,
    objective,
    accuracy,
    method,
    arrivalsOf,
    integer,
    ...(solvePlacement === undefined ? {} : { solvePlacement }),
    ...(work === undefined ? {} : { work }),
    ...(interrupted === undefined ? {} : { interrupted }),
    ...(objective === 'cost' && of.unitCost !== undefined ? { unitCost: of.unitCost } : {}),
  };
}

/** writtenPlan writes a solution on a class as a plan. */
export function writtenPlan(
  { spec, files, resolved, arrivalsOf }: FamilyQuestion,
  of: ClassProblem,
  solved: Pick<PlannedFamily, 'solution' | 'status' | 'held' | 'limits'>,
): GearPlanBody {
  const { objective, notes } = resolved;
  return gearPlanBodyOf({ spec, files, of, objective, notes, arrivalsOf, ...solved });
}

/** solvedFamily answers a question about a class, by a plan that holds what it promises. */
export function solvedFamily(question: FamilyQuestion, of: ClassProblem, asked: GearQuestion): GearAnswer {
  const { simulate } = question;
  if (simulate === undefined) return solveGears(asked);
  // The plan that is held says why no cascade is more accurate.
  const limits = asked.problem.ranges.map(() => undefined);
  const planOf = (solution: GearSolution) =>
    writtenPlan(question, { ...of, problem: solution.problem }, { solution, limits, status: 'feasible' });
  return heldGears(asked, { simulate, planOf });
}
