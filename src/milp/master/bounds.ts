import type { ObjectiveKind } from '../../formats/index.js';
import type { HighsEngine } from '../../lp/index.js';
import { SLACK } from '../rounding.js';
import type { ClassTable } from '../tables/index.js';
import { type MasterOptions, type MasterProblem, type MasterResult, solveMaster } from './master.js';
import type { MasterGoal } from './master-rows.js';

/** BoundedProblem is an LP over columns whose goal follows from the objective of the plan. */
export interface BoundedProblem extends Omit<MasterProblem, 'goal'> {
  readonly objective: ObjectiveKind;
}

/**
 * lpBounds solves the LP that bounds all plans, which is the last of its results. For cost and power, another LP first
 * says whether the rates can be met at all: its bound is below 1 by more than rounding if they cannot, and then it is
 * the last one too.
 */
export function lpBounds(
  engine: HighsEngine,
  { classes, tables, sources, objective }: BoundedProblem,
  options: MasterOptions,
): readonly MasterResult[] {
  // This LP maximises the rates, whatever they cost.
  const free: ClassTable = { ...classes, unitCost: classes.names.map(() => 0) };
  const solve = (goal: MasterGoal, start: MasterOptions['start'] = []) =>
    solveMaster(
      engine,
      { classes: goal.kind === 'price' ? classes : free, tables, sources, goal },
      { ...options, start },
    );
  if (objective === 'throughput')
    return [solve({ kind: 'throughput', weights: tables.map(({ weight }) => weight) }, options.start)];
  const rps = tables.map((table) => table.rps ?? 0);
  const reach = solve({ kind: 'throughput', weights: rps, enough: 1 }, options.start);
  return reach.bound < 1 - SLACK ? [reach, reach] : [reach, solve({ kind: 'price', rps }, reach.columns)];
}
