import { describe, expect, test } from 'vitest';
import {
  commonWindow,
  disagreement,
  durationsOf,
  figureOf,
  predictedOverWhole,
  sumOverWhole,
  unfitness,
} from '../../src/profiler/statistics.js';
import { DEFAULT_LIMITS } from '../../src/profiler/types.js';

describe('figureOf()', () => {
  test('gives the middle value as median and the 95th of a hundred as p95, in any order', () => {
    const values = Array.from({ length: 101 }, (_, i) => ((i * 37) % 101) + 1);
    const figure = figureOf(values);
    expect(figure.medianUs).toBe(51);
    expect(figure.p95Us).toBe(96);
    expect(figure.runs).toBe(101);
    expect(figure.spread).toBeCloseTo((76 - 26) / 51, 9);
  });
});

describe('unfitness()', () => {
  const steady = figureOf(Array.from({ length: 20 }, (_, i) => 100 + i));
  test('finds no fault with enough runs of similar length', () => {
    expect(unfitness(steady, DEFAULT_LIMITS)).toBeUndefined();
  });
  test('reports too few runs and too wide a spread at once', () => {
    const why = unfitness(figureOf([10, 20, 30, 40]), DEFAULT_LIMITS);
    expect(why).toMatch(/4 runs came within 2000 ms, 10 are wanted; .* 60 % of the median/);
  });
  test('accepts a few outliers outside the middle half', () => {
    expect(unfitness(figureOf([...Array(18).fill(100), 1000, 2000]), DEFAULT_LIMITS)).toBeUndefined();
  });
});

describe('sumOverWhole() and predictedOverWhole()', () => {
  test('compare blocks, and what blocks and pairs predict, with the whole model', () => {
    const figures = { blocks: [10, 20, 30, 40], pairs: [25, 45, 65], whole: 75 };
    expect(sumOverWhole(figures)).toBe(1.333);
    // The pairs save 5, 5 and 5 of 100.
    expect(predictedOverWhole(figures)).toBe(1.133);
    // However noisy figures are, at least half of the longest block is predicted.
    expect(predictedOverWhole({ ...figures, pairs: [5, 5, 5] })).toBe(0.267);
  });
  test('are unknown where a figure is missing', () => {
    expect(sumOverWhole({ blocks: [10, null], pairs: [], whole: 10 })).toBeUndefined();
    expect(sumOverWhole({ blocks: [], pairs: [], whole: 10 })).toBeUndefined();
    expect(predictedOverWhole({ blocks: [10, null, 10], pairs: [10, 10], whole: 10 })).toBeUndefined();
    expect(predictedOverWhole({ blocks: [10, 10, 10], pairs: [null, 10], whole: 10 })).toBeUndefined();
    expect(predictedOverWhole({ blocks: [10, 10], pairs: [], whole: 10 })).toBeUndefined();
    expect(predictedOverWhole({ blocks: [10, 10, 10], pairs: [10, 10], whole: 0 })).toBeUndefined();
  });
});

describe('disagreement()', () => {
  const three = (pairs: (number | null)[], whole: number) => ({ blocks: [9000, 1000, 9000], pairs, whole });
  test('reports by how much what is predicted is too small or too large', () => {
    expect(disagreement(three([9600, 9600], 40_000))).toMatch(/^blocks and pairs predict 0\.455 /);
    expect(disagreement(three([9600, 9600], 14_200))).toMatch(/^blocks and pairs predict 1\.282 /);
    expect(disagreement({ blocks: [3000], pairs: [], whole: 4000 })).toMatch(/predict 0\.75 /);
  });
  test('finds none within 0.8 to 1.25, for models under 2 ms, and while figures are missing', () => {
    expect(disagreement(three([9600, 9600], 22_500))).toBeUndefined();
    expect(disagreement(three([9600, 9600], 14_700))).toBeUndefined();
    expect(disagreement(three([10, 10], 1999))).toBeUndefined();
    expect(disagreement(three([10, null], 4000))).toBeUndefined();
    expect(disagreement({ blocks: [100, 100], pairs: [], whole: 4000 })).toBeUndefined();
  });
});

describe('commonWindow()', () => {
  const copy = (startNs: number, count: number, us: number, everyUs = us) => ({
    startedNs: Float64Array.from({ length: count }, (_, i) => startNs + i * everyUs * 1000),
    durationUs: new Float64Array(count).fill(us),
    executionUs: new Float64Array(count).fill(us / 2),
  });
  test('keeps the runs that lie between the last first start and the first last end', () => {
    // One copy runs from 0 to 100 µs in runs of 10 µs, the other from 35 to 75 µs in runs of 20 µs.
    const [kept] = commonWindow([[copy(0, 10, 10)], [copy(35_000, 2, 20)]]);
    const run = (us: number) => ({ durationUs: us, executionUs: us / 2 });
    expect(kept).toEqual([...new Array(3).fill(run(10)), ...new Array(2).fill(run(20))]);
  });
  test('is bounded by first starts and last ends of any part', () => {
    // Two parts of 10 and 30 µs run in turn, in one copy from 0 to 200 µs and in the other from 60 to 140 µs.
    const turns = (startNs: number, count: number) => [
      copy(startNs, count, 10, 40),
      copy(startNs + 10_000, count, 30, 40),
    ];
    const kept = commonWindow([turns(0, 5), turns(60_000, 2)]);
    // The first copy keeps 80–90 and 120–130 of one part, and 90–120 of the other. The second keeps all runs.
    expect(kept.map((runs) => runs.length)).toEqual([2 + 2, 1 + 2]);
    expect(kept.map((runs) => new Set(durationsOf(runs)))).toEqual([new Set([10]), new Set([30])]);
  });
  test('keeps all runs of a single copy, and of copies that never overlapped', () => {
    expect(commonWindow([[copy(0, 7, 10)]])[0]).toHaveLength(7);
    expect(commonWindow([[copy(0, 3, 10)], [copy(900_000, 4, 10)]])[0]).toHaveLength(7);
  });
});
