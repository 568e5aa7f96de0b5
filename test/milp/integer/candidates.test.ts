import { describe, expect, test } from 'vitest';
import {
  better,
  type Candidate,
  consistent,
  finish,
  gapOf,
  planValue,
  tighter,
} from '../../../src/milp/integer/candidates.js';
import { type IntegerSearch, isOver, limitOf, timeLeft } from '../../../src/milp/integer/search-types.js';
import type { PlanOptions } from '../../../src/milp/options.js';
import { Phases } from '../../../src/milp/phases.js';
import type { UsedColumn } from '../../../src/milp/plan/plan-model.js';

/** A search of which only the objective, the weights and the options are known. */
function searchFor(
  objective: 'throughput' | 'cost',
  { weights = [1], options = {} }: { weights?: number[]; options?: Partial<PlanOptions> } = {},
): IntegerSearch {
  const tables = weights.map((weight) => ({ weight }));
  const search = { problem: { planner: { objective } }, tables, options, phases: new Phases() };
  return search as unknown as IntegerSearch;
}

const MOST = searchFor('throughput');
const LEAST = searchFor('cost');

/** A pipeline of one partition that serves `rps` with each of its virtual GPUs. */
function used(model: number, rps: number, virtualGpus: number): UsedColumn {
  const parts = [{ first: 0, end: 1, slot: 0, batch: 0, rps }];
  return { column: { model, parts, latencyUs: 1 }, virtualGpus: [virtualGpus] };
}

function candidate(value: number, more: Partial<Candidate> = {}): Candidate {
  return { used: [used(0, value, 1)], value, nodes: 1, ...more };
}

describe('tighter()', () => {
  test('is the smaller bound of what is maximised, and the larger bound of a price', () => {
    expect([tighter(MOST, 3, 5), tighter(MOST, 5, 3)]).toEqual([3, 3]);
    expect([tighter(LEAST, 3, 5), tighter(LEAST, 5, 3)]).toEqual([5, 5]);
  });
});

describe('consistent()', () => {
  test('keeps a bound that lies on the right side of the value', () => {
    expect(consistent(MOST, { bound: 10, value: 9 })).toBe(10);
    expect(consistent(LEAST, { bound: 9, value: 10 })).toBe(9);
  });

  test('moves a bound to the value when only rounding put it on the wrong side', () => {
    const above = 10 * (1 + 5e-10);
    expect(consistent(MOST, { bound: 10, value: above })).toBe(above);
    expect(consistent(LEAST, { bound: above, value: 10 })).toBe(10);
    expect(consistent(MOST, { bound: 10, value: 10.05, tolerance: 0.01 })).toBe(10.05);
    expect(consistent(LEAST, { bound: 10.05, value: 10, tolerance: 0.01 })).toBe(10);
  });

  test('throws when a plan does better than what was proved', () => {
    const message = /proved a bound of 10 and found a plan of 10.1/;
    expect(() => consistent(MOST, { bound: 10, value: 10.1 })).toThrow(message);
    expect(() => consistent(MOST, { bound: 10, value: 10.1, tolerance: 0.001 })).toThrow(message);
    expect(() => consistent(LEAST, { bound: 10.1, value: 10 })).toThrow(
      /proved a bound of 10.1 and found a plan of 10/,
    );
    expect(() => consistent(MOST, { bound: Number.NaN, value: 10 })).toThrow(/one of them is wrong/);
  });
});

describe('gapOf()', () => {
  test('is relative to the value of what is maximised, and to the bound of a price', () => {
    expect(gapOf(MOST, 8, 10)).toBeCloseTo(0.25, 12);
    expect(gapOf(LEAST, 10, 8)).toBeCloseTo(0.25, 12);
    expect(gapOf(LEAST, 10, 0)).toBe(Infinity);
    expect([gapOf(MOST, 0, 0), gapOf(LEAST, 0, 0)]).toEqual([0, 0]);
  });
});

describe('better()', () => {
  test('is the only plan that there is, and a proof that there is none where there is no plan', () => {
    const one = candidate(1);
    expect(better(MOST, undefined, one)).toBe(one);
    expect(better(MOST, one, undefined)).toBe(one);
    expect(better(MOST, 'infeasible', one)).toBe(one);
    expect(better(MOST, one, 'infeasible')).toBe(one);
    expect(better(MOST, 'infeasible', undefined)).toBe('infeasible');
    expect(better(MOST, undefined, undefined)).toBeUndefined();
  });

  test('serves more or costs less, and counts the work of both', () => {
    const [low, high] = [candidate(1, { nodes: 3 }), candidate(2, { nodes: 4 })];
    for (const [a, b] of [
      [low, high],
      [high, low],
    ] as const) {
      expect(better(MOST, a, b)).toEqual({ used: high.used, value: 2, nodes: 7 });
      expect(better(LEAST, a, b)).toEqual({ used: low.used, value: 1, nodes: 7 });
    }
    const equal = candidate(2, { used: [used(0, 1, 2)] });
    expect(better(MOST, high, equal)).toMatchObject({ used: high.used });
    expect(better(LEAST, high, equal)).toMatchObject({ used: high.used });
  });

  test('keeps the bound of the second plan, or else that of the first', () => {
    const known = candidate(1, { bound: 5 });
    const proved = candidate(2, { bound: 4, tolerance: 1e-6 });
    expect(better(MOST, known, proved)).toMatchObject({ value: 2, bound: 4, tolerance: 1e-6 });
    expect(better(MOST, proved, known)).toMatchObject({ value: 2, bound: 5 });
    expect(better(MOST, proved, known)).not.toHaveProperty('tolerance');
    expect(better(MOST, proved, candidate(3))).toMatchObject({ value: 3, bound: 4, tolerance: 1e-6 });
    expect(better(MOST, candidate(3), candidate(1))).not.toHaveProperty('bound');
  });
});

