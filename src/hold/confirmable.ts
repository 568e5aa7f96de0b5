import { largestOf } from '../collections/index.js';
import { attainmentOverRuns } from '../metrics/index.js';
import type { PooledProblem } from '../milp/index.js';
import { LEAST_SLOS, MOST_REQUESTS, PROMISE_REQUESTS, PROMISE_SEEDS } from './runs.js';

/** More requests may arrive in the runs than their mean number, by this share at most. */
const MORE_BY_CHANCE = 0.1;

/**
 * confirmableShares gives for each model the largest share in time that the runs which confirm a promise can show, with no
 * request late: the lower end of the confidence interval depends on how many requests they count.
 * @param most the bound on the value of all plans of the problem
 */
export function confirmableShares(problem: PooledProblem, most: number): number[] {
  const runs = PROMISE_SEEDS.map(() => 1);
  return mostRequests(problem, most).map((requests) => {
    const counted = (1 + MORE_BY_CHANCE) * Math.min(MOST_REQUESTS, requests);
    return attainmentOverRuns(runs, runs.length * counted).low;
  });
}

/** mostRequests gives how many requests of each model a run counts at most; infinite where the rates say nothing of that. */
function mostRequests({ models, planner }: PooledProblem, most: number): number[] {
  const longestS = largestOf(models.map(({ sloUs }) => sloUs)) / 1e6;
  const isPriced = planner.objective !== 'throughput';
  const rates = models.map(({ weight, rps = 0 }) => (isPriced ? rps : most * weight));
  // Several models may be planned for more than the one that counts, and a run lasts as long as the slowest one needs.
  if (!isPriced && models.length > 1) return models.map(() => Number.POSITIVE_INFINITY);
  const slowestS = largestOf(rates.filter((rps) => rps > 0).map((rps) => PROMISE_REQUESTS / rps));
  const durationS = Math.max(LEAST_SLOS * longestS, slowestS);
  return rates.map((rps) => (rps > 0 ? rps * durationS : Number.POSITIVE_INFINITY));
}
