import { describe, expect, test } from 'vitest';
import type { PooledSpec } from '../../../src/formats/index.js';
import type { Column } from '../../../src/milp/columns/columns.js';
import { planModel, usedColumns } from '../../../src/milp/plan/plan-model.js';
import { coefficient, type PlanGoal, planUnits } from '../../../src/milp/plan/plan-units.js';
import { classesOf, modelTable } from '../../../src/milp/tables/tables.js';
import { problemByHand } from '../by-hand.js';

/** Slot 0 is A, slot 1 a half of A, and slot 2 is B. */
const LATENCY_US = {
  A: { 1: { 1: [100, 200], 2: [150, 300] }, 2: { 1: [180, 350], 2: [250, 500] } },
  B: { 1: { 1: [400, 500], 2: [500, 600] } },
};

const part = (first: number, end: number, slot: number, rps: number) => ({ first, end, slot, batch: 0, rps });

/** a and c are whole models on A and on halves of A; b is cut between halves of A and B. */
const COLUMNS: readonly Column[] = [
  { model: 0, parts: [part(0, 2, 0, 4096)], latencyUs: 300 },
  { model: 0, parts: [part(0, 1, 1, 4096), part(1, 2, 2, 2048)], latencyUs: 681 },
  { model: 1, parts: [part(0, 2, 1, 1024)], latencyUs: 530 },
];

/** The names of the columns' variables, under which they are short. */
const SHORT: readonly [RegExp, string][] = [
  [/0\.0:2@0b0/g, 'a'],
  [/0\.1:1@1b0\|2@2b0/g, 'b'],
  [/1\.2:2@1b0/g, 'c'],
  [/least throughput\/weight/g, 'least'],
];

function stated(planner: PooledSpec['planner'], goal: PlanGoal, minShare: Record<string, number> = {}) {
  const model = { sloMs: 10, cutBytes: [1000, 0], latencyUs: LATENCY_US };
  const problem = problemByHand(
    {
      A: { count: 5, perServer: 2, virtual: [1, 2], hourlyCost: 4 },
      B: { count: 3, perServer: 1000, hourlyCost: 1 },
    },
    [
      { ...model, name: 'm', weight: 2, rps: 1, minShare },
      { ...model, name: 'n', rps: 1 },
    ],
    { objective: goal.kind === 'price' ? 'cost' : 'throughput', ...planner },
  );
  const tables = problem.models.map((_, m) => modelTable(problem, m));
  const plan = planModel({ classes: classesOf(problem), tables }, COLUMNS, {
    planner: problem.planner,
    goal,
  });
  const text = SHORT.reduce((so, [name, short]) => so.replaceAll(name, short), plan.model.toText());
  return { plan, tables, lines: text.split('\n').map((line) => line.trim()) };
}

const MOST: PlanGoal = { kind: 'throughput', weights: [2, 1], most: 8192 };

