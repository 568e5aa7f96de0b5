import type { Column } from '../columns/index.js';
import type { Scale } from '../tables/index.js';
import type { UsedColumn } from './plan-model.js';

/**
 * inSpecUnits converts a plan's columns from the search's units to those of the spec: it multiplies rates by the unit
 * of their model and divides latencies by it. This is exact, because units are powers of two.
 */
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
