import { describe, expect, it } from 'vitest';
import type { GearPlan, SimulatedCascade, SimulationReport } from '../../../src/formats/index.js';
import type { GearExplanation } from '../../../src/gearplan/index.js';
import { familyTable } from '../../../src/report/index.js';
import {
  answeredTable,
  cascadeLines,
  cascadeWindowTable,
  frontierTable,
  gearHeadlines,
  gearTable,
  gearUseTable,
  heldTable,
  oneMoreLine,
} from '../../../src/report/kinds/gears.js';
import { gearPlan } from '../../gear-plans.js';

const MADE = gearPlan({
  latencyUs: [[1000], [9000]],
  held: [[1, 0], [0]],
  gears: [
    {
      toRps: 12.5,
      steps: [
        { model: 0, threshold: 0.75 },
        { model: 1, minQueue: 3 },
      ],
    },
    { toRps: 250, steps: [{ model: 0, minQueue: 4 }] },
  ],
});

const PLAN: GearPlan = {
  ...MADE,
  accuracy: 0.87654,
  accuracyInterval: { low: 0.866, high: 0.886, samples: 4000 },
  requestAccuracy: 0.8,
  p95Ms: 42.42,
  maxRps: 250,
  hourlyCost: 6.5,
  status: 'feasible',
  objective: { kind: 'accuracy', value: 0.87654, bound: 0.9, gap: 0.02607 },
  gears: MADE.gears.map((gear, i) => ({
    ...gear,
    ...[
      { share: 0.25, accuracy: 0.9, p95Ms: 31.5, utilization: 0.125 },
      { share: 0.75, accuracy: 0.8, p95Ms: 42.42, utilization: 0.5 },
    ][i],
    cascade: gear.cascade.map((step, k) => ({ ...step, visits: k === 0 ? 1 : 0.4 })),
    ...(i === 0 ? {} : { limitedBy: { accuracy: 0.85, by: 'latency' as const, stage: 'm1' } }),
  })),
};