describe('planModel() where pools fill whole GPUs', () => {
  test('states rates, GPUs, throughput and shares, in units near 1', () => {
    const { plan, lines } = stated({}, MOST, { B: 0.25 });
    expect(plan.scale).toEqual({ rps: [8192, 2048], value: 2048 });
    expect(plan.isProof).toBe(true);
    expect(lines.slice(0, lines.indexOf('where'))).toEqual([
      'maximize',
      'least',
      'subject to',
      'rate[a,0]: x[a] - 0.5·g[a,0] ≤ 0',
      'rate[b,0]: x[b] - g[b,0] ≤ 0',
      'rate[b,1]: x[b] - 0.25·g[b,1] ≤ 0',
      'rate[c,0]: x[c] - g[c,0] ≤ 0',
      'GPUs of A: g[a,0] + g[b,0] + g[c,0] ≤ 5',
      'GPUs of B: g[b,1] ≤ 3',
      'throughput of m: 0 ≤ x[a] + x[b] - 0.5·least',
      'throughput of n: 0 ≤ x[c] - least',
      'share of B in m: 0 ≤ - 0.25·x[a] + 0.75·x[b]',
    ]);
    expect(lines.slice(lines.indexOf('where') + 1)).toEqual([
      '0 ≤ least',
      '0 ≤ x[a]',
      '0 ≤ x[b]',
      '0 ≤ x[c]',
      '0 ≤ g[a,0] integer',
      '0 ≤ g[b,0] integer',
      '0 ≤ g[b,1] integer',
      '0 ≤ g[c,0] integer',
      '',
    ]);
  });

  test('states the price of GPUs and the rates to be met', () => {
    const { plan, lines } = stated({}, { kind: 'price', rps: [16_384, 512] });
    expect(plan.scale).toEqual({ rps: [8192, 512], value: 4 });
    expect(lines.slice(0, 2)).toEqual(['minimize', 'g[a,0] + g[b,0] + 0.25·g[b,1] + g[c,0]']);
    // A GPU of two halves serves four times what n needs, so it counts as all of it.
    expect(lines).toContain('rate[c,0]: x[c] - g[c,0] ≤ 0');
    expect(lines).toContain('throughput of m: 2 ≤ x[a] + x[b]');
    expect(lines).toContain('throughput of n: 1 ≤ x[c]');
    // Three rates, and then 1 + 2 + 1 GPUs: two of A, one of A and two of B, and one of A.
    expect(plan.priceOf([0, 0, 0, 2, 1, 2.0000001, 0.9999999])).toBe(2 * 4 + 4 + 2 + 4);
  });

  test('does not call a bound proved where figures are too small for the solver to see', () => {
    expect(stated({}, MOST, { B: 1e-4 }).plan.isProof).toBe(true);
    expect(stated({}, MOST, { B: 1e-6 }).plan.isProof).toBe(false);
  });
});

describe('planModel() where more than a pool fills whole GPUs', () => {
  test('rounds the parts of a position up to whole GPUs', () => {
    const { plan, lines } = stated({ wholeGpusPer: 'position' }, MOST);
    expect(plan.scale).toEqual({ rps: [4096, 1024], value: 1024 });
    expect(lines.filter((line) => line.includes('GPUs of'))).toEqual([
      'whole GPUs of m #0 position 0 on A: g[a,0] + 0.5·g[b,0] - n[m #0 position 0 on A] ≤ 0',
      'whole GPUs of m #0 position 1 on B: g[b,1] - n[m #0 position 1 on B] ≤ 0',
      'whole GPUs of n #1 position 0 on A: 0.5·g[c,0] - n[n #1 position 0 on A] ≤ 0',
      'GPUs of A: n[m #0 position 0 on A] + n[n #1 position 0 on A] ≤ 5',
      'GPUs of B: n[m #0 position 1 on B] ≤ 3',
    ]);
    expect(lines).toContain('0 ≤ n[m #0 position 0 on A] integer');
    expect(lines).toContain('rate[b,0]: x[b] - g[b,0] ≤ 0');
    expect(lines).toContain('rate[b,1]: x[b] - 0.5·g[b,1] ≤ 0');
  });

  test('rounds the parts of a class up to whole GPUs, and prices these', () => {
    const { lines } = stated({ wholeGpusPer: 'class' }, { kind: 'price', rps: [4096, 512] });
    expect(lines.filter((line) => line.includes('GPUs of'))).toEqual([
      'whole GPUs of all on A: g[a,0] + 0.5·g[b,0] + 0.5·g[c,0] - n[all on A] ≤ 0',
      'whole GPUs of all on B: g[b,1] - n[all on B] ≤ 0',
      'GPUs of A: n[all on A] ≤ 5',
      'GPUs of B: n[all on B] ≤ 3',
    ]);
    expect(lines[1]).toBe('n[all on A] + 0.25·n[all on B]');
  });
});

