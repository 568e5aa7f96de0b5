import { smallestOf } from '../../collections/index.js';
import { ROUNDING } from '../rounding.js';
import type { ModelTable } from '../tables/index.js';
import { type UsedColumn, usedRps } from './plan-model.js';

/** A solver's rates may violate its rows by this part. */
const TOLERANCE = 1e-6;

/** Classes with minimum shares affect one another, so shares are corrected several times. */
const ROUNDS = 8;

/**
 * settledShares corrects a solver's rates for its tolerance, only of models with a minimum share. It lowers columns
 * that do not use the class until the columns that do serve their share exactly. Then one factor scales all columns of
 * the model so that none exceeds what its GPUs serve: it raises rates by at most a part in 10⁶, and may lower them.
 * All other columns stay as they are.
 */
export function settledShares(
  used: readonly UsedColumn[],
  tables: readonly ModelTable[],
): readonly UsedColumn[] {
  const rates = used.map(({ rps }) => rps);
  for (const table of tables) {
    if (table.minShare.every((share) => share === 0)) continue;
    const own = [...used.keys()].filter((i) => used[i]?.column.model === table.index);
    keepShares(used, table, own, rates);
    const room = own.flatMap((i) => {
      const { column, virtualGpus } = used[i] as UsedColumn;
      const rps = rates[i] ?? 0;
      return rps > 0 ? [usedRps({ column, virtualGpus }) / rps] : [];
    });
    const more = Math.min(1 + TOLERANCE, smallestOf(room));
    for (const i of own) rates[i] = (rates[i] ?? 0) * more;
  }
  return used.map((one, i) => {
    const rps = rates[i];
    return rps === undefined ? one : { ...one, rps };
  });
}

/** Columns without a class are held back until the columns with it serve their share. */
function keepShares(
  used: readonly UsedColumn[],
  table: ModelTable,
  own: readonly number[],
  rates: (number | undefined)[],
): void {
  for (let round = 0; round < ROUNDS; round++)
    table.minShare.forEach((share, k) => {
      const uses = (i: number) =>
        used[i]?.column.parts.some(({ slot }) => table.slots[slot]?.classIndex === k) === true;
      const others = own.filter((i) => !uses(i));
      const sum = (list: readonly number[]) => list.reduce((total, i) => total + (rates[i] ?? 0), 0);
      const most = share > 0 ? (sum(own.filter(uses)) * (1 - share)) / share : Infinity;
      const waiting = sum(others);
      if (waiting <= most) return;
      for (const i of others) rates[i] = (rates[i] ?? 0) * (most / waiting) * (1 - ROUNDING);
    });
}
