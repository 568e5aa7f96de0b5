import { describe, expect, test } from 'vitest';
import { meetsRates } from '../../../../src/milp/integer/candidates.js';
import {
  cappedBy,
  gpusUsed,
  priceByRule,
  priceOf,
  roundedUp,
  usefulGpus,
} from '../../../../src/milp/integer/rounded/rounded.js';
import { withoutSpare } from '../../../../src/milp/integer/rounded/spare.js';
import type { IntegerSearch } from '../../../../src/milp/integer/search-types.js';
import type { UsedColumn } from '../../../../src/milp/plan/plan-model.js';
import { classesOf, modelTable } from '../../../../src/milp/tables/tables.js';
import { problemByHand } from '../../by-hand.js';

/** Slot 0 is A, slot 1 a half of A, and slot 2 is B. */
const LATENCY_US = {
  A: { 1: { 1: [500, 500] }, 2: { 1: [1000, 1000] } },
  B: { 1: { 1: [2000, 2000] } },
};

/** Serves 1000 requests per second with a GPU of A. */
const WHOLE = { model: 0, parts: [{ first: 0, end: 2, slot: 0, batch: 0, rps: 1000 }], latencyUs: 1000 };

/** Serves 1000 requests per second with a half of A, and 500 with a GPU of B. */
const CUT = {
  model: 0,
  parts: [
    { first: 0, end: 1, slot: 1, batch: 0, rps: 1000 },
    { first: 1, end: 2, slot: 2, batch: 0, rps: 500 },
  ],
  latencyUs: 3000,
};

/** The same with half of the cut on the model after it. */
const OTHER = { ...WHOLE, model: 1 };

function searchFor(
  rates: readonly [whole: number, cut: number, other: number],
  { rps = [2600, 100], objective = 'cost' as const, counts = [5, 9] } = {},
): IntegerSearch {
  const devices = {
    A: { count: counts[0] as number, virtual: [1, 2], hourlyCost: 3 },
    B: { count: counts[1] as number, hourlyCost: 2 },
  };
  const models = rps.map((rate, m) => ({ name: `m${m}`, sloMs: 99, rps: rate, latencyUs: LATENCY_US }));
  const problem = problemByHand(devices, models, { objective });
  const tables = problem.models.map((_, m) => modelTable(problem, m));
  const master = { columns: [WHOLE, CUT, OTHER], rps: rates };
  return { problem, classes: classesOf(problem), tables, master } as unknown as IntegerSearch;
}

const plan = (whole: number, cut: readonly number[], other = 1): UsedColumn[] => [
  { column: WHOLE, virtualGpus: [whole] },
  { column: CUT, virtualGpus: cut },
  { column: OTHER, virtualGpus: [other] },
];

describe('gpusUsed()', () => {
  test('sums the parts of GPUs that columns take, and leaves out those that serve nothing', () => {
    // 1.5 of A for the whole model, 0.6 of A and 2.4 of B for the cut one, and 0.1 of A for the other model.
    const used = gpusUsed(searchFor([1500, 1200, 100]));
    expect(used).toEqual([expect.closeTo(2.2, 12), expect.closeTo(2.4, 12)]);
    expect(gpusUsed(searchFor([1500, 0, -1e-9]))).toEqual([expect.closeTo(1.5, 12), 0]);
  });
});

describe('meetsRates()', () => {
  test('asks that every model is served with its rate, except for rounding', () => {
    const search = searchFor([0, 0, 0]);
    expect(meetsRates(search, plan(2, [1, 2]))).toBe(true);
    expect(meetsRates(search, plan(2, [1, 1]))).toBe(false);
    expect(meetsRates(search, plan(2, [1, 2]).slice(0, 2))).toBe(false);
    const exact = searchFor([0, 0, 0], { rps: [3000 * (1 + 5e-13), 1000] });
    expect(meetsRates(exact, plan(2, [1, 2]))).toBe(true);
    const above = searchFor([0, 0, 0], { rps: [3000 * (1 + 5e-7), 1000] });
    expect(meetsRates(above, plan(2, [1, 2]))).toBe(false);
    expect(meetsRates(above, plan(2, [1, 2]), 1e-6)).toBe(true);
  });
});

