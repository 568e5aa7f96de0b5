import { describe, expect, it } from 'vitest';
import type { SimulatedRequests, SimulationReport, SimulationSweep } from '../../src/formats/index.js';
import { largestLoads, sweepTable } from '../../src/report/index.js';
import {
  busyTable,
  dropTable,
  outcomeTable,
  poolTable,
  simulationHeadlines,
  splitTable,
  windowTable,
} from '../../src/report/simulate.js';

const summary = (mean: number) => ({
  count: 1000,
  mean,
  p50: mean,
  p90: mean,
  p95: mean,
  p99: 2 * mean,
  max: 3 * mean,
});

const REQUESTS: SimulatedRequests = {
  arrived: 1200,
  inTime: 1140,
  late: 3,
  dropped: 57,
  failed: 0,
  attainment: 0.95,
  dropRate: 0.05,
  invalidRate: 0.0123,
  offeredRps: 120,
  throughputRps: 114.3,
  goodputRps: 114,
  latencyMs: summary(40),
  splitMs: { queueing: summary(8), transfer: summary(2), compute: summary(30) },
};

const NONE: SimulatedRequests = {
  arrived: 0,
  inTime: 0,
  late: 0,
  dropped: 0,
  failed: 0,
  offeredRps: 0,
  throughputRps: 0,
  goodputRps: 0,
};

const REPORT: SimulationReport = {
  kind: 'simulation-report',
  version: '1.0',
  seed: 7,
  complete: true,
  workload: { arrivals: 'poisson', durationS: 10, models: [{ name: 'a', rps: 120, loadFactor: 0.8 }] },
  scheduler: { name: 'reservation', preset: 'published', policy: {} },
  execution: { slow: 1.1, jitter: 'cv', cv: 0.2 },
  percentileError: 0,
  overall: REQUESTS,
  models: [{ name: 'a', sloMs: 90, plannedRps: 150, requests: REQUESTS }],
  drops: [{ model: 'a', reason: 'deadline', place: 'pipeline0/partition1', count: 1057 }],
  classes: { L4: { emulated: true, virtualGpus: 5, gpus: 2.5, busyGpuS: 20, utilisation: 0.8 } },
  pools: [
    {
      model: 'a',
      pipeline: 0,
      partition: 1,
      class: 'L4',
      virtual: 2,
      virtualGpus: 5,
      batch: 4,
      batches: 12_345,
      requests: 40_000,
      meanBatch: 3.24,
      sizes: [0, 0, 0, 12_345],
      utilisation: 0.8,
    },
  ],
  links: { uplink: { mean: 0.1, busiest: 0.3 }, downlink: { mean: 0, busiest: 0 } },
};

