import { describe, expect, test } from 'vitest';
import { randomProblem, type Shape, stream } from '../../../../bench/refute/pooled/random-problem.js';
import type { ColumnSet } from '../../../../src/milp/columns/index.js';
import { enumerateColumns } from '../../../../src/milp/columns/index.js';
import { slotSequences } from '../../../../src/milp/integer/pricing/slot-sequences.js';
import { WholeGpuPricing } from '../../../../src/milp/integer/pricing/whole-gpu-pricing.js';
import type { PooledProblem } from '../../../../src/milp/problem.js';
import { type ModelTable, modelTable, type Slot } from '../../../../src/milp/tables/index.js';
import { cases, inWholeRun, whole } from '../../../cases.js';

const SHAPE: Shape = { classes: 2, blocks: 6, batches: 2, virtual: [1, 2], models: 1, mostGpus: 4 };

/** A random problem: batches are unified or free, links are slow or not counted, and some spans were timed. */
function problemOf(seed: number): PooledProblem {
  const planner = {
    maxPartitions: 1 + (seed % 4),
    unifiedBatch: seed % 3 > 0,
    linkThroughput: seed % 2 === 0,
  };
  const random = randomProblem(seed, { ...SHAPE, ...(seed % 5 < 2 ? { timedSpans: true } : {}) }, planner);
  const cluster = { ...random.cluster, networkGbps: seed % 7 === 0 ? 0.5 : 10 };
  return { ...random, cluster };
}

/** divisions lists all ways in which the partitions of a column can have exactly these GPUs, one or more each. */
function divisions(classes: readonly number[], gpus: readonly number[]): number[][] {
  const [k, ...others] = classes;
  if (k === undefined) return gpus.every((n) => n === 0) ? [[]] : [];
  return Array.from({ length: gpus[k] as number }, (_, i) => i + 1).flatMap((n) =>
    divisions(others, gpus.with(k, (gpus[k] as number) - n)).map((rest) => [n, ...rest]),
  );
}

/** bruteForce is the highest rate of any listed column on exactly these GPUs; 0 if there is none. */
function bruteForce(set: ColumnSet, table: ModelTable, gpus: readonly number[]): number {
  let best = 0;
  for (let c = 0; c < set.count; c++) {
    const { parts } = set.column(c);
    const slots = parts.map(({ slot }) => table.slots[slot] as Slot);
    const classes = slots.map(({ classIndex }) => classIndex);
    for (const division of divisions(classes, gpus)) {
      const rates = parts.map(({ rps }, d) => rps * (slots[d] as Slot).virtual * (division[d] as number));
      best = Math.max(best, Math.min(...rates));
    }
  }
  return best;
}

