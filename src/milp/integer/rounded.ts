import { gpusByClass } from '../lp/index.js';
import { type UsedColumn, usedRps } from '../plan/index.js';
import { ROUNDING, unitsFor } from '../rounding.js';
import type { ModelTable, Slot } from '../tables/index.js';
import { isMaximised } from './candidates.js';
import type { IntegerSearch } from './search-types.js';

/** gpusUsed is the number of GPUs of each class in the LP's plan, with fractions. */
export function gpusUsed({ classes, master, tables }: IntegerSearch): number[] {
  const used = classes.names.map(() => 0);
  master.columns.forEach((column, c) => {
    const rps = master.rps[c] as number;
    if (rps <= 0) return;
    const gpus = gpusByClass(column, tables[column.model] as ModelTable, used.length);
    for (let k = 0; k < used.length; k++) used[k] = (used[k] as number) + rps * (gpus[k] as number);
  });
  return used;
}

/**
 * meetsRates says whether columns in use serve every model's rate, less the part `tolerance` of it. A model without a
 * rate is always served.
 */
export function meetsRates(
  { tables }: IntegerSearch,
  used: readonly UsedColumn[],
  tolerance = ROUNDING,
): boolean {
  return tables.every(({ rps = 0 }, m) => {
    const own = used.filter(({ column }) => column.model === m);
    return own.reduce((sum, one) => sum + usedRps(one), 0) >= rps * (1 - tolerance);
  });
}

/**
 * roundedUp is the LP's plan with every pool rounded up to whole GPUs, less the whole GPUs that serve the part `served`
 * (from 0 to 1) of it already. With these it meets the rates as far as the LP does. The caller checks whether the
 * cluster has that many GPUs.
 */
export function roundedUp({ master, tables }: IntegerSearch, served = 0): UsedColumn[] {
  return master.columns.flatMap((column, c): UsedColumn[] => {
    const rps = master.rps[c] as number;
    if (rps <= 0) return [];
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
 * usefulGpus is the number of GPUs by class that are worth considering: all available ones or, for a price, as many of
 * a class as cost no more than the LP's plan rounded up, if the cluster has room for that plan and it meets the rates.
 */
export function usefulGpus(search: IntegerSearch): readonly number[] {
  const { classes } = search;
  const { available } = classes;
  if (isMaximised(search)) return available;
  const plan = roundedUp(search);
  const taken = classes.names.map(() => 0);
  for (const { column, virtualGpus } of plan)
    column.parts.forEach(({ slot }, d) => {
      const { classIndex, virtual } = (search.tables[column.model] as ModelTable).slots[slot] as Slot;
      taken[classIndex] = (taken[classIndex] as number) + (virtualGpus[d] as number) / virtual;
    });
  const there = taken.every((n, k) => n <= (available[k] as number));
  return there && meetsRates(search, plan) ? cappedBy(search, plan, available) : available;
}
