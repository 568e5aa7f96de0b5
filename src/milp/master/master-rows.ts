import { largestOf } from '../../collections/index.js';
import { LinearModel, type Term } from '../../lp/index.js';
import type { ClassTable, ModelTable } from '../tables/index.js';
import { fastestGpuRps, powerOfTwo } from '../tables/index.js';

/**
 * MasterGoal is the objective of the LP: the least throughput/weight, or the price of the GPUs that meet given rates.
 */
export type MasterGoal =
  | {
      readonly kind: 'throughput';
      readonly weights: readonly number[];
      /** Rounds end once the LP reaches this much. */
      readonly enough?: number;
      /** Rounds end once the bound falls below this. */
      readonly tooLittle?: number;
    }
  | { readonly kind: 'price'; readonly rps: readonly number[] };

/** A class with more GPUs, in the LP's unit, never runs out: the solver accepts no larger bounds beside ones near 1. */
const MOST_GPUS = 2 ** 24;

/** MasterRows holds the rows of the LP: one per class, per model, and per model and class with a minimum share. */
export interface MasterRows {
  readonly model: LinearModel;
  readonly gpus: readonly number[];
  readonly shares: readonly number[];
  readonly minShares: readonly (readonly (number | undefined)[])[];
  /** The LP's units per GPU. If the rates need only a part of a GPU, that part is near 1 unit. */
  readonly perGpu: number;
}

/**
 * masterRows states the LP without columns: at most the free GPUs of each class, at least the rate or weight · t of
 * each model, and the minimum shares. Its only variable is t, the least throughput/weight, or none for a price.
 */
export function masterRows(classes: ClassTable, tables: readonly ModelTable[], goal: MasterGoal): MasterRows {
  const model = new LinearModel();
  const perGpu = unitsPerGpu(tables, goal);
  const t = goal.kind === 'throughput' ? model.addVariable('least throughput/weight') : undefined;
  const gpus = classes.names.map((name, k) => {
    const there = Math.min(MOST_GPUS, perGpu * (classes.available[k] as number));
    return model.addConstraint(`GPUs of ${name}`, [], { upper: there });
  });
  const shares = tables.map((table, m) => {
    const least: Term[] =
      goal.kind === 'throughput' && t !== undefined ? [[t, -(goal.weights[m] as number)]] : [];
    const lower = goal.kind === 'price' ? (goal.rps[m] as number) : 0;
    return model.addConstraint(`throughput of ${table.name}`, least, { lower });
  });
  const minShares = tables.map((table) =>
    classes.names.map((name, k) =>
      (table.minShare[k] as number) > 0
        ? model.addConstraint(`share of ${name} in ${table.name}`, [], { lower: 0 })
        : undefined,
    ),
  );
  model.addObjective(goal.kind === 'throughput' ? 'maximize' : 'minimize', t === undefined ? [] : [[t, 1]]);
  return { model, gpus, shares, minShares, perGpu };
}

/** unitsPerGpu is the inverse of the number of GPUs that the model with the largest demand needs, as a power of two. */
function unitsPerGpu(tables: readonly ModelTable[], goal: MasterGoal): number {
  const demands = goal.kind === 'throughput' ? goal.weights : goal.rps;
  return 1 / powerOfTwo(largestOf(tables.map((table, m) => (demands[m] as number) / fastestGpuRps(table))));
}