describe("a simulation's tables", () => {
  it('state in two lines the outcome and the choices that decided it', () => {
    expect(simulationHeadlines(REPORT)).toEqual([
      '95.00 % of 1 200 requests in time; 114 requests/s in time of 120',
      "poisson arrivals, 120 requests/s (0.80 of the plan's rate) for 10 s, seed 7; scheduler reservation, preset published, executions × 1.1, spread of cv 0.2",
    ]);
    const silent = [...REPORT.workload.models, { name: 'b', rps: 0, loadFactor: 0 }];
    const alone = simulationHeadlines({ ...REPORT, workload: { ...REPORT.workload, models: silent } });
    expect(alone[1]).toContain("120 requests/s (0.80 of the plan's rate)");
    const models = [...REPORT.workload.models, { name: 'b', rps: 5, loadFactor: 0.1 }];
    const plain = simulationHeadlines({
      ...REPORT,
      workload: { ...REPORT.workload, models },
      scheduler: { name: 'fifo', policy: {} },
      execution: { slow: 1, jitter: 'none' },
    });
    expect(plain[1]).toBe('poisson arrivals, 125 requests/s for 10 s, seed 7; scheduler fifo');
  });

  it('show how far an interrupted run came (1200 requests at 120 a second)', () => {
    const workload = { ...REPORT.workload, durationS: 3600 };
    const [, decided] = simulationHeadlines({ ...REPORT, complete: false, workload });
    expect(decided).toContain(' for 3600 s, interrupted after 10.0 s of it, seed 7');
  });

  const tables = { outcomeTable, poolTable, busyTable, dropTable, splitTable, windowTable };
  it.each(Object.entries(tables))('have a cell for each column in each row: %s', (_, tableOf) => {
    const table = tableOf(REPORT);
    for (const row of table?.rows ?? []) expect(row).toHaveLength(table?.columns.length ?? 0);
  });

  it('have a row per model, and one of all models when there are several', () => {
    expect(outcomeTable(REPORT).rows).toEqual([
      ['a', '120', '0.80', '1 140', '3', '57', '95.00 %', '40.0', '80.0', '90.0'],
    ]);
    expect(splitTable(REPORT).rows).toEqual([['a', '40.0', '8.00', '2.00', '30.0', '1.23 %']]);
    const two = {
      ...REPORT,
      models: [...REPORT.models, { name: 'b', sloMs: 30, plannedRps: 0, requests: NONE }],
    };
    expect(outcomeTable(two).rows.slice(1)).toEqual([
      ['b', '0', '—', '0', '0', '0', '—', '—', '—', '30.0'],
      ['all', '120', '', '1 140', '3', '57', '95.00 %', '40.0', '80.0', ''],
    ]);
    expect(splitTable(two).rows[1]).toEqual(['b', '—', '—', '—', '—', '—']);
  });

  it('show latency parts, classes marked as emulated, links in use, drops and windows', () => {
    expect(poolTable(REPORT).rows).toEqual([['a', '0/1', '5 × 1/2 L4', '4', '3.24', '12 345', '80.0 %']]);
    const [pool] = REPORT.pools;
    const scaled = (least: number, most: number, mean: number) =>
      poolTable({ ...REPORT, pools: [{ ...pool!, inUse: { least, most, mean } }] }).rows[0]?.at(-1);
    expect([scaled(5, 5, 5), scaled(4, 6, 5)]).toEqual(['5', '4 to 6, mean 5.00']);
    expect(busyTable(REPORT).rows).toEqual([
      ['L4 (emulated)', '5', '2.50', '80.0 %'],
      ['uplinks, mean', '', '', '10.0 %'],
      ['uplinks, busiest', '', '', '30.0 %'],
    ]);
    expect(dropTable(REPORT).rows).toEqual([['a', 'deadline', 'pipeline0/partition1', '1 057']]);
    expect(windowTable(REPORT).rows).toEqual([]);
    const row = {
      fromS: 2.5,
      arrived: 0,
      inTime: 0,
      late: 0,
      dropped: 0,
      failed: 0,
      offeredRps: 0,
      goodputRps: 0,
      batches: 0,
      utilisation: [0.25],
      attainments: [null],
    };
    const view = windowTable({ ...REPORT, windows: { seconds: 2.5, rows: [row] } });
    expect(view.columns.at(-1)).toBe('L4 busy');
    expect(view.rows).toEqual([['2.5', '0', '—', '0', '—', '—', '25.0 %']]);
  });
});

describe("a sweep's tables", () => {
  const SWEEP: SimulationSweep = {
    kind: 'simulation-sweep',
    version: '1.0',
    seed: 0,
    complete: true,
    workload: { arrivals: 'poisson', durationS: 30 },
    scheduler: { name: 'reservation', policy: {} },
    execution: { slow: 1, jitter: 'none' },
    target: 0.99,
    points: [
      {
        loadFactor: 0.5,
        attainment: 1,
        late: 1200,
        invalidRate: 0,
        offeredRps: 50,
        goodputRps: 50,
        p99Ms: 20,
        attainments: [1, null],
      },
      { loadFactor: 1, offeredRps: 0, goodputRps: 0, attainments: [null, null] },
    ],
    largest: { loadFactor: 0.87, atLeast: false },
    models: [{ name: 'a', largest: { loadFactor: 1, atLeast: true } }, { name: 'b' }],
  };

  it('have a row per load, with the models when there are several', () => {
    const { columns, rows } = sweepTable(SWEEP);
    expect(columns).toEqual([
      'load',
      'offered/s',
      'goodput/s',
      'late',
      'attainment',
      'a',
      'b',
      'p99 ms',
      'invalid',
    ]);
    expect(rows).toEqual([
      ['0.50', '50.0', '50.0', '1 200', '100.00 %', '100.00 %', '—', '20.0', '0.00 %'],
      ['1.00', '0', '0', '—', '—', '—', '—', '—', '—'],
    ]);
    expect(sweepTable({ ...SWEEP, models: [{ name: 'a' }] }).columns).toHaveLength(7);
  });

  it('state the largest loads, and whether they are only lower limits', () => {
    expect(largestLoads(SWEEP)).toEqual([
      "largest load with 99 % in time: 0.87 of the plan's rate",
      "  a: 1.00 or more (the largest tried) of the plan's rate",
      '  b: it had no requests',
    ]);
    const missed = SWEEP.points.map((point) => ({ ...point, attainments: [1, 0.5] }));
    expect(largestLoads({ ...SWEEP, points: missed }).at(-1)).toBe('  b: none of 2 tried');
    expect(largestLoads({ ...SWEEP, complete: false }).at(-1)).toBe('interrupted: not every load was tried');
  });

  it('distinguish loads that differ by less than a hundredth', () => {
    const points = [0.0025, 0.104762, 0.1].map((loadFactor) => ({ ...SWEEP.points[1]!, loadFactor }));
    expect(sweepTable({ ...SWEEP, points }).rows.map(([load]) => load)).toEqual(['0.0025', '0.105', '0.10']);
  });
});
