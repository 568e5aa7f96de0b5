import { divideByWeight } from './divide.js';
import type { ModelGrid } from './grid.js';
import type { UsedColumn } from './plan-model.js';
import { searchPositions } from './positions.js';
import { type WholeGpuTable, wholeGpuTable } from './whole-gpus.js';

export interface PositionDivision {
  /** The best plan, where it is better than the one known. */
  readonly used: readonly UsedColumn[] | undefined;
  /** No division reaches more. */
  readonly bound: number;
  readonly nodes: number;
}

/** Divisions looked at before the bound is taken as it is. */
const MOST_DIVISIONS = 400;

/**
 * Several models where each (position, class) fills whole GPUs. The tables by fractions say at most what a model can be
 * served with by some GPUs; the best division at those figures is tried exactly, model by model, the figures that were too
 * good are put right, and so on until a division holds. Exact within the tables' budgets.
 * @param known value of a plan there is
 */
export function dividePositions(
  models: readonly ModelGrid[],
  available: readonly number[],
  weights: readonly number[],
  bound: number,
  known: number,
  maxNodes: number,
): PositionDivision {
  const tables = models.map((model) => wholeGpuTable(model, available));
  const exact = models.map(() => new Map<number, readonly UsedColumn[]>());
  const nothing = models.map(() => 0);
  let nodes = 0;
  let best = bound;
  for (let round = 0; round < MOST_DIVISIONS; round++) {
    const division = divideByWeight(tables, weights, bound, nothing);
    if (division === undefined) break;
    best = Math.min(best, division.value);
    if (division.value <= known * (1 + 1e-9)) return { used: undefined, bound: known, nodes };
    const open = division.states.findIndex((state, m) => state > 0 && !exact[m]?.has(state));
    if (open < 0)
      return {
        used: division.states.flatMap((state, m) => exact[m]?.get(state) ?? []),
        bound: division.value,
        nodes,
      };
    const state = division.states[open] as number;
    const model = models[open] as ModelGrid;
    const table = tables[open] as WholeGpuTable;
    const gpus = gpusOf(table, state);
    const found = searchPositions(model, gpus, model.options.budget, maxNodes - nodes);
    nodes += found.nodes;
    if (!found.exhausted) break;
    table.rps[state] = found.used === undefined ? 0 : worthOf(model, gpus) - found.excess;
    exact[open]?.set(state, found.used ?? []);
  }
  return { used: undefined, bound: Math.max(best, known), nodes };
}

function gpusOf(table: WholeGpuTable, state: number): number[] {
  let rest = state;
  return table.strides.map((stride) => {
    const n = Math.floor(rest / stride);
    rest -= n * stride;
    return n;
  });
}

function worthOf({ options }: ModelGrid, gpus: readonly number[]): number {
  return gpus.reduce((sum, n, k) => sum + n * (options.gpuPrices[k] as number), 0);
}
