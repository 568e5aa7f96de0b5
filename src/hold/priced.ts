import { itemAt } from '../collections/index.js';
import type { PlanBody, PooledProblem } from '../milp/index.js';
import type { ModelSetting } from './settings.js';

/**
 * servingProblem asks for the largest multiple of a priced problem's rates, whatever it costs: rates become weights, so
 * that a plan's value is the multiple that it serves, or holds.
 */
export function servingProblem(problem: PooledProblem): PooledProblem {
  const models = problem.models.map((model) => ({ ...model, weight: model.rps ?? 0, rps: undefined }));
  return { ...problem, models, planner: { ...problem.planner, objective: 'throughput' } };
}

/** pricedPlan turns a plan of `servingProblem` into one of the priced problem, with the price of the GPUs that it occupies. */
export function pricedPlan(plan: PlanBody, { cluster, planner, models }: PooledProblem): PlanBody {
  const { objective } = planner;
  const key = objective === 'cost' ? 'hourlyCost' : 'powerWatts';
  const value = Object.entries(plan.classes).reduce(
    (sum, [name, { used }]) => sum + used * (cluster.devices[name]?.[key] ?? 0),
    0,
  );
  return {
    ...plan,
    objective: { ...plan.objective, kind: objective, value },
    planner: { ...plan.planner, objective },
    models: plan.models.map((planned, m) => {
      const { weight, rps } = itemAt(models, m);
      return { ...planned, weight, ...(rps === undefined ? {} : { rps }) };
    }),
  };
}

/** servesRates returns whether the pools of a plan serve the rates of a priced problem when nothing waits. */
export function servesRates({ models }: PlanBody, problem: PooledProblem): boolean {
  return problem.models.every(({ rps = 0 }, m) => (models[m]?.throughputRps ?? 0) >= rps);
}

/**
 * pricedSettings gives the settings by which the priced problem asks for what a plan serves. Headroom is rounded down, so
 * that a plan of these settings exists.
 */
export function pricedSettings(
  settings: readonly ModelSetting[],
  { models }: PlanBody,
  problem: PooledProblem,
): ModelSetting[] {
  return settings.map((setting, m) => {
    const rps = problem.models[m]?.rps ?? 0;
    const served = models[m]?.throughputRps ?? 0;
    return rps === 0 ? setting : { ...setting, headroom: Math.floor((1e4 * served) / rps) / 1e4 };
  });
}
