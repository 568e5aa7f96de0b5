import { describe, expect, it } from 'vitest';
import type { PlannedPartition, PooledPlan } from '../../../src/formats/index.js';
import { diffHeadline, timingLines } from '../../../src/report/index.js';
import {
  classUseTable,
  holdLines,
  pipelineTable,
  planHeadline,
  timesText,
} from '../../../src/report/kinds/pooled.js';

const PLAN: PooledPlan = {
  kind: 'pooled-plan',
  version: '1.0',
  status: 'feasible',
  objective: { kind: 'throughput', value: 100, bound: 102, gap: 0.02 },
  cluster: { devices: { L4: { count: 2 }, P4: { count: 3 } } },
  planner: {},
  models: [
    {
      name: 'm',
      sloMs: 50,
      sloMarginMs: 20,
      weight: 1,
      throughputRps: 100,
      blocks: 4,
      pipelines: [
        {
          throughputRps: 100,
          batch: 2,
          latencyUs: 25_000,
          partitions: [part('P4', [0, 3], 2, 12_000), part('L4', [3, 4], 1, 9_000)],
        },
      ],
    },
  ],
  classes: { L4: { used: 1, count: 2, shadowPrice: 31.5 }, P4: { used: 1, count: 3, oneMore: 12 } },
  placement: [],
};

function part(device: string, blocks: [number, number], virtual: number, us: number) {
  const common = { virtualGpus: 2, gpus: 2 / virtual, batch: 2, throughputRps: 110, transferBytes: 0 };
  return { ...common, device, blocks, virtual, latencyUsByBatch: [us / 2, us] };
}

describe('planHeadline()', () => {
  it('states the value, its unit and the proven bound', () => {
    expect(planHeadline(PLAN)).toBe('100 requests/s (bound 102, gap 2.00 %) on 1 L4 + 1 P4');
    const optimal = { ...PLAN, objective: { ...PLAN.objective, bound: 100, gap: 0 } };
    expect(planHeadline(optimal)).toBe('100 requests/s (bound 100, gap 0.00 %: optimal) on 1 L4 + 1 P4');
    const small = { kind: 'cost', value: 0.00012345, bound: 1.5e-9, gap: 0.5 } as const;
    expect(planHeadline({ ...PLAN, objective: small })).toBe(
      '0.000123 per hour (bound 1.50e-9, gap 50.00 %) on 1 L4 + 1 P4',
    );
  });

  it('names the figure that is held where that was asked for, the price and its currency', () => {
    const devices = { L4: { count: 2, hourlyCost: 0.7 }, P4: { count: 3, hourlyCost: 0.3 } };
    const runs = { seeds: [1, 2], arrivals: 'poisson', durationS: 60, confidence: 0.95 };
    const model = { attainment: 0.99, sloMargin: 0.2, headroom: 1 };
    const hold = { value: 80, bound: 120, trials: 3, models: [model], runs };
    const held = { ...PLAN, cluster: { devices, currency: 'USD' }, hold } as unknown as PooledPlan;
    expect(planHeadline(held)).toBe(
      '80.0 requests/s held with 99.00 % in time on 1 L4 + 1 P4, 1.00 USD per hour; 100 requests/s (bound 102, gap 2.00 %) planned',
    );
    const cost = { kind: 'cost', value: 1, bound: 0.9, gap: 1 / 9 };
    expect(
      planHeadline({ ...held, objective: cost, hold: { ...hold, value: 1, bound: 0.8 } } as PooledPlan),
    ).toBe(
      '1.00 USD per hour (bound 0.900, gap 11.11 %) to hold the rates with 99.00 % in time on 1 L4 + 1 P4',
    );
    expect(holdLines(held)).toEqual([
      'm holds 0 requests/s with 99.00 % in time; planned with a margin of 20.0 %',
      '3 plans simulated; confirmed by 2 runs of 60.0 s with other seeds, poisson arrivals, 95 % confidence',
    ]);
  });
});

describe('timesText()', () => {
  it('lists the phases that took time, in order, and leaves out their parts', () => {
    const phases = { search: 40.2, tables: 0.1, pools: 30, columns: 5 };
    expect(timesText({ ms: 45.6, phases })).toBe('solved in 46 ms: columns 5, search 40');
    expect(timesText({ ms: 3, phases: {} })).toBe('solved in 3 ms');
  });
});

describe('timingLines()', () => {
  const partition = { blocks: [0, 3], device: 'L4', virtual: 2 } as unknown as PlannedPartition;
  const furthest = { model: 'm', partition, batch: 4, plannedUs: 2500, measuredUs: 2000 };

  it('names the partition that was planned furthest off as the table of pipelines does', () => {
    expect(timingLines({ timed: 2, furthest, notes: ['a note'] })).toEqual([
      "timed 2 figures of the plan's partitions; the plan was furthest off by 25.0 % (m blocks 0–2 on 1/2 L4 at batch 4: planned 2.50 ms, took 2.00 ms)",
      'a note',
    ]);
  });

  it('shows only notes where nothing was timed', () => {
    expect(timingLines({ timed: 0, furthest: undefined, notes: ['why'] })).toEqual(['why']);
    expect(timingLines({ timed: 1, furthest: undefined, notes: [] })).toEqual([
      "timed 1 figure of the plan's partitions",
    ]);
  });
});

describe('pipelineTable()', () => {
  it('has a row per partition, and names the pipeline once', () => {
    const { columns, rows } = pipelineTable(PLAN);
    expect(rows.every((row) => row.length === columns.length)).toBe(true);
    expect(rows).toEqual([
      ['m', '0', '100', '25.0 of 30.0', 'blocks 0–2', '2 × 1/2 P4', '2', '12.0', '110'],
      ['', '', '', '', 'block 3', '2 × 1/1 L4', '2', '9.00', '110'],
    ]);
  });
});

describe('classUseTable()', () => {
  it('shows a dash where a figure is not known', () => {
    expect(classUseTable(PLAN).rows).toEqual([
      ['L4', '1 of 2', '31.5', '—'],
      ['P4', '1 of 3', '—', '12.0'],
    ]);
  });
});

describe('diffHeadline()', () => {
  it('gives no percentage when the objectives are of different kinds', () => {
    const rest = { models: [], classes: [], gpusMoved: 3, same: false };
    const objective = { kind: 'cost', kindBefore: 'throughput', before: 2000, after: 5.5 } as const;
    const gpus = '3 devices would serve something else';
    expect(diffHeadline({ ...rest, objective })).toBe(
      `throughput 2 000 → cost 5.50, which do not compare; ${gpus}`,
    );
    const same = { kind: 'cost', before: 4, after: 5 } as const;
    expect(diffHeadline({ ...rest, objective: same })).toBe(`cost 4.00 → 5.00 (+25.0 %); ${gpus}`);
  });
});
