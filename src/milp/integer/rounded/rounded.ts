import { roundSteps } from '../../columns/index.js';
import { gpusByClass, type MasterGoal, solveMaster } from '../../master/index.js';
import type { UsedColumn } from '../../plan/index.js';
import { SLACK, unitsFor } from '../../rounding.js';
import type { ModelTable, Slot } from '../../tables/index.js';
import { isMaximised, meetsRates } from '../candidates.js';
import type { IntegerSearch } from '../search-types.js';
import { withoutSpare } from './spare.js';

/** Rounding up an LP that leaves room may take other pools than before, and so more room, up to this many times. */
const MOST_ROOMS = 5;

/** gpusUsed is the number of GPUs of each class in the LP's plan, with fractions. */
export function gpusUsed({ classes, master, tables }: IntegerSearch): number[] {
  const used = classes.names.map(() => 0);
  master.columns.forEach((column, c) => {
    const rps = master.rps[c] as number;
    if (!(rps > 0)) return;
    const gpus = gpusByClass(column, tables[column.model] as ModelTable, used.length);
    for (let k = 0; k < used.length; k++) used[k] = (used[k] as number) + rps * (gpus[k] as number);
  });
  return used;
}

/**
 * roundedUp is the LP's plan with every pool rounded up to whole GPUs, less the whole GPUs that serve the part `served`
 * (from 0 to 1) of it already. With these it meets the rates as far as the LP does. The caller checks whether the
 * cluster has that many GPUs.
 */
export function roundedUp({ master, tables }: IntegerSearch, served = 0): UsedColumn[] {
  return master.columns.flatMap((column, c): UsedColumn[] => {
    const rps = master.rps[c] as number;
    if (!(rps > 0)) return [];
    const table = tables[column.model] as ModelTable;
    const virtualGpus = column.parts.map(({ slot, rps: each }) => {
      const { virtual } = table.slots[slot] as Slot;
      const whole = Math.floor((served * rps) / (each * virtual));
      return (unitsFor(rps, each * virtual) - whole) * virtual;
    });
    return [{ column, virtualGpus }];
  });
}

/** priceOf is the price of the GPUs that columns in use take, if each partition's are rounded up to whole ones. */
export function priceOf({ classes, tables }: IntegerSearch, used: readonly UsedColumn[]): number {
  return used.reduce(
    (sum, { column, virtualGpus }) =>
      sum +
      column.parts.reduce((own, { slot }, d) => {
        const { classIndex, virtual } = (tables[column.model] as ModelTable).slots[slot] as Slot;
        const gpus = Math.ceil((virtualGpus[d] as number) / virtual);
        return own + gpus * (classes.unitCost[classIndex] as number);
      }, 0),
    0,
  );
}

/**
 * priceByRule is the price of the whole GPUs that columns in use fill together, as `wholeGpusPer` says. Parts of GPUs
 * of unlike sizes that add up to whole ones count as these, whether or not they fit side by side.
 */
export function priceByRule(search: IntegerSearch, used: readonly UsedColumn[]): number {
  const { classes, tables, problem } = search;
  const { wholeGpusPer, virtualPer } = problem.planner;
  if (wholeGpusPer === 'pool') return priceOf(search, used);
  const groups = new Map<string, { each: number; gpus: number }>();
  for (const { column, virtualGpus } of used)
    column.parts.forEach(({ slot }, d) => {
      const { classIndex, virtual } = (tables[column.model] as ModelTable).slots[slot] as Slot;
      const who = wholeGpusPer === 'position' ? `${column.model} ${d}` : '';
      const key = `${who} ${classIndex} ${virtualPer === 'server' ? virtual : ''}`;
      const gpus = (groups.get(key)?.gpus ?? 0) + (virtualGpus[d] as number) / virtual;
      groups.set(key, { each: classes.unitCost[classIndex] as number, gpus });
    });
  return [...groups.values()].reduce((sum, { each, gpus }) => sum + each * Math.ceil(gpus - SLACK), 0);
}

/**
 * cappedBy is the number of GPUs of each class, taken alone, that cost no more than a plan, and at most those
 * available. A class whose GPUs cost nothing keeps all.
 */
export function cappedBy(
  search: IntegerSearch,
  plan: readonly UsedColumn[],
  available: readonly number[],
): number[] {
  const price = priceOf(search, plan) * (1 + 1e-9);
  return available.map((n, k) => {
    const each = search.classes.unitCost[k] as number;
    return each > 0 ? Math.min(n, Math.floor(price / each)) : n;
  });
}

/**
 * roundedPlan is the LP's plan with every pool rounded up to whole GPUs, or undefined if the cluster has no room for it
 * or it misses a rate.
 */
export function roundedPlan(search: IntegerSearch): UsedColumn[] | undefined {
  const plan = roundedUp(search);
  const there = gpusTaken(search, plan).every((n, k) => n <= (search.classes.available[k] as number));
  return there && meetsRates(search, plan) ? plan : undefined;
}

/** gpusTaken is the number of GPUs of each class that columns in use take, with fractions. */
function gpusTaken({ classes, tables }: IntegerSearch, used: readonly UsedColumn[]): number[] {
  const taken = classes.names.map(() => 0);
  for (const { column, virtualGpus } of used)
    column.parts.forEach(({ slot }, d) => {
      const { classIndex, virtual } = (tables[column.model] as ModelTable).slots[slot] as Slot;
      taken[classIndex] = (taken[classIndex] as number) + (virtualGpus[d] as number) / virtual;
    });
  return taken;
}

/**
 * roundedWithRoom is the plan of an LP that leaves each class as many GPUs as rounding up took too many, rounded up. It
 * is undefined if such an LP cannot meet the rates.
 */
export function roundedWithRoom(search: IntegerSearch): UsedColumn[] | undefined {
  const { classes, tables, sources, options } = search;
  const goal: MasterGoal = { kind: 'price', rps: tables.map(({ rps = 0 }) => rps) };
  const made = roundSteps(sources);
  let tight = search;
  let available = classes.available;
  for (let tries = 0; tries < MOST_ROOMS; tries++) {
    const plan = roundedUp(tight);
    if (!meetsRates(search, plan)) return undefined;
    const taken = gpusTaken(search, plan);
    if (taken.every((n, k) => n <= (classes.available[k] as number))) return withoutSpare(search, plan);
    available = available.map((n, k) =>
      Math.max(0, n - Math.max(0, (taken[k] as number) - (classes.available[k] as number))),
    );
    const master = solveMaster(
      options.highs,
      { classes: { ...classes, available }, tables, sources, goal },
      { start: tight.master.columns, stop: () => search.stop(made) },
    );
    tight = { ...search, master };
  }
  return undefined;
}

/**
 * usefulGpus is the number of GPUs by class that are worth considering: all available ones or, for a price, as many of
 * a class as cost no more than the LP's plan rounded up, if that is a plan.
 */
export function usefulGpus(search: IntegerSearch): readonly number[] {
  const { available } = search.classes;
  if (isMaximised(search)) return available;
  const plan = roundedPlan(search);
  return plan === undefined ? available : cappedBy(search, plan, available);
}
