import { itemAt, largestOf, smallestOf } from '../collections/index.js';
import type { NoPlanReason } from '../formats/index.js';
import {
  type ClassAnswer,
  type FamilyQuestion,
  questionOf,
  solvedFamily,
  writtenPlan,
} from './family-question.js';
import { gearsNotHeldReasons, noPlan } from './no-plan.js';
import {
  type GearAnswer,
  type GearQuestion,
  type GearSolution,
  relaxedValue,
  searchedThrough,
  trialsOf,
  withSurpassed,
} from './objectives.js';
import { maximalSets } from './placement.js';
import type { GearPlanBody } from './plan-body.js';
import type { ResolvedCascade } from './resolve.js';
import { spaceOf } from './search-space.js';

/** isPlacementHard says whether the models do not all fit a device of some class, so that placements differ. */
export function isPlacementHard({ classes }: ResolvedCascade): boolean {
  return classes.some(({ problem }) => maximalSets(problem.models, problem.memoryBytes).length > 1);
}

/** FamilyAnswer is a gear plan, or the reasons why there is none, or neither in time. `trials` counts simulated gears. */
export type FamilyAnswer =
  | {
      readonly status: 'optimal' | 'feasible';
      readonly plan: GearPlanBody;
      readonly trials: number;
    }
  | {
      readonly status: 'infeasible';
      readonly reasons: readonly NoPlanReason[];
      /** The least latency with which there is a plan. */
      readonly feasibleLatencyMs?: number;
      readonly trials: number;
    }
  | {
      readonly status: 'undecided';
      /** Why no plan that was found holds the latency, or why none was found; simulations say it, and prove nothing. */
      readonly reasons?: readonly NoPlanReason[];
      /** The least latency with which there is a plan. */
      readonly feasibleLatencyMs?: number;
      readonly trials: number;
    };

/**
 * planFamily answers a spec on the class that serves it best. The plan's bound holds for all classes, and it is optimal
 * where it reaches that.
 */
export function planFamily(question: FamilyQuestion): FamilyAnswer {
  const { resolved } = question;
  const answers = answersOf(question);
  const trials = answers.reduce((sum, { answer }) => sum + trialsOf(answer), 0);
  const found = answers.flatMap(({ of, answer }) =>
    'solution' in answer ? [{ of, answer, solution: answer.solution }] : [],
  );
  const [best] = found.toSorted((a, b) => order(resolved, a.solution, b.solution));
  if (best === undefined && answers.some(({ answer }) => answer.status === 'undecided'))
    return undecided(question, answers, trials);
  if (best === undefined) return unplanned(question, answers, trials);
  const { of, answer } = best;
  const others = answers.filter((one) => one.of !== of);
  const { bound, scope } = best.solution;
  const proofs = [{ bound, scope }, ...others.flatMap((one) => proofOf(question, one) ?? [])];
  const bounds = proofs.map((proof) => proof.bound);
  const bestBound = isMost(resolved) ? largestOf(bounds) : smallestOf(bounds);
  // A statement about all classes is about cascades that were counted for each of them.
  const least =
    proofs.map((proof) => proof.scope).toSorted((a, b) => a.mostModels - b.mostModels)[0] ?? scope;
  const isProved = bestBound === bound && least.mostModels === scope.mostModels;
  const plan = writtenPlan(question, of, {
    solution: { ...best.solution, bound: bestBound, scope: least },
    status: isProved ? answer.status : 'feasible',
    ...(answer.held === undefined ? {} : { held: answer.held }),
  });
  return { status: plan.status, plan, trials };
}

/** unplanned says why there is no plan. Only a bound proves that: a cascade that a simulation refuses may hold by chance. */
function unplanned(question: FamilyQuestion, answers: readonly ClassAnswer[], trials: number): FamilyAnswer {
  const none = noPlan(question, answers);
  // A class on which some models fit may have a plan of these, which is not looked for.
  const isWhole = question.resolved.unable.every(({ code }) => code !== 'weights-exceed-memory');
  const isProved =
    isWhole &&
    answers.every(({ answer }) => answer.status === 'infeasible' && answer.reason.tried === undefined);
  return { ...none, ...(isProved ? {} : { status: 'undecided' }), trials };
}

/** undecided says which rates the plans do not hold that were found. */
function undecided(question: FamilyQuestion, answers: readonly ClassAnswer[], trials: number): FamilyAnswer {
  const reasons = gearsNotHeldReasons(question, answers);
  return { status: 'undecided', trials, ...(reasons.length === 0 ? {} : { reasons }) };
}

/**
 * answersOf answers for each class. Where no class has a plan and the search left that open on some, these are searched
 * through, and at last single models are tried that others surpass.
 */
function answersOf(question: FamilyQuestion): ClassAnswer[] {
  const asked = question.resolved.classes.map((of) => {
    const solve = (one: GearQuestion): GearAnswer => solvedFamily(question, of, one);
    return { of, asked: questionOf(question, of), solve };
  });
  let answers = asked.map(({ asked, solve }) => solve(asked));
  const isAnswered = () => answers.some((answer) => 'solution' in answer);
  if (!isAnswered())
    answers = asked.map(({ asked, solve }, i) => {
      const answer = itemAt(answers, i);
      const isOpen = answer.status === 'undecided' && answer.notHeld === undefined;
      return isOpen ? searchedThrough(asked, answer, solve) : answer;
    });
  if (!isAnswered())
    answers = asked.map(({ asked, solve }, i) => {
      const answer = itemAt(answers, i);
      return 'solution' in answer ? answer : withSurpassed(asked, answer, solve);
    });
  return asked.map(({ of }, i) => ({ of, answer: itemAt(answers, i) }));
}

/** proofOf is the bound on the value of plans on a class, with its scope; undefined where there are none. */
function proofOf(
  question: FamilyQuestion,
  { of, answer }: ClassAnswer,
): Pick<GearSolution, 'bound' | 'scope'> | undefined {
  if ('solution' in answer) return answer.solution;
  if (answer.status === 'infeasible') return undefined;
  const asked = questionOf(question, of);
  const bound = relaxedValue(asked);
  return bound === undefined ? undefined : { bound, scope: spaceOf(of.problem, asked).scope };
}

/** isMost says whether the objective is better the larger it is. */
function isMost({ objective }: ResolvedCascade): boolean {
  return objective === 'accuracy';
}

/** order puts the better of two solutions first. */
function order(resolved: ResolvedCascade, a: GearSolution, b: GearSolution): number {
  return isMost(resolved) ? b.value - a.value : a.value - b.value;
}
