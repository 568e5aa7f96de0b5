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

/** In each, the condition is true, by numbers that are others than before or that only a run knows. */
const CONDITIONS: Record<string, readonly Uint8Array[]> = {
  'numbers that Cast makes true': [
    w.node('Cast', ['two'], ['a'], { attributes: [w.attribute.int('to', w.BOOL)] }),
    w.node('Cast', ['one'], ['b'], { attributes: [w.attribute.int('to', w.BOOL)] }),
    w.node('Equal', ['a', 'b'], ['is']),
  ],
  'a fraction that Cast cuts off': [
    w.node('Cast', ['fraction'], ['a'], { attributes: [w.attribute.int('to', w.INT64)] }),
    w.node('Equal', ['a', 'one'], ['is']),
  ],
  'an element that is picked by the size of the batch': [
    w.node('Shape', ['x'], ['sizes']),
    w.node('Gather', ['sizes', 'zero'], ['size']),
    w.node('Gather', ['table', 'size'], ['a']),
    w.node('Equal', ['a', 'one'], ['is']),
  ],
};

it.each(Object.entries(CONDITIONS))('followRows() looks into both branches by %s', (_, nodes) => {
  const branch = (made: readonly Uint8Array[], output: string) =>
    w.graph({ nodes: made, outputs: [w.message([1, output])] });
  const overBatch = w.node('ReduceMean', ['x'], ['mean'], { attributes: [w.attribute.ints('axes', [0])] });
  const attributes = [
    w.attribute.graph('then_branch', branch([overBatch, w.node('Sub', ['x', 'mean'], ['t'])], 't')),
    w.attribute.graph('else_branch', branch([w.node('Neg', ['x'], ['e'])], 'e')),
  ];
  const model = readModel(
    rowModel({
      nodes: [...nodes, w.node('If', ['is'], ['y'], { attributes })],
      initializers: [
        w.int64s('two', [1], [2]),
        w.int64s('one', [1], [1]),
        w.int64s('zero', [1], [0]),
        w.int64s('table', [3], [0, 1, 1]),
        w.floats('fraction', [1], [1.5]),
      ],
    }),
  );
  const batch = batchDim(model);
  const { mixing, unknown } =
    batch.kind === 'symbolic' ? followRows(model, batch) : { mixing: [], unknown: [] };
  expect([...mixing, ...unknown].map(({ told }) => told).join()).toMatch(/ReduceMean/);
});
