import type { PooledPlan } from '../../../src/formats/index.js';
import type { PooledProblem, ProblemModel } from '../../../src/milp/index.js';
import type { Refutation } from '../refuter.js';
import { BruteForce } from './brute-force.js';

/** Sums of few terms are as far from each other as this by rounding. */
const ROUNDING = 1e-9;

/** bestOf tries all plans, and gives the best value that any has. */
export function bestOf(problem: PooledProblem): number | undefined {
  return new BruteForce(problem).best(problem.planner.objective);
}

/** isBetter says whether a value is better than another by more than rounding. */
export function isBetter({ planner }: PooledProblem, a: number, b: number): boolean {
  return planner.objective === 'throughput' ? a > b * (1 + ROUNDING) : a < b * (1 - ROUNDING);
}

/** overvalued sets a plan's value and bound beside the best of all plans. */
export function overvalued({ objective, status }: PooledPlan, problem: PooledProblem): Refutation[] {
  const { value, bound } = objective;
  const best = bestOf(problem);
  if (best === undefined)
    return [{ claim: `there is a plan of ${value}`, found: 'of all plans none is feasible' }];
  const found = `the best of all plans has ${best}`;
  return [
    ...(isBetter(problem, value, best) ? [{ claim: `the plan has ${value}`, found }] : []),
    ...(isBetter(problem, best, bound) ? [{ claim: `no plan is better than ${bound}`, found }] : []),
    ...(status === 'optimal' && isBetter(problem, best, value)
      ? [{ claim: `a plan of ${value} is optimal`, found }]
      : []),
  ];
}

/** withCounts gives the problem with other numbers of GPUs. */
export function withCounts(
  problem: PooledProblem,
  of: (name: string, count: number) => number,
): PooledProblem {
  const devices = Object.entries(problem.cluster.devices).map(([name, device]) => [
    name,
    { ...device, count: of(name, device.count) },
  ]);
  return { ...problem, cluster: { ...problem.cluster, devices: Object.fromEntries(devices) } };
}

/** withModels gives the problem with its models changed. */
export function withModels(
  problem: PooledProblem,
  change: (model: ProblemModel, m: number) => Partial<ProblemModel>,
) {
  return { ...problem, models: problem.models.map((model, m) => ({ ...model, ...change(model, m) })) };
}
