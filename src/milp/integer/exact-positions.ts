import { DEFAULT_WORK } from '../options.js';
import { type Candidate, isMaximised, PROVEN, planValue, tighter, tighterOf } from './candidates.js';
import { dividePositions, type PositionGoal } from './divide-positions.js';
import type { ModelGrid } from './grid.js';
import { divisionOf, excessRps, type GridPlan } from './grid-search.js';
import { searchPositions } from './positions.js';
import { type IntegerSearch, isStopped } from './search-types.js';

/** A node of the search over positions is that much cheaper than one of a MILP. */
const POSITIONS_PER_NODE = 1000;

/** Between the plan by pools and the bound by fractions: the exact search, as far as the work allowed goes. */
export function exactPositions(
  search: IntegerSearch,
  upper: GridPlan,
  lower: Candidate,
  complete: boolean,
): Candidate {
  const relaxed = upper.models[0];
  const work = (search.options.work ?? DEFAULT_WORK) * POSITIONS_PER_NODE;
  if (relaxed === undefined || upper.models.length > 1 || !isMaximised(search))
    return dividedPositions(search, upper, lower, complete, work);
  const budget = excessRps(search, lower.value);
  const found = searchPositions(relaxed, search.classes.available, budget, work, () => isStopped(search));
  const nodes = Math.ceil(found.nodes / POSITIONS_PER_NODE);
  const used = found.used ?? lower.used;
  const value = found.used === undefined ? lower.value : planValue(search, found.used, 0);
  return { used, value, nodes, ...(found.exhausted && complete ? { bound: value } : {}) };
}

/** Divisions of the GPUs at the tables' figures, put right one after another. */
function dividedPositions(
  search: IntegerSearch,
  upper: GridPlan,
  lower: Candidate,
  complete: boolean,
  work: number,
): Candidate {
  const { problem, master } = search;
  const { grid } = upper.models[0] as ModelGrid;
  const available = grid.units.map((units) => units / grid.perGpu);
  const maximised = isMaximised(search);
  const goal: PositionGoal = {
    divide: (tables) => divisionOf(search, tables, lower.value),
    isBetter: (value) =>
      maximised ? value > lower.value * (1 + PROVEN) : value < lower.value * (1 - PROVEN),
    known: lower.value,
    rps: (m) => (maximised ? undefined : (problem.models[m]?.rps ?? 0)),
    stop: () => isStopped(search),
  };
  const found = dividePositions(upper.models, available, goal, work);
  const used = found.used ?? lower.used;
  const value = found.used === undefined ? lower.value : planValue(search, found.used, found.bound);
  const nodes = Math.ceil(found.nodes / POSITIONS_PER_NODE);
  const bound = tighter(search, tighterOf(search, found.bound, value), master.bound);
  return { used, value, nodes, ...(complete ? { bound } : {}) };
}
