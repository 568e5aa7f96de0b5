import { join } from 'node:path';
import type { PooledProblem } from '../../../src/milp/index.js';
import { type Solved, solveSpec } from '../../../src/specs/index.js';
import type { Dice } from '../../seeded/dice.js';
import { falseExplanations } from '../pooled/explained.js';
import { brokenPromises } from '../pooled/held.js';
import { isSmallLiteral, literalAnswer, threePipelines } from '../pooled/literal.js';
import { misplaced } from '../pooled/placed.js';
import { type MadeSpec, madeSpec, problemOf, written } from '../pooled/random-spec.js';
import { falseRemedies } from '../pooled/remedies.js';
import { mistimed } from '../pooled/timed.js';
import { overvalued } from '../pooled/values.js';
import type { Refutation, Refuted } from '../refuter.js';

/** A search for what a plan holds takes seconds, so that few cases ask for one, and of one model. */
const HOLDING = 0.25;

/** A spec of nine GPUs is solved beside few cases. */
const THREE = 0.2;

/**
 * refuter solves random small pooled specs. A plan's value and bound are set beside the best of all plans, its placement,
 * latencies and rates are counted again, and what is told of other SLOs and clusters is solved. What a plan was searched
 * to hold is simulated with other seeds. The smallest specs, and some that may need three pipelines of one sequence, are
 * solved by the literal formulation too, whose answer is set beside that of the columns.
 */
export async function refuter(dice: Dice, folder: string): Promise<Refuted> {
  const made = madeSpec(dice);
  const isSmall = made.spec.models.length === 1;
  const problem = problemOf(made);
  const path = await written(made, folder);
  const output = join(folder, 'plan.json');
  const hold = isSmall && dice.chance(HOLDING) ? dice.pick([0.9, 0.95, 0.99]) : undefined;
  const asked = hold === undefined ? { gap: 0, work: 1e6, explain: dice.chance(0.5) } : { hold };
  const solved = await solveSpec(path, { ...asked, output, threads: 1 });
  const refutations = await refutationsOf(solved, { made, problem, output });
  const answered = solved.outcome === 'plan' && hold === undefined ? solved.plan.status : solved.outcome;
  const what = `${JSON.stringify(made.spec.planner)}, ${made.spec.models.length} models${hold === undefined ? '' : `, hold ${hold}`}`;
  if (hold !== undefined) return { what, outcome: `held: ${answered}`, refutations };
  const literal = isSmallLiteral(problem) ? await literalAnswer(path, problem, solved) : undefined;
  const drawn = dice.other('three pipelines');
  const three = drawn.chance(THREE) ? await threePipelines(drawn, folder) : undefined;
  const beside = literal === undefined ? '' : ` (literal: ${literal.outcome})`;
  const outcome = `${answered}${beside}${three === undefined ? '' : ` beside three pipelines: ${three.outcome}`}`;
  const further = [literal, three].flatMap((one) => one?.refutations ?? []);
  return { what, outcome, refutations: [...refutations, ...further] };
}

interface Case {
  readonly made: MadeSpec;
  readonly problem: PooledProblem;
  readonly output: string;
}

async function refutationsOf(solved: Solved, { made, problem, output }: Case): Promise<Refutation[]> {
  if (solved.outcome === 'infeasible') return falseRemedies(made, problem, solved.document);
  if (solved.outcome !== 'plan' || solved.plan.kind !== 'pooled-plan') return [];
  const { plan } = solved;
  const explanation = 'explanation' in solved ? solved.explanation : undefined;
  const counted = misplaced(plan, problem);
  if (plan.hold !== undefined) return [...counted, ...(await brokenPromises(plan, output, problem))];
  return [
    ...counted,
    ...mistimed(plan, problem),
    ...overvalued(plan, problem),
    ...(explanation === undefined || !('classes' in explanation)
      ? []
      : falseExplanations(made, plan, explanation)),
  ];
}