describe('planValue()', () => {
  test('is the least throughput/weight of the models that have a weight', () => {
    const search = searchFor('throughput', { weights: [2, 0, 1] });
    const plan = [used(0, 10, 1), used(2, 4, 2), used(0, 5, 2), used(1, 1, 1)];
    // 10 + 10 for the first with weight 2, and 8 for the third with weight 1.
    expect(planValue(search, plan, 99)).toBe(8);
    expect(planValue(search, [...plan, used(2, 3, 1)], 99)).toBe(10);
    expect(planValue(search, plan.slice(0, 1), 99)).toBe(0);
  });

  test('is the price that is handed in', () => {
    expect(planValue(LEAST, [used(0, 10, 1)], 99)).toBe(99);
  });
});

describe('finish()', () => {
  test('says that there is no plan, or that none was found by the end of the work', () => {
    expect(finish(MOST, 'infeasible', { proven: 5, gap: 0.1 })).toEqual({ status: 'infeasible', nodes: 0 });
    expect(finish(MOST, undefined, { proven: 5, gap: 0.1 })).toEqual({
      status: 'none',
      limit: 'work',
      nodes: 0,
    });
    const served = candidate(0, { nodes: 3 });
    expect(finish(MOST, served, { proven: 0, gap: 0.1 })).toEqual({ status: 'infeasible', nodes: 3 });
    expect(finish(MOST, served, { proven: 5, gap: 0.1 })).toEqual({
      status: 'none',
      limit: 'work',
      nodes: 3,
    });
    expect(finish(MOST, { ...served, bound: 0 }, { proven: 5, gap: 0.1 })).toEqual({
      status: 'infeasible',
      nodes: 3,
    });
    // A price of nothing is a price.
    expect(finish(LEAST, served, { proven: 0, gap: 0.1 })).toMatchObject({
      status: 'found',
      value: 0,
      bound: 0,
    });
  });

  test('takes a plan that misses a rate for none', () => {
    const asked = { ...LEAST, tables: [{ rps: 5 }] } as unknown as IntegerSearch;
    expect(finish(asked, candidate(5), { proven: 1, gap: 0 })).toMatchObject({ status: 'found', value: 5 });
    const none = { status: 'none', limit: 'work', nodes: 1 };
    expect(finish(asked, candidate(4.999), { proven: 1, gap: 0 })).toEqual(none);
  });

  test('takes the tighter bound, and says what ended the search before a proof', () => {
    const found = candidate(9, { nodes: 3 });
    const ended = (bound: number | undefined, proven: number, gap: number) =>
      finish(MOST, bound === undefined ? found : { ...found, bound }, { proven, gap });
    expect(ended(undefined, 9, 0)).toEqual({
      status: 'found',
      used: found.used,
      value: 9,
      bound: 9,
      limit: undefined,
      nodes: 3,
    });
    expect(ended(9.9, 18, 0.11)).toMatchObject({ bound: 9.9, limit: 'gap' });
    expect(ended(18, 9.9, 0.2)).toMatchObject({ bound: 9.9, limit: 'gap' });
    expect(ended(18, 18, 1)).toMatchObject({ bound: 18, limit: 'gap' });
    expect(ended(18, 18, 0.9)).toMatchObject({ bound: 18, limit: 'work' });
    expect(ended(9 * (1 + 5e-10), 18, 0)).toMatchObject({ limit: undefined });
    expect(finish(LEAST, { ...found, bound: 8 }, { proven: 6, gap: 0 })).toMatchObject({
      bound: 8,
      limit: 'work',
    });
  });

  test('allows a bound to be as wrong as what proved it may be', () => {
    const found = candidate(9);
    expect(() => finish(MOST, { ...found, bound: 8.99 }, { proven: 18, gap: 0 })).toThrow(
      /one of them is wrong/,
    );
    const rough = finish(MOST, { ...found, bound: 8.99, tolerance: 0.01 }, { proven: 18, gap: 0 });
    expect(rough).toMatchObject({ value: 9, bound: 9, limit: undefined });
  });
});

describe('a search ends', () => {
  test('when it is interrupted, or when its time is over', () => {
    let now = 1000;
    const phases = new Phases(() => now);
    const limited = { timeLimitMs: 50 } as PlanOptions;
    expect(isOver(limited, phases)).toBe(false);
    expect(timeLeft({ options: limited, phases } as IntegerSearch)).toEqual({ maxSeconds: 0.05 });
    now = 1049;
    expect(isOver(limited, phases)).toBe(false);
    expect(limitOf(limited, phases)).toBe('work');
    now = 1050;
    expect(isOver(limited, phases)).toBe(true);
    expect(limitOf(limited, phases)).toBe('time');
    // A solver takes no limit of nothing.
    now = 2000;
    expect(timeLeft({ options: limited, phases } as IntegerSearch)).toEqual({ maxSeconds: 0.001 });
    const free = {} as PlanOptions;
    expect(isOver(free, phases)).toBe(false);
    expect(timeLeft({ options: free, phases } as IntegerSearch)).toEqual({});
    const stopped = { interrupted: () => true } as unknown as PlanOptions;
    expect(isOver(stopped, phases)).toBe(true);
    expect(limitOf({ ...stopped, timeLimitMs: 1 }, phases)).toBe('interrupted');
    expect(isOver({ interrupted: () => false } as unknown as PlanOptions, phases)).toBe(false);
  });
});
