import type { Column } from '../columns/index.js';
import type { Scale } from '../tables/index.js';
import type { UsedColumn } from './plan-model.js';

/** inSpecUnits converts a plan's columns to the units of the spec. */
export function inSpecUnits(used: readonly UsedColumn[], { rps }: Scale): UsedColumn[] {
  return used.map((one) => {
    const unit = rps[one.column.model] as number;
    const column: Column = {
      ...one.column,
      parts: one.column.parts.map((part) => ({ ...part, rps: part.rps * unit })),
      latencyUs: one.column.latencyUs / unit,
    };
    return { ...one, column, ...(one.rps === undefined ? {} : { rps: one.rps * unit }) };
  });
}
