import { itemAt } from '../collections/index.js';
import type { PlanBody, PooledProblem } from '../milp/index.js';
import { heldShareOf, leastPerWeight } from './trial.js';

/** isPriced says whether a problem asks for the least price of its rates, and not for the largest rates. */
export function isPriced({ planner }: Pick<PooledProblem, 'planner'>): boolean {
  return planner.objective !== 'throughput';
}

/**
 * heldValue is what a plan is worth that holds these rates, and larger is better: the least rate per unit of weight, or
 * the negative price where that is asked for, and less than any price where the plan does not hold all of its rates.
 */
export function heldValue(problem: PooledProblem, plan: PlanBody, heldRps: readonly number[]): number {
  const { models } = problem;
  if (!isPriced(problem)) return leastPerWeight(models, heldRps);
  const holds = models.every(({ rps = 0 }, m) => itemAt(heldRps, m) >= rps);
  return holds ? -plan.objective.value : Number.NEGATIVE_INFINITY;
}

/** askedShare is the share of its rate that the model furthest from it holds, at most 1. */
export function askedShare({ models }: Pick<PooledProblem, 'models'>, heldRps: readonly number[]): number {
  return heldShareOf(
    heldRps,
    models.map(({ rps }) => rps),
  );
}
