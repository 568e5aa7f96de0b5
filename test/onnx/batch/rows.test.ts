import { expect, it } from 'vitest';
import { batchDim, followRows, readModel } from '../../../src/onnx/index.js';
import { APART, rowModel } from '../row-models.js';
import * as w from '../writer.js';

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

it('followRows() leaves out a branch that no run can take, as its recurrent node is given another rank', () => {
  const branch = (nodes: readonly Uint8Array[], output: string) =>
    w.graph({ nodes, outputs: [w.message([1, output])] });
  const model = readModel(
    rowModel({
      nodes: [
        w.node('If', ['either'], ['y'], {
          attributes: [
            w.attribute.graph('then_branch', branch([w.node('GRU', ['x', 'w', 'r'], ['states'])], 'states')),
            w.attribute.graph('else_branch', branch([w.node('Neg', ['x'], ['other'])], 'other')),
          ],
        }),
      ],
      initializers: [
        w.message([2, w.BOOL], [8, 'either'], [9, Uint8Array.of(1)]),
        w.floats('w', [1, 3, 1], [1, 1, 1]),
        w.floats('r', [1, 3, 1], [1, 1, 1]),
      ],
    }),
  );
  const batch = batchDim(model);
  expect(batch.kind === 'symbolic' && followRows(model, batch)).toMatchObject({ unknown: [], lost: [] });
});
