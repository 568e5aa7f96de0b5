import { describe, expect, test } from 'vitest';
import { stream } from '../../../../bench/refute/pooled/random-problem.js';
import { divideByPrice } from '../../../../src/milp/integer/division/divide-by-price.js';
import { divideByWeight } from '../../../../src/milp/integer/division/divide-by-weight.js';
import type { WholeGpuTable } from '../../../../src/milp/integer/grid/whole-gpus.js';
import { cases } from '../../../cases.js';

/** A table whose figures never fall when a class has more GPUs. */
function randomTable(next: () => number, counts: readonly number[], worth: readonly number[]): WholeGpuTable {
  const strides = counts.map((_, k) => counts.slice(k + 1).reduce((product, n) => product * (n + 1), 1));
  const states = counts.reduce((product, n) => product * (n + 1), 1);
  const rps = new Float64Array(states);
  const amount = (u: number, k: number) =>
    Math.floor(u / (strides[k] as number)) % ((counts[k] as number) + 1);
  for (let u = 1; u < states; u++) {
    const most = counts.reduce((sum, _, k) => sum + amount(u, k) * (worth[k] as number), 0);
    // At most what the GPUs are worth, since no column is cheaper than its model's price.
    let best = next() < 0.3 ? 0 : most * (0.6 + 0.4 * next());
    counts.forEach((_, k) => {
      if (amount(u, k) > 0) best = Math.max(best, rps[u - (strides[k] as number)] as number);
    });
    rps[u] = best;
  }
  return { counts, strides, states, rps, at: Int32Array.from({ length: states }, (_, u) => u) };
}

interface Case {
  readonly tables: readonly WholeGpuTable[];
  readonly worth: readonly number[];
  readonly weights: readonly number[];
  readonly counts: readonly number[];
}

function randomCase(seed: number): Case {
  const next = stream(seed);
  const counts = Array.from({ length: 1 + (seed % 3) }, () => 1 + Math.floor(4 * next()));
  const worth = counts.map(() => 0.5 + next());
  const models = 1 + Math.floor(3 * next());
  const tables = Array.from({ length: models }, () => randomTable(next, counts, worth));
  return { tables, worth, weights: tables.map(() => 0.5 + next()), counts };
}

/** Every possible division: a state per model, together within the counts. */
function* divisions({ tables, counts }: Case): Generator<number[]> {
  const { strides, states } = tables[0] as WholeGpuTable;
  const amounts = (u: number) =>
    strides.map((stride, k) => Math.floor(u / stride) % ((counts[k] as number) + 1));
  const given: number[] = [];
  function* give(m: number, left: readonly number[]): Generator<number[]> {
    if (m === tables.length) {
      yield [...given];
      return;
    }
    for (let u = 0; u < states; u++) {
      const taken = amounts(u);
      if (taken.some((n, k) => n > (left[k] as number))) continue;
      given.push(u);
      yield* give(
        m + 1,
        left.map((n, k) => n - (taken[k] as number)),
      );
      given.pop();
    }
  }
  yield* give(0, counts);
}

function ratesOf({ tables }: Case, states: readonly number[]): number[] {
  return states.map((u, m) => tables[m]?.rps[u] as number);
}

