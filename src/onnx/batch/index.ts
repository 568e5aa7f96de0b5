/**
 * Axes: a fixed batch made symbolic where the graph allows it (`batch.ts` and its rules by operator), free dimensions given values (`dims.ts`).
 */

export { makeBatchSymbolic, type SymbolicBatch } from './batch.js';
export { type BatchAxis, type BatchDim, batchDim } from './batch-dim.js';
export { bindDims, freeDims, zeroDims } from './dims.js';
