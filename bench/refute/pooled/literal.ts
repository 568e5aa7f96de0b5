import { checkPlan } from '../../../src/checks/index.js';
import { literalChoices, type PooledProblem } from '../../../src/milp/index.js';
import { type Solved, solveSpec } from '../../../src/specs/index.js';
import type { Dice } from '../../seeded/dice.js';
import type { Refutation } from '../refuter.js';
import { type MadeSpec, problemOf, written } from './random-spec.js';
import { isBetter } from './values.js';

/** The literal formulation has two pipelines of each sequence, and takes a tenth of a second for so many choices. */
const COPIES = 2;
const MOST_CHOICES = 150;

/** isSmallLiteral says whether the literal formulation takes a problem, and is soon done with it. */
export function isSmallLiteral(problem: PooledProblem): boolean {
  return problem.planner.virtualPer !== 'server' && literalChoices(problem, COPIES) <= MOST_CHOICES;
}

/** LiteralAnswer is what the literal formulation answers, such as `optimal`, and which of its claims are false. */
export interface LiteralAnswer {
  readonly outcome: string;
  readonly refutations: readonly Refutation[];
}

/** literalAnswer solves a spec by the literal formulation too, and sets its answer beside that of the columns. */
export async function literalAnswer(
  path: string,
  problem: PooledProblem,
  columns: Solved,
): Promise<LiteralAnswer> {
  const literal = await solveSpec(path, { formulation: 'literal', gap: 0, threads: 1 });
  if (literal.outcome === 'infeasible')
    return { outcome: 'infeasible', refutations: plannedAllTheSame(columns, problem) };
  if (literal.outcome !== 'plan') return { outcome: 'no plan', refutations: [] };
  if (literal.plan.kind !== 'pooled-plan') throw new Error(`a pooled spec has a ${literal.plan.kind}`);
  const { status, objective } = literal.plan;
  return { outcome: status, refutations: beyondBound(objective.value, columns, problem) };
}

function plannedAllTheSame(columns: Solved, problem: PooledProblem): Refutation[] {
  if (columns.outcome !== 'plan' || columns.plan.kind !== 'pooled-plan') return [];
  if (checkPlan(columns.plan, problem).length > 0) return [];
  const found = `the columns have a plan of ${columns.plan.objective.value}, in which the checker finds no fault`;
  return [{ claim: 'the spec is infeasible by the literal formulation', found }];
}

function beyondBound(value: number, columns: Solved, problem: PooledProblem): Refutation[] {
  const claim = `the literal formulation has a plan of ${value}`;
  if (columns.outcome === 'infeasible') return [{ claim, found: 'the columns prove that there is none' }];
  if (columns.outcome !== 'plan' || columns.plan.kind !== 'pooled-plan') return [];
  const { bound } = columns.plan.objective;
  if (!isBetter(problem, value, bound)) return [];
  return [{ claim, found: `the columns prove that no plan is better than ${bound}` }];
}

/**
 * threePipelines solves by both formulations a spec that needs three pipelines of one sequence at some of the rates that it
 * draws, which specs of few GPUs never do.
 */
export async function threePipelines(dice: Dice, folder: string): Promise<LiteralAnswer> {
  const made = madeOfThree(dice);
  const path = await written(made, folder, 'three.spec.json');
  const columns = await solveSpec(path, { gap: 0, work: 1e6, threads: 1 });
  const { outcome, refutations } = await literalAnswer(path, problemOf(made), columns);
  const answered = columns.outcome === 'plan' ? columns.plan.status : columns.outcome;
  return {
    outcome: `${answered} (literal: ${outcome})`,
    refutations: refutations.map(({ claim, found }) => ({ claim: `of three.spec.json, ${claim}`, found })),
  };
}

/** Four blocks do not fit a GPU. On nine GPUs two pipelines serve 300 requests per second, and three serve 303. */
const BLOCKS_US = [9000, 5000, 8000, 7000];
const RATES = [299, 301, 302, 304];

function madeOfThree(dice: Dice): MadeSpec {
  const slower = dice.pick([0.5, 1, 3]);
  const latencies = BLOCKS_US.map((us) => us * slower * (1 + dice.below(100) / 1e5));
  const profile: MadeSpec['profiles'][number] = {
    kind: 'profile',
    version: '1.0',
    model: { name: 'three' },
    blocks: BLOCKS_US.map(() => ({ cutBytes: 0, weightBytes: 2 ** 30 })),
    devices: { C0: { blockLatencyUs: { 1: { 1: latencies } } } },
  };
  const cluster = { devices: { C0: { count: 9, memoryGiB: 3.5, hourlyCost: 1 } }, networkGbps: 10 };
  return {
    spec: {
      kind: 'pooled',
      cluster,
      models: [{ profile: 'three.json', sloMs: 1000, rps: dice.pick(RATES) / slower }],
      planner: { objective: 'cost', maxPartitions: 2 },
    },
    profiles: [profile],
  };
}
