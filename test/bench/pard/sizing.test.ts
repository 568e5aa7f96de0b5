import { describe, expect, it } from 'vitest';
import { plannedRps, type SizedStage, sizedBatches, standby, workers } from '../../../bench/pard/sizing.js';
import { streamOf } from '../../../src/random/index.js';

/** A stage whose batches of up to `most` take so much and a row so much more. */
function stageOf(
  fixedMs: number,
  rowMs: number,
  more: Partial<SizedStage> & { most?: number } = {},
): SizedStage {
  const { most = 32, visits = 1, next = [] } = more;
  return { latencyMs: Array.from({ length: most }, (_, b) => fixedMs + rowMs * (b + 1)), visits, next };
}

/** pathsOf lists all ways through the stages, each from a stage that none leads to. */
function pathsOf(stages: readonly SizedStage[]): number[][] {
  const from = (i: number): number[][] => {
    const { next } = stages[i] as SizedStage;
    return next.length === 0 ? [[i]] : next.flatMap((to) => from(to).map((path) => [i, ...path]));
  };
  return stages.flatMap((_, i) => (stages.some(({ next }) => next.includes(i)) ? [] : from(i)));
}

/** everyBatch lists all choices of batches. */
function everyBatch(stages: readonly SizedStage[]): number[][] {
  return stages.reduce<number[][]>(
    (sofar, { latencyMs }) => sofar.flatMap((chosen) => latencyMs.map((_, b) => [...chosen, b + 1])),
    [[]],
  );
}

const msOf = (stages: readonly SizedStage[], batches: readonly number[], i: number): number =>
  stages[i]?.latencyMs[(batches[i] as number) - 1] as number;

const workOf = (stages: readonly SizedStage[], batches: readonly number[]): number =>
  stages.reduce(
    (sum, { visits }, i) => sum + (visits * msOf(stages, batches, i)) / (batches[i] as number),
    0,
  );

describe('sizedBatches()', () => {
  it('takes the largest batch of one stage that runs twice within the SLO', () => {
    expect(sizedBatches([stageOf(10, 5)], 100)).toEqual([8]);
    expect(sizedBatches([stageOf(10, 5)], 99.9)).toEqual([7]);
    expect(sizedBatches([stageOf(10, 5, { most: 4 })], 100)).toEqual([4]);
    expect(() => sizedBatches([stageOf(10, 5)], 29)).toThrow('no batches keep an SLO of 29 ms');
  });

  it('takes least device time of all batches that keep the SLO on every path of random DAGs', () => {
    let several = 0;
    for (let seed = 1; seed <= 60; seed++) {
      const stream = streamOf(seed, 'stages');
      const count = 2 + stream.integer(3);
      const stages = Array.from({ length: count }, (_, i) => {
        const later = Array.from({ length: count - 1 - i }, (__, k) => i + 1 + k);
        const next = later.filter(() => stream.uniform() < 0.6);
        const visits = 0.3 + stream.uniform();
        return stageOf(2 + 20 * stream.uniform(), 0.5 + 4 * stream.uniform(), { most: 7, visits, next });
      });
      const sloMs = 40 * count + 100 * stream.uniform();
      const paths = pathsOf(stages);
      if (paths.length > 1) several++;
      const kept = everyBatch(stages).filter((batches) =>
        paths.every((path) => 2 * path.reduce((sum, i) => sum + msOf(stages, batches, i), 0) <= sloMs),
      );
      const least = Math.min(...kept.map((batches) => workOf(stages, batches)));
      if (kept.length === 0) {
        expect(() => sizedBatches(stages, sloMs), `seed ${seed}`).toThrow('no batches keep');
        continue;
      }
      const found = sizedBatches(stages, sloMs);
      expect(kept, `seed ${seed}`).toContainEqual(found);
      expect(workOf(stages, found), `seed ${seed}`).toBeCloseTo(least, 9);
    }
    expect(several).toBeGreaterThan(20);
  });
});

describe('workers(), plannedRps() and standby()', () => {
  // In batches of 10, 60 ms and 30 ms: 6 ms and 1.5 ms of device time a request.
  const stages = [stageOf(10, 5, { next: [1] }), stageOf(10, 2, { visits: 0.5 })];
  const batches = [10, 10];

  it('give workers that are busy for 80 % of their time, and one at least', () => {
    expect(workers(stages, batches, { rps: 400 })).toEqual([3, 1]);
    expect(workers(stages, batches, { rps: 401 })).toEqual([4, 1]);
    expect(workers(stages, batches, { rps: 534 })).toEqual([5, 2]);
    expect(workers(stages, batches, { rps: 1 })).toEqual([1, 1]);
    expect(workers(stages, batches, { rps: 401, utilisation: 0.5 })).toEqual([5, 2]);
  });

  it('plan for the largest rate in tens whose workers are a quarter of the cluster', () => {
    // 16 of 64: 1 for each 133.3/s of the first, and for each 533.3/s of the second.
    expect(workers(stages, batches, { rps: 1600 })).toEqual([12, 3]);
    expect(workers(stages, batches, { rps: 1730 })).toEqual([13, 4]);
    expect(plannedRps(stages, batches, 64)).toBe(1600);
    expect(plannedRps(stages, batches, 68)).toBe(1730);
  });

  it('give all other GPUs to the stages in the proportion of what they need', () => {
    const replicas = [12, 3];
    const down = standby(stages, batches, { replicas, clusterGpus: 64 });
    const all = replicas.map((count, i) => count + (down[i] as number));
    expect(all.reduce((sum, count) => sum + count)).toBe(64);
    // 4 to 1 of 64 GPUs.
    expect(all.map((count, i) => Math.abs(count - ([51.2, 12.8][i] as number)) < 1)).toEqual([true, true]);
    expect(standby(stages, batches, { replicas: [1, 1], clusterGpus: 3 })).toEqual([1, 0]);
    expect(() => standby(stages, batches, { replicas: [3, 1], clusterGpus: 3 })).toThrow(
      '4 GPUs are needed at the mean rate, and there are 3',
    );
  });
});
