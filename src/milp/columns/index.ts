/**
 * Columns are fully specified pooled pipelines. This folder lists and prices them.
 *
 * `columns.ts` enumerates them by blocks. `label-pricing.ts` finds the best one under given duals by layers, exactly.
 */

export { type ColumnSource, ListedColumns, type PricedColumn, roundSteps } from './column-source.js';
export {
  type Column,
  type ColumnOptions,
  type ColumnPart,
  ColumnSet,
  columnSetOf,
  columnsUsing,
  columnsWithin,
  enumerateColumns,
} from './columns.js';
export { LabelPricing } from './label-pricing.js';
export { plannedColumn } from './planned-columns.js';
