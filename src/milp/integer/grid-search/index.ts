/**
 * This folder finds the best plan of given columns by tables, which closes most instances.
 *
 * `grid-search.ts` raises a budget of losses until the plan lies within it, which proves the plan. `grid-columns.ts`
 * chooses the columns, `model-rates.ts` makes the tables of a model, `priced-pools.ts` also looks at columns that are not
 * listed, and `bulk.ts` plans clusters that are too large for tables.
 */
export { bulkPlan } from './bulk.js';
export { type GridColumns, gridColumns } from './grid-columns.js';
export { divisionOf, type GridPlan, gridPlan, isAdditive, mergedColumns } from './grid-search.js';
export type { FillRule } from './model-rates.js';
export { pricedPools } from './priced-pools.js';
