/**
 * This folder makes a fixed batch symbolic where the graph allows it (`batch.ts`, with its rules by operator), follows the
 * rows of a batch that is symbolic (`rows.ts`), and gives free dimensions their sizes (`dims.ts`).
 */

export { type MeasuredShapes, makeBatchSymbolic, type SymbolicBatch } from './batch.js';
export { type BatchAxis, type BatchDim, batchDim } from './batch-dim.js';
export { BATCH, bindDims, freeDims, zeroDims } from './dims.js';
export { unsentTypes } from './element-types.js';
export type { LostOutput, RowsFollowed, SeenTensor, UnknownNode } from './row-findings.js';
export { followRows } from './rows.js';
