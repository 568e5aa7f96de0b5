import { describe, expect, test } from 'vitest';
import { gpuNumber, type Placement, runsOf, seatsOf } from '../../src/formats/index.js';
import { streamOf } from '../../src/random/index.js';
import { describeInWholeRun } from '../cases.js';

function place(server: string, gpu: number, count?: number, model = 0): Placement {
  const entry = { server, gpu, class: 'A', virtual: 1, model, pipeline: 0, partition: 0 };
  return count === undefined ? entry : { ...entry, count };
}

describe('seatsOf()', () => {
  test('gives the GPUs of an entry, over the ends of servers', () => {
    const seats = [...seatsOf([place('A-1', 2, 4), place('A-0', 0)], { A: { count: 9, perServer: 3 } })];
    expect(seats.map(({ server, gpu }) => `${server}/${gpu}`)).toEqual([
      'A-1/2',
      'A-2/0',
      'A-2/1',
      'A-2/2',
      'A-0/0',
    ]);
  });

  test('keeps the name of a server where the entry is one GPU', () => {
    expect([...seatsOf([place('rack 7', 1)], {})]).toMatchObject([{ server: 'rack 7', gpu: 1 }]);
  });
});

describe('gpuNumber()', () => {
  test('counts the GPUs of a class from its first server on, and is NaN for other names', () => {
    expect(gpuNumber(place('A-2', 1), 4)).toBe(9);
    for (const server of ['A', 'A-', 'A-x', 'A--1', 'A-1.5', 'B-1', 'AA-1', 'A-1e3', 'A- 1'])
      expect(gpuNumber(place(server, 0), 1), server).toBeNaN();
  });
});

describeInWholeRun('runsOf()', () => {
  test('gives, for random entries, the entries of each GPU that a look at every entry finds', () => {
    const { uniform } = streamOf(1, 'runs');
    for (let round = 0; round < 200; round++) {
      const spanned = Array.from({ length: Math.floor(uniform() * 8) }, (_, model) => {
        const from = Math.floor(uniform() * 12);
        return { place: place('A-0', 0, 1, model), from, to: from + 1 + Math.floor(uniform() * 6) };
      });
      const runs = runsOf('A', spanned);
      for (let number = 0; number < 20; number++) {
        const wanted = spanned.filter(({ from, to }) => from <= number && number < to);
        const found = runs.filter(({ first, count }) => first <= number && number < first + count);
        expect(found).toHaveLength(wanted.length === 0 ? 0 : 1);
        const models = (places: readonly Placement[]) => places.map(({ model }) => model).sort();
        expect(models(found[0]?.places ?? [])).toEqual(models(wanted.map((one) => one.place)));
      }
      expect(runs.map(({ first }) => first)).toEqual(
        runs.map(({ first }) => first).toSorted((a, b) => a - b),
      );
    }
  });
});
