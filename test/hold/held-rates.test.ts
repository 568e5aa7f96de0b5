import { describe, expect, it } from 'vitest';
import { heldRates, type RateSearch } from '../../src/hold/index.js';
import { attainmentOverRuns } from '../../src/metrics/index.js';
import { streamOf } from '../../src/random/index.js';

const QUESTION: RateSearch = {
  plannedRps: [100, 40],
  startRps: [100, 40],
  attainment: [0.99, 0.9],
  precision: 0.01,
  seeds: [1, 2],
  judge: 'mean',
};

/** A model that serves `most[m]` requests/s in time and drops the others; a seed changes that by `spread`. */
function serving(most: readonly number[], spread = 0) {
  const asked: number[][] = [];
  const simulate = async (rps: readonly number[], seed: number) => {
    asked.push([...rps, seed]);
    return rps.map((rate, m) => {
      const able = (most[m] as number) * (1 + spread * (streamOf(seed, `${m}`).uniform() - 0.5));
      return rate === 0 ? { arrived: 0 } : { attainment: Math.min(1, able / rate), arrived: 1000 };
    });
  };
  return { simulate, asked };
}

describe('heldRates()', () => {
  it('ends between two rates where the caller ends it, and then says nothing', async () => {
    const seeds = [1, 2, 3, 4];
    for (const search of [QUESTION, { ...QUESTION, seeds, judge: 'lower-end' as const }]) {
      const all = serving([87, 33], 0.1);
      const found = await heldRates(all.simulate, search);
      for (const most of [0, 1, 2]) {
        const { simulate, asked } = serving([87, 33], 0.1);
        const isOver = () => asked.length >= most * search.seeds.length;
        expect(await heldRates(simulate, { ...search, isOver })).toBeUndefined();
        expect(asked.length).toBe(most * search.seeds.length);
      }
      const isOver = () => false;
      expect(await heldRates(serving([87, 33], 0.1).simulate, { ...search, isOver })).toEqual(found);
    }
  });

  it('takes few runs to a share of which many times the planned rate is held, or a small part of it', async () => {
    for (const [most, wanted] of [
      [100, 0.001],
      [9.9, 0.0999],
      [0.06, 0.01],
    ] as const) {
      const { simulate, asked } = serving([most, most]);
      const asks = { ...QUESTION, plannedRps: [100, 100], startRps: [100, 100], precision: 0.001 };
      const { heldRps } = await heldRates(simulate, { ...asks, attainment: [wanted, wanted] });
      expect(heldRps[0]! / Math.min(most / wanted, 100 / wanted)).toBeCloseTo(1, 2);
      expect(asked.length).toBeLessThan(130);
    }
  });

  it('finds twice the planned rate where half of the requests must be in time', async () => {
    const { simulate } = serving([100, 40]);
    const { heldRps } = await heldRates(simulate, { ...QUESTION, attainment: [0.5, 0.8] });
    expect(heldRps[0]).toBeCloseTo(200, 9);
    expect(heldRps[1]).toBeCloseTo(50, 9);
  });

  it('simulates no rates of which the pools cannot serve the shares for long', async () => {
    for (const [leastRps, isTried] of [
      [[101, 44.4], true],
      [[101.1, 44.4], false],
      [[101, 44.5], false],
    ] as const) {
      const { simulate, asked } = serving([1000, 1000]);
      await heldRates(simulate, { ...QUESTION, leastRps });
      expect(asked.length > 0).toBe(isTried);
    }
  });

  it('finds the largest rate of every model within the precision', async () => {
    for (const [first, second] of [
      [87, 40],
      [10, 4.1],
      [99.2, 20],
      [105, 30],
    ] as const) {
      const { simulate } = serving([first, second]);
      const { heldRps } = await heldRates(simulate, QUESTION);
      // Pools that are planned for 100 and 40 requests/s serve no share of more for long.
      const wanted = [Math.min(first, 100) / 0.99, Math.min(second, 40) / 0.9];
      heldRps.forEach((rps, m) => {
        expect(rps).toBeLessThanOrEqual((wanted[m] as number) + 1e-9);
        expect(rps).toBeGreaterThanOrEqual((wanted[m] as number) * 0.99 - 1e-9);
      });
    }
  });

  it('gives 0 to a model that is not served, and to one that holds nothing', async () => {
    const { simulate } = serving([0.1, 40]);
    const { heldRps } = await heldRates(simulate, { ...QUESTION, plannedRps: [100, 0] });
    expect(heldRps).toEqual([0, 0]);
  });

  it('ends at rates that are enough', async () => {
    const { simulate, asked } = serving([200, 200]);
    const { heldRps, requests } = await heldRates(simulate, {
      ...QUESTION,
      startRps: [60, 30],
      enoughRps: [60, 30],
    });
    expect(heldRps).toEqual([60, 30]);
    expect(asked).toEqual([
      [60, 30, 1],
      [60, 30, 2],
    ]);
    expect(requests).toBe(4000);
  });

  it('leaves out the other seeds where no model can reach its share any more', async () => {
    const { simulate, asked } = serving([90, 30]);
    await heldRates(simulate, QUESTION);
    expect(asked[0]).toEqual([100, 40, 1]);
    expect(asked[1]?.at(-1)).toBe(1);
  });

  it('asks for the lower end of the confidence interval where it is to, and for all models at once', async () => {
    const seeds = [11, 12, 13, 14, 15, 16, 17, 18];
    const { simulate, asked } = serving([90, 30], 0.04);
    const { heldRps, attainment } = await heldRates(simulate, {
      ...QUESTION,
      judge: 'lower-end',
      precision: 0.004,
      seeds,
    });
    expect(asked.at(-1)?.slice(0, 2)).toEqual(heldRps);
    expect(attainment[0]?.low).toBeGreaterThanOrEqual(0.99);
    expect(attainment[1]?.low).toBeGreaterThanOrEqual(0.9);
    const byMean = await heldRates(simulate, { ...QUESTION, precision: 0.004, seeds });
    expect(heldRps[0]).toBeLessThan(byMean.heldRps[0] as number);
  });

  it('gives up after one look at a plan that does not hold the least rates', async () => {
    const seeds = [1, 2, 3, 4, 5, 6, 7, 8];
    const least = { ...QUESTION, judge: 'lower-end' as const, seeds };
    const { simulate, asked } = serving([90, 30], 0.01);
    const lost = await heldRates(simulate, { ...least, leastRps: [80, 34] });
    expect(lost.heldRps).toEqual([0, 0]);
    // After four seeds the second model cannot reach its share any more, though the first one does.
    expect(asked).toEqual([1, 2, 3, 4].map((seed) => [80, 34, seed]));
    const more = await heldRates(simulate, { ...least, leastRps: [80, 45] });
    expect([more.heldRps, asked.length]).toEqual([[0, 0], 4]);
    const found = await heldRates(simulate, { ...least, leastRps: [80, 25] });
    expect(found.heldRps[0]).toBeGreaterThan(88);
    expect(found.heldRps[1]).toBeGreaterThan(31);
  });

  it('gives the attainment at the least rates where these are enough, and simulates no others', async () => {
    const seeds = [1, 2, 3, 4, 5, 6, 7, 8];
    const { simulate, asked } = serving([90, 30], 0.01);
    const rps = [80, 25];
    const both = { leastRps: rps, enoughRps: rps, startRps: rps };
    const { heldRps, attainment } = await heldRates(simulate, {
      ...QUESTION,
      ...both,
      seeds,
      judge: 'lower-end',
    });
    expect(heldRps).toEqual(rps);
    expect(asked).toEqual(seeds.map((seed) => [...rps, seed]));
    expect(attainment.map((one) => one?.mean)).toEqual([1, 1]);
  });

  it('finds the same rates with fewer simulations where seeds cannot matter any more', async () => {
    const seeds = [1, 2, 3, 4, 5, 6, 7, 8];
    for (const most of [60, 85, 97]) {
      const { simulate, asked } = serving([most, 0], 0.02);
      const search = {
        ...QUESTION,
        judge: 'lower-end' as const,
        precision: 0.001,
        seeds,
        plannedRps: [100, 0],
      };
      const { heldRps } = await heldRates(simulate, search);
      const held = heldRps[0] as number;
      const values = async (rps: number) =>
        Promise.all(seeds.map(async (seed) => (await simulate([rps, 0], seed))[0]?.attainment ?? 1));
      const runs = asked.length;
      expect(attainmentOverRuns(await values(held), 8000).low).toBeGreaterThanOrEqual(0.99);
      expect(attainmentOverRuns(await values(1.002 * held), 8000).low).toBeLessThan(0.99);
      // No rate is simulated twice, and rates that fail take four seeds.
      expect(new Set(asked.slice(0, runs).map(String)).size).toBe(runs);
      expect(runs).toBeLessThan(48);
    }
  });

  it('lowers rates that are held one by one and not together', async () => {
    // Each model takes a little of what the other one can serve.
    const simulate = async (rps: readonly number[]) =>
      rps.map((rate, m) => ({
        attainment: Math.min(1, (90 - 0.2 * (rps[1 - m] as number)) / rate),
        arrived: 1000,
      }));
    const { heldRps, attainment } = await heldRates(simulate, {
      ...QUESTION,
      plannedRps: [100, 100],
      startRps: [100, 20],
      attainment: [0.95, 0.95],
      judge: 'lower-end',
      seeds: [1, 2],
    });
    expect(attainment.every((figure) => (figure?.low ?? 0) >= 0.95)).toBe(true);
    const reached = await simulate(heldRps);
    expect(Math.min(...reached.map((model) => model.attainment))).toBeGreaterThanOrEqual(0.95);
  });
});
