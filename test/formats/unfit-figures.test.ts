import { expect, test } from 'vitest';
import { type Profile, unfitFigures } from '../../src/formats/index.js';

/** figuresSaid reads the figures that the warnings of a profile of an earlier version call unfit. */
function figuresSaid(...warnings: string[]) {
  const devices: Profile['devices'] = Object.fromEntries(
    ['cpu', 'cpu 1/2', 'my GPU'].map((name) => [name, { blockLatencyUs: {} }]),
  );
  return unfitFigures({ devices, measurement: { warnings } }).map((one) => [
    `${one.class} ${one.virtual} ${one.batch}`,
    ...one.figures.map(({ part, block }) => (block === undefined ? part : `${part} ${block}`)),
  ]);
}

test('unfitFigures() reads from the warnings of earlier versions what later ones list', () => {
  expect(
    figuresSaid(
      'cpu 1/1 batch 4 block 10 is unfit: why',
      'cpu 1/2 batch 8 whole model is unfit: why',
      'my GPU 1/2 batch 16 pair 1–2 is unfit: why',
      'cpu 1/4 batch 2: 3 of 9 figures are unfit (whole model, block 0, pair 2–3), for example whole model: why',
      'cpu 1/2 1/1 batch 1 block 0 is unfit: why',
    ),
  ).toEqual([
    ['cpu 1 4', 'block 10'],
    ['cpu 2 8', 'whole'],
    ['my GPU 2 16', 'pair 1'],
    ['cpu 4 2', 'whole', 'block 0', 'pair 2'],
    ['cpu 1/2 1 1', 'block 0'],
  ]);
});

test('unfitFigures() finds nothing in other warnings', () => {
  expect(
    figuresSaid(
      'cpu 1/1 batch 4: what blocks and pairs say is unfitting',
      'cpus 1/1 batch 4 block 0 is unfit: why',
      'cpu 1/1 batches are unfit',
      'layers of cpu are unfit',
      'T4 1/1 batch 4 block 0 is unfit: why',
    ),
  ).toEqual([]);
});
