import { describe, expect, it } from 'vitest';
import type { ComparedFigure, ComparedScheduler, SchedulerComparison } from '../../src/formats/index.js';
import { schedulersParts } from '../../src/report/index.js';

const same = (value: number): ComparedFigure => ({ mean: value, low: value, high: value });

const ROW: ComparedScheduler = {
  scheduler: 'pard',
  policy: {},
  goodputRps: same(114),
  attainment: { mean: 0.95, low: 0.9411, high: 0.9589 },
  dropRate: same(0.05),
  invalidRate: same(0.0123),
  meanMs: same(40),
  p50Ms: same(38),
  p95Ms: same(70),
  p99Ms: same(81.25),
  worstWindows: [
    { seconds: 1, leastGoodputRps: same(80), leastAttainment: same(0.7), largestDropRate: same(0.3) },
    { seconds: 10, leastGoodputRps: same(100), leastAttainment: same(0.9), largestDropRate: same(0.1) },
  ],
  dropsByStage: { entry: same(0), detect: same(0.04), read: same(0), count: same(0.01) },
};
const QUIET: ComparedScheduler = {
  scheduler: 'fifo',
  policy: {},
  goodputRps: same(0),
  worstWindows: [{ seconds: 1 }, { seconds: 10 }],
};
const COMPARISON: SchedulerComparison = {
  kind: 'scheduler-comparison',
  version: '1.0',
  seed: 4,
  runs: 1,
  complete: true,
  workload: { arrivals: 'poisson', durationS: 10, models: [{ name: 'a', rps: 120, loadFactor: 0.8 }] },
  transfers: 'links',
  execution: { slow: 1, jitter: 'none' },
  percentileError: 0,
  planned: 'fifo',
  rows: [ROW, QUIET],
  skipped: [],
};

const tables = (comparison: SchedulerComparison) =>
  schedulersParts(comparison).flatMap((part) => (typeof part === 'string' ? [] : [part]));
const lines = (comparison: SchedulerComparison) =>
  schedulersParts(comparison).filter((part) => typeof part === 'string' && part !== '');

describe('schedulersParts()', () => {
  it('say the load, and show each scheduler in a row, with dashes for what it lacks', () => {
    expect(lines(COMPARISON)).toEqual([
      "poisson arrivals, 120 requests/s (0.80 of the plan's rate) for 10 s, the same for all; seed 4",
    ]);
    const [figures, worst, drops, ...others] = tables(COMPARISON);
    expect(figures).toMatchObject({
      columns: [
        ...['scheduler', 'attainment', 'dropped', 'invalid', 'in time/s'],
        ...['mean ms', 'p50 ms', 'p95 ms', 'p99 ms'],
      ],
      rows: [
        ['pard', '95.00 %', '5.00 %', '1.23 %', '114', '40.0', '38.0', '70.0', '81.3'],
        ['fifo (plan)', '—', '—', '—', '0', '—', '—', '—', '—'],
      ],
    });
    expect(worst).toMatchObject({
      columns: ['worst window', 'in time/s, 1 s', 'dropped, 1 s', 'in time/s, 10 s', 'dropped, 10 s'],
      rows: [
        ['pard', '80.0', '30.00 %', '100', '10.00 %'],
        ['fifo (plan)', '—', '—', '—', '—'],
      ],
    });
    const [dropped, none] = [ROW, { ...QUIET, dropsByStage: { ...ROW.dropsByStage, count: same(0) } }];
    expect(drops?.columns).toEqual(['dropped at', 'detect', 'count']);
    expect(others).toEqual([]);
    expect(tables({ ...COMPARISON, rows: [dropped, none] })[2]?.rows).toEqual([
      ['pard', '4.00 %', '1.00 %'],
      ['fifo (plan)', '4.00 %', '0.00 %'],
    ]);
  });

  it('show the interval of several runs', () => {
    const [figures] = tables({ ...COMPARISON, runs: 5, confidence: 0.95 });
    expect(figures?.columns.slice(0, 3)).toEqual(['scheduler', 'attainment', '95 % interval']);
    expect(figures?.rows.map((row) => row[2])).toEqual(['94.11 % to 95.89 %', '—']);
    expect(lines({ ...COMPARISON, runs: 5 })[0]).toMatch(/5 runs each from seed 4 on$/);
  });

  it('say which choices did not apply, who is not compared, and that it was interrupted', () => {
    const choices = [
      { choice: 'tables=gaps', applied: ['reservation'], notApplied: ['pard', 'fifo'] },
      { choice: 'order=fifo', applied: ['pard', 'fifo'], notApplied: [] },
    ];
    const skipped = [{ scheduler: 'gears', reason: 'it serves gear plans only' }];
    expect(lines({ ...COMPARISON, choices, skipped, complete: false }).slice(1)).toEqual([
      'tables=gaps does not exist in pard, fifo, and did not apply',
      'not compared: gears, because it serves gear plans only',
      'interrupted: not every run was done',
    ]);
    expect(tables({ ...COMPARISON, rows: [], complete: false })).toEqual([]);
  });

  it('list the places of drops in rows where their names are long, the lesser ones together', () => {
    const names = Array.from({ length: 12 }, (_, i) => `detector/pipeline0/partition${i}`);
    const dropsByStage = Object.fromEntries(names.map((name, i) => [name, same(i / 1000)]));
    const [, , drops] = tables({ ...COMPARISON, rows: [{ ...ROW, dropsByStage }] });
    expect(drops?.columns).toEqual(['dropped', 'at', 'of arrivals']);
    const shares = ['0.40 %', '0.50 %', '0.60 %', '0.70 %', '0.80 %', '0.90 %', '1.00 %', '1.10 %'];
    expect(drops?.rows).toEqual([
      ...names.slice(4).map((name, i) => ['pard', name, shares[i]]),
      ['pard', '3 others', '0.60 %'],
    ]);
  });

  it('show the attainment over time, with a column for each scheduler', () => {
    const window = { fromS: 0, offeredRps: same(120), goodputRps: same(114) };
    const rows = [
      { ...ROW, windows: [{ ...window, attainment: same(0.95) }] },
      { ...QUIET, windows: [window] },
    ];
    expect(tables({ ...COMPARISON, windowS: 10, rows }).at(-1)).toMatchObject({
      columns: ['from s', 'offered/s', 'pard, in time', 'fifo, in time'],
      rows: [['0', '120', '95.00 %', '—']],
    });
  });
});