describe('The headlines of a gear plan', () => {
  it('say what it reaches, on how many devices at which price', () => {
    expect(gearHeadlines(PLAN)[0]).toBe(
      '87.65 % right over the distribution of loads (from 86.6 % to 88.6 % with 95 % confidence, by 4000 samples; 80.00 % of requests), up to 250 requests/s, on 2 V100, 6.50 per hour',
    );
    const { hourlyCost: _, ...free } = PLAN;
    const classes = { ...PLAN.classes, T4: { used: 3, count: 4 } };
    expect(gearHeadlines({ ...free, classes })[0]).toMatch(/, on 2 V100 \+ 3 T4$/);
  });

  it('say which latency is promised and by what that is confirmed, or that none is', () => {
    expect(gearHeadlines(PLAN)[2]).toBe('no latency is promised');
    const rate = { rps: 250, firstSeed: 201, requests: 64_000 };
    const attainment = { mean: 0.97, least: 0.96, most: 0.98, low: 0.96, high: 0.98 };
    const promise: GearPlan['promise'] = {
      latencyMs: 50,
      quantile: 0.95,
      arrivals: 'poisson',
      confidence: 0.95,
      runs: 8,
      rates: [{ ...rate, attainment }],
    };
    expect(gearHeadlines({ ...PLAN, promise })[2]).toBe(
      '95.0 % within 50.0 ms at every steady load, as 8 simulations of the whole plan at one rate confirm; the largest p95 is 42.4 ms',
    );
  });

  it('sets the best single model beside the cascades, where the plan names it', () => {
    const said = (accuracy: number) => gearHeadlines({ ...PLAN, bestSingle: { model: 'm1', accuracy } })[1];
    expect(said(0.92654)).toBe(
      'the best single model, m1, is right about 92.65 % of the records, 5.00 points more than this plan, whatever time that takes',
    );
    for (const accuracy of [0.87654, 0.87654 + 1.1e-16, 0.87654 - 1.1e-16])
      expect(said(accuracy)).toContain('87.65 % of the records, as this plan is');
    expect(gearHeadlines(PLAN)[1]).toMatch(/^87\.65 % \(bound 90\.00 %/);
  });

  it('says that longer cascades were not counted where the plan reaches the bound of those that were', () => {
    const objective = {
      kind: 'accuracy' as const,
      value: 0.9,
      bound: 0.9,
      scope: { mostModels: 2, orders: 'any' as const, thresholds: 'all' as const },
    };
    expect(gearHeadlines({ ...PLAN, objective })[1]).toBe(
      '90.00 % (bound 90.00 %, gap unknown) among plans with cascades of up to 2 models in any order, with any thresholds, on these records; longer cascades were not counted, as there are too many samples, so that one of them may be better',
    );
    expect(gearHeadlines({ ...PLAN, objective, reproducible: false })[1]).toContain(
      'as the search was ended before, so',
    );
  });

  const scope = { mostModels: 4, orders: 'any' as const, thresholds: 'all' as const };

  it.each<[GearPlan['objective']['kind'], number, string]>([
    ['accuracy', 0.9, '50.00 % (bound 90.00 %, 40.00 points apart, gap 2.61 %)'],
    ['devices', 3, '1 device (bound 3 devices, gap 2.61 %)'],
    ['cost', 4.5, '1.00 per hour (bound 4.50 per hour, gap 2.61 %)'],
  ])(
    'say how far it is from the bound on %s, and of which cascades that is the bound',
    (kind, bound, says) => {
      const objective = { kind, value: kind === 'accuracy' ? 0.5 : 1, bound, gap: 0.02607, scope };
      const among =
        'among plans with cascades of up to 4 models in any order, with any thresholds, on these records';
      expect(gearHeadlines({ ...PLAN, objective })[1]).toBe(`${says} ${among}`);
      expect(gearHeadlines({ ...PLAN, objective: { ...objective, gap: 0 }, status: 'optimal' })[1]).toBe(
        `${says.replace('2.61 %', '0.00 %: optimal')} ${among}; which is best on other samples is open`,
      );
      const { scope: _, ...before } = objective;
      expect(gearHeadlines({ ...PLAN, objective: before })[1]).toBe(
        `${says} among plans with such cascades, on these records`,
      );
    },
  );

  it.each([
    [{ mostModels: 1, orders: 'any', thresholds: 'all' } as const, 'single models'],
    [
      { mostModels: 3, orders: 'cheaper-first', thresholds: 32 } as const,
      'cascades of up to 3 models from cheaper to dearer ones, with 32 thresholds each',
    ],
  ])('name the scope of a proof: %j', (of, said) => {
    const objective = { kind: 'accuracy' as const, value: 0.9, bound: 0.9, gap: 0, scope: of };
    expect(gearHeadlines({ ...PLAN, objective, status: 'optimal' })[1]).toBe(
      `90.00 % (bound 90.00 %, gap 0.00 %: optimal) among plans with ${said}, on these records; which is best on other samples is open`,
    );
  });

  it('call no bound on latency a distance, since it knows no waiting', () => {
    const objective = { kind: 'latency' as const, value: 40, bound: 12.8, scope };
    expect(gearHeadlines({ ...PLAN, objective })[1]).toBe(
      '40.0 ms (bound 12.8 ms, gap unknown as the bound knows no waiting) among plans with cascades of up to 4 models in any order, with any thresholds, on these records',
    );
  });

  it('say no distance from a bound of 0', () => {
    const objective = { kind: 'cost' as const, value: 1, bound: 0 };
    expect(gearHeadlines({ ...PLAN, objective })[1]).toBe(
      '1.00 per hour (bound 0 per hour, gap unknown) among plans with such cascades, on these records',
    );
  });
});

describe('The tables of a gear plan', () => {
  it('list the gears with their cascades, and why no more accurate one is used', () => {
    expect(gearTable(PLAN)).toMatchObject({
      columns: ['requests/s', 'of time', 'cascade', 'queues', 'right', 'p95 ms', 'busy', 'next one fails by'],
      rows: [
        ['0 – 12.5', '25.0 %', 'm0 < 0.750 → m1 (40.0 %)', '1, 3', '90.00 %', '31.5', '12.5 %', '—'],
        ['12.5 – 250', '75.0 %', 'm0', '4', '80.00 %', '42.4', '50.0 %', 'latency: m1'],
      ],
    });
  });

  it('list what devices hold in the order of the stages, and rows of like devices once', () => {
    const [first, second] = PLAN.placement as [GearPlan['placement'][number], GearPlan['placement'][number]];
    expect(heldTable({ ...PLAN, placement: [first, { ...second, gpu: 2, count: 5 }] }).rows).toEqual([
      ['V100-0/gpu0', 'm0, m1'],
      ['5 from V100-1/gpu2 on', 'm0'],
    ]);
  });

  it('give the intervals of what gears answer rightly, where the plan has them', () => {
    const [first, second] = PLAN.gears as [GearPlan['gears'][number], GearPlan['gears'][number]];
    const accuracyInterval = { low: 0.6097, high: 1, samples: 6 };
    const { columns, rows } = gearTable({ ...PLAN, gears: [{ ...first, accuracyInterval }, second] });
    expect(columns[4]).toBe('right (95 % confidence)');
    expect(rows.map((row) => row[4])).toEqual(['90.00 % (61.0–100.0)', '80.00 %']);
  });

  it('explain by one device more, and by the frontier over devices and latencies', () => {
    const interval = (low: number, high: number) => ({ low, high, samples: 4000 });
    expect(oneMoreLine({}, PLAN)).toEqual([]);
    const oneMoreDevice = { devices: 3, accuracy: 0.91234, accuracyInterval: interval(0.903, 0.921) };
    const line =
      'with 3 devices, 91.23 % of these records would be answered rightly within the same latency (from 90.3 % to 92.1 % with 95 % confidence, by 4000 samples)';
    expect(oneMoreLine({ oneMoreDevice }, PLAN)).toEqual([line]);
    // The plan's own interval ends at 88.6 %.
    const near = { ...oneMoreDevice, accuracyInterval: interval(0.886, 0.93) };
    expect(oneMoreLine({ oneMoreDevice: near }, PLAN)[0]).toMatch(
      /; the intervals overlap, so for other samples it is open whether that is more$/,
    );
    const frontier: GearExplanation['frontier'] = [
      { devices: 1, latencyMs: 30, accuracy: 0.7, accuracyInterval: interval(0.6856, 0.714) },
      { devices: 1, latencyMs: 60, accuracy: 0.75, accuracyInterval: interval(0.7363, 0.7632) },
      { devices: 2, latencyMs: 30 },
      { devices: 2, latencyMs: 60, accuracy: 0.8, accuracyInterval: interval(0.7873, 0.8121) },
    ];
    expect(frontierTable({ frontier })).toMatchObject({
      columns: ['devices', '≤ 30.0 ms', '≤ 60.0 ms'],
      rows: [
        ['1', '70.00 % (68.6–71.4)', '75.00 % (73.6–76.3)'],
        ['2', '—', '80.00 % (78.7–81.2)'],
      ],
    });
    expect(frontierTable({})).toMatchObject({ columns: ['devices'], rows: [] });
  });
});

describe('The answers of a simulated cascade', () => {
  const cascade: SimulatedCascade = {
    accuracy: 0.81234,
    plannedAccuracy: 0.87654,
    samples: 4000,
    shifts: 1234,
    answeredBy: [
      { stage: 'm0', share: 0.6, accuracy: 0.75 },
      { stage: 'm1', share: 0 },
    ],
    gears: [
      { fromRps: 0, toRps: 12.5, plannedShare: 0.25, share: 0.125 },
      { fromRps: 12.5, toRps: 100, plannedShare: 0.5, share: 0 },
      { fromRps: 100, toRps: 250, plannedShare: 0.25, share: 0.875 },
    ],
    windows: [
      { fromS: 0, accuracy: 0.5, p95Ms: 12.34, gear: 0 },
      { fromS: 10, gear: 2 },
    ],
  };
  const report = { cascade } as SimulationReport;
  const none = {} as SimulationReport;

  it('are reported beside what was planned', () => {
    expect(cascadeLines(report).map((line) => line.replaceAll(/\s/g, ' '))).toEqual([
      '81.23 % of answers right (planned 87.65 % over the distribution of loads), by records of 4 000 samples; 1 234 changes of gear',
    ]);
    const { accuracy: _, ...unanswered } = cascade;
    expect(cascadeLines({ ...report, cascade: unanswered })[0]).toMatch(
      /^— of answers right \(planned 87\.65 %/,
    );
    expect(cascadeLines(none)).toEqual([]);
  });

  it('are listed by model, by gear that was in force, and by window', () => {
    expect(answeredTable(report).rows).toEqual([
      ['m0', '60.0 %', '75.00 %'],
      ['m1', '0.0 %', '—'],
    ]);
    expect(gearUseTable(report).rows).toEqual([
      ['0 – 12.5', '12.5 %', '25.0 %'],
      ['100 – 250', '87.5 %', '25.0 %'],
    ]);
    // Gears are counted from 1 where a person reads of them.
    expect(cascadeWindowTable(report).rows).toEqual([
      ['0', '50.00 %', '12.3', '1'],
      ['10', '—', '—', '3'],
    ]);
  });

  it('have no rows in the report of another plan', () => {
    for (const table of [answeredTable, gearUseTable, cascadeWindowTable])
      expect(table(none).rows).toEqual([]);
  });
});

it('the table of a recorded family has a dash where certainty says nothing of right answers', () => {
  const models = [
    { name: 'tiny', accuracy: 0.75, auroc: 0.8125, calibrationError: 0.05 },
    { name: 'sure', accuracy: 1 },
  ];
  const { columns, rows } = familyTable({ records: 'records.csv', samples: 1500, models });
  expect(columns.map((name) => name.replaceAll(/\s/g, ' '))).toEqual([
    ...['1 500 samples', 'right', 'AUROC', 'calibration error'],
  ]);
  expect(rows).toEqual([
    ['tiny', '75.00 %', '0.813', '0.0500'],
    ['sure', '100.00 %', '—', '—'],
  ]);
});