describe('planModel() where a server has one size', () => {
  test('gives every size servers of its own, and the last, smaller server to one of them', () => {
    const { lines } = stated({ virtualPer: 'server' }, MOST);
    const rows = lines.slice(
      lines.indexOf('GPUs of A: g[a,0] + g[b,0] + g[c,0] ≤ 5'),
      lines.indexOf('where'),
    );
    // There are two servers of two of A, and one with the fifth. No server of B holds 1000.
    expect(rows.slice(2, 8)).toEqual([
      'GPUs of A/1: g[a,0] - 2·servers[A/1] - last server[A/1] ≤ 0',
      'GPUs of A/2: g[b,0] + g[c,0] - 2·servers[A/2] - last server[A/2] ≤ 0',
      'servers of A: servers[A/1] + servers[A/2] ≤ 2',
      'last server of A: last server[A/1] + last server[A/2] ≤ 1',
      'GPUs of B/1: g[b,1] - 3·servers[B/1] - 3·last server[B/1] ≤ 0',
      'servers of B: servers[B/1] ≤ 0',
    ]);
    expect(rows[8]).toBe('last server of B: last server[B/1] ≤ 1');
    expect(lines).toContain('0 ≤ last server[A/2] integer');
    expect(lines).toContain('0 ≤ servers[A/1] integer');
  });

  test('rounds up the parts of each size by itself', () => {
    const { lines } = stated({ virtualPer: 'server', wholeGpusPer: 'class' }, MOST);
    expect(lines.filter((line) => line.startsWith('whole GPUs'))).toEqual([
      'whole GPUs of all on A/1: g[a,0] - n[all on A/1] ≤ 0',
      'whole GPUs of all on A/2: 0.5·g[b,0] + 0.5·g[c,0] - n[all on A/2] ≤ 0',
      'whole GPUs of all on B/1: g[b,1] - n[all on B/1] ≤ 0',
    ]);
    expect(lines).toContain('GPUs of A/2: n[all on A/2] - 2·servers[A/2] - last server[A/2] ≤ 0');
  });
});

describe('usedColumns()', () => {
  test('gives the columns with GPUs for every partition, and their rate where a share is asked for', () => {
    const { plan, tables } = stated({}, MOST, { B: 0.25 });
    const values = [1, 0.5, 0.25, 0.125, 1, 2.0000001, 0.9999999, 0];
    // A unit of a pool on halves of A is two of them.
    expect(usedColumns(plan, values, tables)).toEqual([
      { column: COLUMNS[0], virtualGpus: [1], rps: 4096 },
      { column: COLUMNS[1], virtualGpus: [4, 1], rps: 2048 },
    ]);
    const half = [1, 0.5, 0.25, 0.125, 0, 2, 0, 3];
    expect(usedColumns(plan, half, tables)).toEqual([{ column: COLUMNS[2], virtualGpus: [6] }]);
    const shared = stated({ wholeGpusPer: 'class' }, MOST);
    expect(usedColumns(shared.plan, half, shared.tables)).toEqual([{ column: COLUMNS[2], virtualGpus: [3] }]);
  });
});

describe('planUnits()', () => {
  const classes = { names: ['A', 'B'], available: [1, 1], perServer: [1, 1], unitCost: [4, 1] };
  const unitRps = [[4096], [8192, 2048], [2048]];

  test('counts what a model needs, or what its fastest partition serves if that is less', () => {
    const units = (goal: PlanGoal) => planUnits({ columns: COLUMNS, unitRps }, classes, goal);
    expect(units(MOST)).toEqual({ rps: [8192, 2048], value: 2048 });
    expect(units({ kind: 'throughput', weights: [4, 0.5], most: 1000 })).toEqual({
      rps: [4000, 500],
      value: 1000,
    });
    // A model without a weight needs nothing, and has no say in the value.
    expect(units({ kind: 'throughput', weights: [2, 0], most: 1000 })).toEqual({
      rps: [2000, 2048],
      value: 1000,
    });
    expect(units({ ...MOST, most: Infinity })).toEqual({ rps: [8192, 2048], value: 2048 });
    expect(units({ kind: 'price', rps: [100, 1e6] })).toEqual({ rps: [100, 2048], value: 4 });
    expect(planUnits({ columns: [], unitRps: [] }, classes, { kind: 'price', rps: [5] }).rps).toEqual([1]);
    const free = { ...classes, unitCost: [0, 0] };
    expect(planUnits({ columns: COLUMNS, unitRps }, free, { kind: 'price', rps: [5, 5] }).value).toBe(1);
  });

  test('coefficient() keeps 30 binary digits', () => {
    expect(coefficient(1 + 2 ** -30)).toBe(1 + 2 ** -30);
    expect(coefficient(1 + 2 ** -32)).toBe(1);
    expect(coefficient(-(1 + 3 * 2 ** -32))).toBe(-(1 + 2 ** -30));
    expect(coefficient(3 * (1 + 2 ** -32))).toBe(3);
    expect([coefficient(0), coefficient(Infinity)]).toEqual([0, Infinity]);
  });
});
