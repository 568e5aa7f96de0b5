import { type UsedColumn, usedRps } from '../../plan/index.js';
import { unitsFor } from '../../rounding.js';
import type { ModelTable, Slot } from '../../tables/index.js';
import type { IntegerSearch } from '../search-types.js';

/**
 * withoutSpare takes what each model is served beyond its rate from its dearest pipelines. The plan that is left meets
 * the rates that the given one met, on no more GPUs. It knows no minimum shares.
 */
export function withoutSpare(search: IntegerSearch, used: readonly UsedColumn[]): UsedColumn[] {
  const { tables } = search;
  return tables.flatMap((table, m) => {
    const own = used.filter(({ column }) => column.model === m);
    const dearest = [...own].sort((a, b) => pricePerRps(search, b) - pricePerRps(search, a));
    let spare = own.reduce((sum, one) => sum + usedRps(one), 0) - (table.rps ?? 0);
    return dearest.flatMap((one): UsedColumn[] => {
      const before = usedRps(one);
      if (spare <= 0) return [one];
      const less = servingOnly(search, one, before - spare);
      spare -= less === undefined ? before : before - usedRps(less);
      return less === undefined ? [] : [less];
    });
  });
}

/** servingOnly keeps the virtual GPUs that serve a rate, in whole GPUs where they were whole; nothing for no rate. */
function servingOnly({ tables }: IntegerSearch, one: UsedColumn, rps: number): UsedColumn | undefined {
  if (rps <= 0) return undefined;
  const table = tables[one.column.model] as ModelTable;
  const virtualGpus = one.column.parts.map(({ slot, rps: each }, d) => {
    const { virtual } = table.slots[slot] as Slot;
    const step = (one.virtualGpus[d] as number) % virtual === 0 ? virtual : 1;
    return unitsFor(rps, each * step) * step;
  });
  return { column: one.column, virtualGpus };
}

function pricePerRps({ classes, tables }: IntegerSearch, { column }: UsedColumn): number {
  return column.parts.reduce((sum, { slot, rps }) => {
    const { classIndex, virtual } = (tables[column.model] as ModelTable).slots[slot] as Slot;
    return sum + (classes.unitCost[classIndex] as number) / (rps * virtual);
  }, 0);
}
