/**
 * This room holds what the models of a family say of labelled samples.
 *
 * It takes the text of a CSV file with a line per sample and model, and gives the records as columns, or every fault of
 * the text; and it says how well the certainty of each model tells right answers from wrong ones. It reads no files and
 * runs no models. Start reading at `records.ts`.
 */
export { certaintyOf, predictionOf } from './certainty.js';
export { type CertaintyQuality, certaintyQuality } from './certainty-quality.js';
export { classLimitOf } from './class-limit.js';
export { type FamilyRecords, MOST_RECORD_BYTES, recordsOf } from './records.js';
