import type { UsedColumn } from '../plan/index.js';
import { ROUNDING } from '../rounding.js';
import type { Stop } from '../work.js';
import type { Division } from './division.js';
import { type ModelGrid, worthOf } from './grid.js';
import { searchPositions } from './positions.js';
import { type WholeGpuTable, wholeGpuTable } from './whole-gpus.js';

export interface PositionDivision {
  /** The best plan, where it is better than the one known. */
  readonly used: readonly UsedColumn[] | undefined;
  /** No division is better than this; undefined where the search was ended before it knew. */
  readonly bound: number | undefined;
  readonly nodes: number;
}

export interface PositionDivisionGoal {
  /** The best division at the tables' figures; undefined where it cannot be had. */
  readonly divide: (tables: readonly WholeGpuTable[]) => Division | undefined;
  /** Whether a value is better than that of the plan there is. */
  readonly isBetter: (value: number) => boolean;
  /** Value of the plan there is. */
  readonly known: number;
  /** Rate that a model has to meet; undefined where as much as possible is to be served. */
  readonly rps: (model: number) => number | undefined;
  /** Asked now and then; true ends the search. */
  readonly stop: Stop;
}

/** Divisions looked at before the bound is taken as it is. */
const MOST_DIVISIONS = 400;

/**
 * Where each (model, position, class) fills whole GPUs. The tables by fractions say at most what a model can be served with
 * by some GPUs; the best division at those figures is tried exactly, model by model, the figures that were too good are put
 * right, and so on until a division holds. Exact within the tables' budgets.
 */
export function dividePositions(
  models: readonly ModelGrid[],
  available: readonly number[],
  goal: PositionDivisionGoal,
  maxNodes: number,
): PositionDivision {
  const tables = models.map((model) => wholeGpuTable(model, available));
  const exact = models.map(() => new Map<number, readonly UsedColumn[]>());
  let nodes = 0;
  let bound: number | undefined;
  for (let round = 0; round < MOST_DIVISIONS; round++) {
    const division = goal.divide(tables);
    if (division === undefined) break;
    if (!goal.isBetter(division.value)) return { used: undefined, bound: goal.known, nodes };
    bound = division.value;
    const open = division.states.findIndex((state, m) => state > 0 && !exact[m]?.has(state));
    if (open < 0)
      return {
        used: division.states.flatMap((state, m) => exact[m]?.get(state) ?? []),
        bound,
        nodes,
      };
    const state = division.states[open] as number;
    const model = models[open] as ModelGrid;
    const table = tables[open] as WholeGpuTable;
    const gpus = gpusOf(table, state);
    const rps = goal.rps(open);
    const { gpuPrices, budget } = model.options;
    const known = rps === undefined ? worthOf(gpus, gpuPrices, 1) - budget : rps * (1 - 4 * ROUNDING);
    const found = searchPositions(model, gpus, { known, maxNodes: maxNodes - nodes, stop: goal.stop });
    nodes += found.nodes;
    if (!found.exhausted) break;
    table.rps[state] = found.rps;
    exact[open]?.set(state, found.used ?? []);
  }
  return { used: undefined, bound, nodes };
}

function gpusOf(table: WholeGpuTable, state: number): number[] {
  let rest = state;
  return table.strides.map((stride) => {
    const n = Math.floor(rest / stride);
    rest -= n * stride;
    return n;
  });
}
