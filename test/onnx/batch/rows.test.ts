import { expect, it } from 'vitest';
import { batchDim, followRows, readModel } from '../../../src/onnx/index.js';
import { APART, rowModel } from '../row-models.js';

/** These are decided by runs, as no rule follows them. */
const BY_RUNS = new Set([
  'an element of each row, by row numbers',
  'a column that is replaced, by places made of sizes',
  'row numbers counted by NonZero',
  'rows reversed by one length',
]);

it.each(Object.entries(APART))('followRows() needs no runs where rules know every node: %s', (name, made) => {
  const model = readModel(rowModel(made));
  const batch = batchDim(model);
  if (batch.kind !== 'symbolic') throw new Error('the batch is a symbol in all of these');
  const { mixing, lost, unknown } = followRows(model, batch);
  expect(mixing).toEqual([]);
  expect(unknown.length > 0 && lost.length > 0).toBe(BY_RUNS.has(name));
});
