import { DEFAULT_WORK } from '../../work.js';
import { type Candidate, consistent, isMaximised, PROVEN, planValue, tighter } from '../candidates.js';
import type { ModelGrid } from '../grid/index.js';
import { divisionOf, type GridPlan, mergedColumns } from '../grid-search/index.js';
import type { IntegerSearch } from '../search-types.js';
import { dividePositions, type PositionDivisionGoal } from './divide-positions.js';
import { searchPositions } from './positions.js';

/** A node of the search over positions is this many times cheaper than one of a MILP. */
const POSITIONS_PER_NODE = 1000;

/** PositionBounds are the plans between which positions are searched. */
interface PositionBounds {
  /** The plan whose pools take fractions of GPUs. */
  readonly upper: GridPlan;
  /** The plan whose pools fill whole GPUs. */
  readonly lower: Candidate;
  /** complete says whether the tables hold every column that can be part of a better plan. */
  readonly complete: boolean;
}

/**
 * exactPositions searches exactly for a plan, under the rule of whole GPUs per position, that is better than the plan
 * by pools, guided by the tables of fractions. It makes at most a thousand nodes per unit of work.
 * @returns the plan found, or `lower`'s if none is better; with a bound only if the columns are complete and the search
 *   proved one
 */
export function exactPositions(search: IntegerSearch, bounds: PositionBounds): Candidate {
  const { upper, lower, complete } = bounds;
  const relaxed = upper.models[0];
  const work = (search.options.work ?? DEFAULT_WORK) * POSITIONS_PER_NODE;
  if (relaxed === undefined || upper.models.length > 1 || !isMaximised(search))
    return dividedPositions(search, bounds, work);
  const known = lower.value * (search.tables[0]?.weight as number);
  const goal = { known, maxNodes: work, stop: search.stop };
  const found = searchPositions(relaxed, search.classes.available, goal);
  const nodes = Math.ceil(found.nodes / POSITIONS_PER_NODE);
  const used = found.used === undefined ? lower.used : mergedColumns(found.used);
  const value = found.used === undefined ? lower.value : planValue(search, used, 0);
  return { used, value, nodes, ...(found.exhausted && complete ? { bound: value } : {}) };
}

/** GPUs are divided by the bounds of the tables, which are corrected one after another. */
function dividedPositions(
  search: IntegerSearch,
  { upper, lower, complete }: PositionBounds,
  work: number,
): Candidate {
  const { tables, master } = search;
  const { grid } = upper.models[0] as ModelGrid;
  const maximised = isMaximised(search);
  const goal: PositionDivisionGoal = {
    available: grid.units.map((units) => units / grid.perGpu),
    maxNodes: work,
    divide: (figures) => divisionOf(search, figures, lower.value),
    isBetter: (value) =>
      maximised ? value > lower.value * (1 + PROVEN) : value < lower.value * (1 - PROVEN),
    known: lower.value,
    rps: (m) => (maximised ? undefined : (tables[m]?.rps ?? 0)),
    stop: search.stop,
  };
  const found = dividePositions(upper.models, goal);
  const nodes = Math.ceil(found.nodes / POSITIONS_PER_NODE);
  if (found.bound === undefined) return { ...lower, nodes };
  const used = found.used === undefined ? lower.used : mergedColumns(found.used);
  const value = found.used === undefined ? lower.value : planValue(search, used, found.bound);
  const bound = tighter(search, consistent(search, { bound: found.bound, value }), master.bound);
  return { used, value, nodes, ...(complete ? { bound } : {}) };
}