describe('roundedUp()', () => {
  test('gives every pool whole GPUs for its rate', () => {
    // The cut column needs 0.6 of A, two halves of one GPU, and 2.4 of B.
    expect(roundedUp(searchFor([1500, 1200, 0]))).toEqual(plan(2, [2, 3]).slice(0, 2));
    expect(roundedUp(searchFor([1000, 0, 1]))).toEqual([
      { column: WHOLE, virtualGpus: [1] },
      { column: OTHER, virtualGpus: [1] },
    ]);
  });

  test('leaves out the whole GPUs of a part that is served already', () => {
    // Three quarters of 3500 and of 2000: two of three and a half GPUs of A, and three of four of B.
    const rest = roundedUp(searchFor([3500, 2000, 0]), 0.75);
    expect(rest).toEqual([
      { column: WHOLE, virtualGpus: [4 - 2] },
      { column: CUT, virtualGpus: [2, 4 - 3] },
    ]);
  });
});

describe('priceOf()', () => {
  test('counts the whole GPUs of every pool', () => {
    const search = searchFor([0, 0, 0]);
    expect(priceOf(search, plan(2, [2, 3]))).toBe(2 * 3 + 3 + 3 * 2 + 3);
    expect(priceOf(search, plan(2, [3, 3]))).toBe(2 * 3 + 2 * 3 + 3 * 2 + 3);
  });
});

describe('priceByRule()', () => {
  test('counts the GPUs that positions and classes fill together', () => {
    const of = (wholeGpusPer: 'pool' | 'position' | 'class', used: readonly UsedColumn[]) => {
      const { problem, ...rest } = searchFor([0, 0, 0]);
      const planner = { ...problem.planner, wholeGpusPer };
      return priceByRule({ ...rest, problem: { ...problem, planner } }, used);
    };
    // Two columns have a half of A each at the first position, one of them behind a whole GPU of A.
    const halves = { ...CUT, latencyUs: 1 };
    const used = [...plan(1, [1, 2]), { column: halves, virtualGpus: [1, 2] }];
    expect(of('pool', used)).toBe(3 + (3 + 4) + 3 + (3 + 4));
    expect(of('position', used)).toBe(2 * 3 + 8 + 3);
    expect(of('class', [...plan(1, [1, 2]), { column: { ...CUT, model: 1 }, virtualGpus: [1, 2] }])).toBe(
      9 + 8,
    );
  });
});

describe('withoutSpare()', () => {
  test('takes what is served beyond the rates from the dearest pipelines, in whole GPUs where these were whole', () => {
    // The cut model costs 5.5 per 1000 requests per second, and the whole one 3. The first rate is 2600.
    const search = searchFor([0, 0, 0]);
    const left = (used: readonly UsedColumn[]) => {
      const rest = withoutSpare(search, used);
      return [WHOLE, CUT, OTHER].flatMap((column) => rest.filter((one) => one.column === column));
    };
    expect(left(plan(3, [2, 4]))).toEqual([plan(3, [])[0], plan(3, [])[2]]);
    expect(left(plan(2, [2, 4]))).toEqual(plan(2, [2, 2]));
    expect(left(plan(2, [3, 4]))).toEqual(plan(2, [1, 2]));
    expect(left(plan(2, [1, 2], 3))).toEqual(plan(2, [1, 2]));
    // What misses a rate keeps all.
    expect(left(plan(1, [1, 2]))).toEqual(plan(1, [1, 2]));
  });
});

describe('usefulGpus()', () => {
  test('are those that cost no more than the plan of the LP rounded up', () => {
    const search = searchFor([1500, 1200, 100]);
    // The plan takes four of A and three of B, for 18; so no plan needs more than six of A or nine of B.
    expect(cappedBy(search, roundedUp(search), [100, 100])).toEqual([6, 9]);
    expect(cappedBy(search, roundedUp(search), [4, 5])).toEqual([4, 5]);
    expect(usefulGpus(searchFor([1500, 1200, 100], { counts: [100, 100] }))).toEqual([6, 9]);
    const free = { ...search, classes: { ...search.classes, unitCost: [3, 0] } };
    expect(cappedBy(free, roundedUp(free), [100, 100])).toEqual([4, 100]);
  });

  test('are all where that plan needs more than there are, or does not meet the rates', () => {
    expect(usefulGpus(searchFor([1500, 1200, 100], { counts: [4, 100] }))).toEqual([4, 9]);
    expect(usefulGpus(searchFor([1500, 1200, 100], { counts: [3, 100] }))).toEqual([3, 100]);
    expect(usefulGpus(searchFor([1500, 0, 100], { counts: [100, 100] }))).toEqual([100, 100]);
  });

  test('are all where as much as possible is to be served', () => {
    const { problem, ...rest } = searchFor([1500, 1200, 100], { counts: [100, 100] });
    const planner = { ...problem.planner, objective: 'throughput' as const };
    expect(usefulGpus({ ...rest, problem: { ...problem, planner } })).toEqual([100, 100]);
  });
});
