import { simulatePlan } from '../../../src/api/index.js';
import type { PooledPlan } from '../../../src/formats/index.js';
import type { PooledProblem } from '../../../src/milp/index.js';
import type { Refutation } from '../refuter.js';
import { bestOf, isBetter, withModels } from './values.js';

/** No search and no confirmation uses these seeds. */
const FIRST_SEED = 700_001;
const RUNS = 12;
/** Student's t of 11 degrees of freedom for 95 %, by which the runs' interval is made, */
const T = 2.201;
/** and for 99.99 %: of 10,000 promises that just hold, one would be refuted by chance. */
const T_SURE = 5.92;

/**
 * brokenPromises simulates a plan that was searched for what it holds with seeds that no search has seen, and tries all
 * plans for one that is beyond its bound. It shares the simulator with the search and nothing else: how promises are judged is
 * computed here again, by fixed quantiles and a wider interval, so that a fault of the search's own judge is seen.
 */
export async function brokenPromises(
  plan: PooledPlan,
  path: string,
  problem: PooledProblem,
): Promise<Refutation[]> {
  const { hold, models } = plan;
  if (hold === undefined) return [{ claim: 'the plan holds something', found: 'it has no hold' }];
  const { report } = await simulatePlan(path, { seed: FIRST_SEED, runs: RUNS });
  const broken = hold.models.flatMap(({ name, attainment }, m) => {
    const runs = report.runs?.models.find((model) => model.name === name)?.attainment;
    if (runs === undefined || (models[m]?.heldRps ?? 0) === 0) return [];
    const { mean, low = mean, high = mean } = runs;
    const most = mean + (T_SURE / T) * Math.max(mean - low, high - mean);
    if (most >= attainment) return [];
    const claim = `${attainment} of ${name} are in time at ${models[m]?.heldRps}/s`;
    return [
      { claim, found: `${mean.toFixed(5)} are, and at most ${most.toFixed(5)}, in ${RUNS} other runs` },
    ];
  });
  return [...broken, ...boundPassed(plan, problem)];
}

/**
 * boundPassed tries all plans for one beyond the bound: it serves what must be in time, and withholds nothing from the SLOs.
 */
export function boundPassed({ hold, objective }: PooledPlan, problem: PooledProblem): Refutation[] {
  const freed = withModels(problem, ({ weight, rps }, m) => {
    const share = hold?.models[m]?.attainment as number;
    return {
      sloMarginUs: 0,
      batchFormation: 'none' as const,
      weight: weight * share,
      rps: rps === undefined ? undefined : rps * share,
    };
  });
  const best = bestOf({ ...freed, planner: { ...freed.planner, unifiedBatch: false } });
  const { value, bound } = hold as NonNullable<typeof hold>;
  const claim = `no plan holds more than ${bound} (${objective.kind})`;
  return [
    ...(best !== undefined && isBetter(problem, best, bound) ? [{ claim, found: `one serves ${best}` }] : []),
    ...(isBetter(problem, value, bound) ? [{ claim, found: `this one holds ${value}` }] : []),
  ];
}
