import { type FaultPlace, fault, shown, type ToldFaults } from '../formats/index.js';

/** LoadedModels is what loads need to know of the models of a plan or a server: names, planned rates and weights. */
export type LoadedModels = readonly RatedModel[];

/** RatedModel is a model with its planned rate, of a plan or of a server. */
export interface RatedModel {
  readonly name: string;
  readonly throughputRps: number;
  readonly weight: number;
  /** The name of the load that it shares with others: each request of that load belongs to one of them. */
  readonly loadOf?: string;
  /** The rate that a plan was seen to hold. */
  readonly heldRps?: number;
  /** A plan's pipelines. A server does not report them. */
  readonly pipelines?: readonly unknown[];
}

/** isServed says whether a model has a planned rate above 0 and, where its pipelines are known, at least one. */
export function isServed({ throughputRps, pipelines }: RatedModel): boolean {
  return throughputRps > 0 && pipelines?.length !== 0;
}

/** plannedRates gives each model's planned rate times a factor, in requests per second: 0 where it is not served. */
export function plannedRates(models: LoadedModels, factor: number): number[] {
  return models.map((model) => (isServed(model) ? factor * model.throughputRps : 0));
}

/**
 * promisedRates gives the rates that a plan promises, in requests per second: those that it was seen to hold, and else
 * each model's planned rate times the factor.
 */
export function promisedRates(models: LoadedModels, factor: number): number[] {
  const served = models.filter(isServed);
  if (served.some(({ heldRps }) => heldRps === undefined)) return plannedRates(models, factor);
  return models.map((model) => (isServed(model) ? (model.heldRps as number) : 0));
}

/**
 * modelWeights takes the models' weights where any served model has one, else their planned rates. Models that
 * are not served get 0.
 */
export function modelWeights(models: LoadedModels): number[] {
  const weights = models.map((model) => (isServed(model) ? model.weight : 0));
  return weights.some((weight) => weight > 0) ? weights : plannedRates(models, 1);
}

/** byWeight shares a total rate among the models by `modelWeights`. At least one of them must be served. */
export function byWeight(models: LoadedModels, total: number): number[] {
  const weights = modelWeights(models);
  const sum = weights.reduce((all, weight) => all + weight, 0);
  return weights.map((weight) => (total * weight) / sum);
}

/**
 * modelOf finds the index of the model that an option names. Where there is no such model, it adds a fault at the place
 * `at` and gives undefined. Where the plan does not serve the model, it adds a fault and gives the index all the same.
 */
export function modelOf(
  models: LoadedModels,
  { name, at }: { readonly name: string; readonly at: FaultPlace },
  told: ToldFaults,
): number | undefined {
  const model = models.findIndex((one) => one.name === name);
  const found = models[model];
  if (found === undefined) {
    const known = models.map((one) => one.name).join(', ');
    told.add(fault(`the plan has no model ${shown(name)}; it has ${known}`, at));
    return undefined;
  }
  if (!isServed(found)) told.add(fault(`the plan gives ${name} no GPUs`, at));
  return model;
}