describe('divideByWeight()', () => {
  test('finds the largest least throughput/weight, and then the largest sum, on random tables', () => {
    for (let seed = 1; seed <= cases(25, 150); seed++) {
      const one = randomCase(seed);
      // The unit of each model's table is given for the sum. Without units, all tables count in the same one.
      const next = stream(seed + 5000);
      const unitRps = one.tables.map(() => (seed % 2 === 0 ? 1 : 2 ** Math.floor(8 * next() - 4)));
      const sumOf = (rates: readonly number[]) =>
        rates.reduce((total, rps, m) => total + rps * (unitRps[m] as number), 0);
      let [least, sum] = [-1, -1];
      for (const states of divisions(one)) {
        const rates = ratesOf(one, states);
        const own = Math.min(...rates.map((rps, m) => rps / (one.weights[m] as number)));
        const all = sumOf(rates);
        if (own > least + 1e-12 || (own > least - 1e-12 && all > sum)) [least, sum] = [own, all];
      }
      const worth = { perUnit: one.worth, perModel: one.tables.map(() => 1) };
      const bound =
        one.counts.reduce((total, n, k) => total + n * (one.worth[k] as number), 0) /
        one.weights.reduce((total, weight) => total + weight, 0);
      const base = one.tables.map(() => 0);
      const units = seed % 2 === 0 ? {} : { unitRps };
      const goal = { weights: one.weights, bound, base, ...units };
      // The answer is the same with and without a known lower bound and its prices.
      for (const more of [{}, { least: least * (1 - 1e-9), worth }]) {
        const found = divideByWeight(one.tables, { ...goal, ...more });
        expect({ seed, value: found?.value }).toEqual({ seed, value: expect.closeTo(least, 9) });
        const total = sumOf(ratesOf(one, found?.states ?? []));
        expect({ seed, total }).toEqual({ seed, total: expect.closeTo(sum, 9) });
      }
      if (least > 0)
        expect(divideByWeight(one.tables, { ...goal, least: least * 1.001, worth })?.value).toBe(-Infinity);
    }
  });
});

describe('divideByWeight() where models are already served in part', () => {
  test('adds the rates that models already have, and gives a model of weight 0 the rest', () => {
    for (let seed = 1; seed <= cases(12, 60); seed++) {
      const one = randomCase(seed);
      const next = stream(seed + 9000);
      const base = one.tables.map(() => next());
      const weights = one.weights.map((weight, m) => (m > 0 && seed % 3 === 0 ? 0 : weight));
      let least = -1;
      for (const states of divisions(one)) {
        const ratios = ratesOf(one, states).flatMap((rps, m) => {
          const weight = weights[m] as number;
          return weight > 0 ? [(rps + (base[m] as number)) / weight] : [];
        });
        least = Math.max(least, Math.min(...ratios));
      }
      const found = divideByWeight(one.tables, { weights, bound: 1000, base });
      expect({ seed, value: found?.value }).toEqual({ seed, value: expect.closeTo(least, 9) });
      const given = divisions({ ...one, tables: one.tables });
      expect([...given]).toContainEqual(found?.states);
    }
  });
});

describe('divideByPrice()', () => {
  test('finds the cheapest whole GPUs that meet the rates, on random tables in parts of GPUs', () => {
    for (let seed = 1; seed <= cases(25, 150); seed++) {
      const perGpu = 1 + (seed % 2);
      const one = randomCase(seed);
      const counts = one.counts.map((n) => n - (n % perGpu));
      if (counts.some((n) => n === 0)) continue;
      const next = stream(seed + 1000);
      const tables = one.tables.map(() => randomTable(next, counts, one.worth));
      // In every third case, a figure of the table itself is just enough, but for rounding.
      const rps = tables.map((table) =>
        seed % 3 === 0
          ? (table.rps[Math.floor(table.states * next())] as number) * (1 + 4e-13)
          : (table.rps.at(-1) as number) * (0.2 + 0.5 * next()),
      );
      const unitCost = counts.map(() => 0.3 + next());
      let cheapest = Infinity;
      const { strides } = tables[0] as WholeGpuTable;
      for (const states of divisions({ ...one, tables, counts })) {
        if (states.some((u, m) => (tables[m]?.rps[u] as number) < (rps[m] as number) * (1 - 1e-12))) continue;
        const price = strides.reduce((sum, stride, k) => {
          const units = states.reduce(
            (all, u) => all + (Math.floor(u / stride) % ((counts[k] as number) + 1)),
            0,
          );
          return sum + Math.ceil(units / perGpu) * (unitCost[k] as number);
        }, 0);
        cheapest = Math.min(cheapest, price);
      }
      const found = divideByPrice(tables, { rps, unitCost, perGpu });
      expect({ seed, value: found?.value }).toEqual({
        seed,
        value: cheapest === Infinity ? Infinity : expect.closeTo(cheapest, 9),
      });
    }
  });
});
