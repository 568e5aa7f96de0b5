import type { ToldFaults } from '../artifacts/index.js';
import { fault, type PooledPlan } from '../artifacts/index.js';

/** What a plan's models offer loads: names, planned rates, weights. */
export type LoadedModels = Pick<PooledPlan, 'models'>['models'];

export function isServed({ throughputRps, pipelines }: LoadedModels[number]): boolean {
  return throughputRps > 0 && pipelines.length > 0;
}

export function plannedRates(models: LoadedModels, factor: number): number[] {
  return models.map((model) => (isServed(model) ? factor * model.throughputRps : 0));
}

/** By the models' weights where any served one has a weight, else by planned rates; what is not served gets nothing. */
export function weightsOf(models: LoadedModels): number[] {
  const weights = models.map((model) => (isServed(model) ? model.weight : 0));
  return weights.some((weight) => weight > 0) ? weights : plannedRates(models, 1);
}

export function byWeight(models: LoadedModels, total: number): number[] {
  const weights = weightsOf(models);
  const sum = weights.reduce((all, weight) => all + weight, 0);
  return weights.map((weight) => (total * weight) / sum);
}

/** The index of the model that an option names; what is wrong with it is added to `told`. */
export function modelOf(
  models: LoadedModels,
  name: string,
  at: string,
  told: ToldFaults,
): number | undefined {
  const model = models.findIndex((one) => one.name === name);
  const found = models[model];
  if (found === undefined) {
    const known = models.map((one) => one.name).join(', ');
    told.add(fault(`the plan has no model ${JSON.stringify(name)}; it has ${known}`, at));
    return undefined;
  }
  if (!isServed(found)) told.add(fault(`the plan gives ${name} no GPUs`, at));
  return model;
}
