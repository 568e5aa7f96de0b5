import type { UsedColumn } from '../../plan/index.js';
import { ROUNDING } from '../../rounding.js';
import type { Stop } from '../../work.js';
import type { Division } from '../division/index.js';
import { type ModelGrid, type WholeGpuTable, wholeGpuTable, worthOf } from '../grid/index.js';
import { leastLosses, searchPositions } from './positions.js';

/** PositionDivision is what `dividePositions` found. */
export interface PositionDivision {
  /** The best plan, if it is better than the known one. */
  readonly used: readonly UsedColumn[] | undefined;
  /** No division is better than this. It is undefined if the search ended before it was known. */
  readonly bound: number | undefined;
  readonly nodes: number;
}

/** PositionDivisionGoal says what a division of whole GPUs among positions must reach, and when the search ends. */
export interface PositionDivisionGoal {
  /** The GPUs of each class. */
  readonly available: readonly number[];
  /** The search ends after this many nodes. */
  readonly maxNodes: number;
  /** divide gives the best division at the tables' figures, or undefined if there is none. */
  readonly divide: (tables: readonly WholeGpuTable[]) => Division | undefined;
  /** isBetter says whether a value is better than that of the known plan. */
  readonly isBetter: (value: number) => boolean;
  /** The value of the known plan. */
  readonly known: number;
  /** The rate that a model must meet; undefined if as much as possible is to be served. */
  readonly rps: (model: number) => number | undefined;
  /** stop is asked from time to time; true ends the search. */
  readonly stop: Stop;
}

/** After this many divisions the present bound is taken. */
const MOST_DIVISIONS = 400;

/**
 * dividePositions divides GPUs under the rule that each (model, position, class) fills whole GPUs. The tables by
 * fractions bound the rate of a model with some GPUs. The best division at these bounds is tried exactly, model by
 * model. Bounds that no plan reaches are corrected, until a division holds. It is exact within the budgets of the
 * tables. It gives up after 400 divisions, or when its nodes or `stop` end it, with the bound of the last division.
 */
export function dividePositions(models: readonly ModelGrid[], goal: PositionDivisionGoal): PositionDivision {
  const tables = models.map((model) => wholeGpuTable(model, goal.available));
  const exact = models.map(() => new Map<number, readonly UsedColumn[]>());
  const needs: (Float64Array | undefined)[] = models.map(() => undefined);
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
    needs[open] ??= leastLosses(model);
    const found = searchPositions(model, gpus, {
      known,
      maxNodes: goal.maxNodes - nodes,
      stop: goal.stop,
      need: needs[open],
    });
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