describe('WholeGpuPricing', () => {
  test('finds the pipeline that serves most on given GPUs, and none above it', () => {
    let found = 0;
    for (let seed = 1; seed <= cases(whole(5, 14), 300); seed++) {
      const problem = problemOf(seed);
      const table = modelTable(problem, 0);
      const set = enumerateColumns(table, problem.planner, { limit: 1e6 }) as ColumnSet;
      const next = stream(seed);
      const prices = { gpuPrices: [100 + 900 * next(), seed % 6 === 0 ? 0 : 500 * next()], budget: Infinity };
      const sequences = slotSequences(table, problem.planner, prices) ?? [];
      const goal = { ...prices, sequences, mostWorth: Infinity, stop: () => false };
      const pricing = new WholeGpuPricing(table, problem.planner, goal);
      // Where first partitions are too many to keep, each is sought anew.
      const unkept = sequences.map((sequence) => ({ ...sequence, firstEnds: () => undefined }));
      const without = new WholeGpuPricing(table, problem.planner, { ...goal, sequences: unkept });
      for (const gpus of [
        [1, 0],
        [0, 1],
        [1, 1],
        [2, 1],
        [1, 3],
        [3, 2],
        [0, 4],
      ]) {
        const best = bruteForce(set, table, gpus);
        const worth = gpus.reduce((sum, n, k) => sum + n * (prices.gpuPrices[k] as number), 0);
        const ask = (floor: number) => pricing.bestOn(gpus, worth, floor);
        expect({ seed, gpus, above: ask(best * (1 + 1e-9)) }).toEqual({ seed, gpus, above: undefined });
        for (const part of [0, 0.5, 1 - 1e-6]) {
          const rps = ask(best * part)?.rps ?? 0;
          if (part === 0.5) expect(without.bestOn(gpus, worth, best * part)?.rps ?? 0).toBe(rps);
          expect({ seed, gpus, part, ratio: best === 0 ? rps + 1 : rps / best }).toEqual({
            seed,
            gpus,
            part,
            ratio: expect.closeTo(1, 9),
          });
        }
        if (best > 0) found++;
      }
    }
    expect(found).toBeGreaterThan(cases(whole(8, 30), 700));
  });

  inWholeRun('gives a column that meets the SLO, is listed, and serves that rate', () => {
    for (let seed = 1; seed <= cases(10, 60); seed++) {
      const problem = problemOf(seed);
      const table = modelTable(problem, 0);
      const set = enumerateColumns(table, problem.planner, { limit: 1e6 }) as ColumnSet;
      const listed = new Set(Array.from({ length: set.count }, (_, c) => keyOf(set.column(c))));
      const prices = { gpuPrices: [500, 300], budget: Infinity };
      const sequences = slotSequences(table, problem.planner, prices) ?? [];
      const goal = { ...prices, sequences, mostWorth: 1300, stop: () => false };
      const pricing = new WholeGpuPricing(table, problem.planner, goal);
      const one = pricing.bestOn([2, 1], 1300, 0);
      if (one !== undefined) expect(listed.has(keyOf(one.column))).toBe(true);
      expect(pricing.bestOn([2, 2], 1600, 0)).toBeUndefined();
    }
  });

  test('leaves out sequences that lose more than the budget, and no others', () => {
    for (let seed = 1; seed <= cases(20, 100); seed++) {
      const problem = problemOf(seed);
      const table = modelTable(problem, 0);
      const gpuPrices = [500, 300];
      const gpus = [1, 2];
      const all = slotSequences(table, problem.planner, { gpuPrices, budget: Infinity }) ?? [];
      const pricing = (sequences: typeof all) =>
        new WholeGpuPricing(table, problem.planner, {
          gpuPrices,
          sequences,
          mostWorth: Infinity,
          stop: () => false,
        });
      const best = pricing(all).bestOn(gpus, 1100, 0);
      if (best === undefined) continue;
      const budget = Math.max(0, 1100 - best.rps);
      const few = slotSequences(table, problem.planner, { gpuPrices, budget }) ?? [];
      expect(few.length).toBeLessThanOrEqual(all.length);
      expect(pricing(few).bestOn(gpus, 1100, best.rps * (1 - 1e-9))?.rps).toBeCloseTo(best.rps, 6);
    }
  });

  test('stops when it is told to', () => {
    const problem = problemOf(1);
    const table = modelTable(problem, 0);
    const prices = { gpuPrices: [500, 300], budget: Infinity };
    const sequences = slotSequences(table, problem.planner, prices) ?? [];
    let asked = 0;
    const stop = () => ++asked > 0;
    const goal = { ...prices, sequences, mostWorth: Infinity, stop };
    const pricing = new WholeGpuPricing(table, problem.planner, goal);
    for (let i = 0; i < 1e6 && !pricing.stopped; i++) pricing.bestOn([4, 4], 3200, 0);
    expect({ asked, stopped: pricing.stopped }).toEqual({ asked: 1, stopped: true });
  });
});

function keyOf({ parts }: ReturnType<ColumnSet['column']>): string {
  return JSON.stringify(parts.map(({ first, end, slot, batch }) => [first, end, slot, batch]));
}
