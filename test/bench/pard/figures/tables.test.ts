import { describe, expect, it } from 'vitest';
import type { FigureRow } from '../../../../bench/pard/figures/figure-rows.js';
import { pairedSpread, pointsText, spreadOf, verdictOf } from '../../../../bench/pard/figures/spread.js';
import {
  ablationTable,
  branchTable,
  byWorkload,
  goodputTable,
  markdown,
  rateTable,
} from '../../../../bench/pard/figures/tables.js';

describe('spreadOf()', () => {
  it('gives two standard errors of the mean', () => {
    // The deviation of 1, 2, 3 is 1.
    const { mean, twoErrors } = spreadOf([1, 2, 3]);
    expect(mean).toBe(2);
    expect(twoErrors).toBeCloseTo(2 / Math.sqrt(3), 12);
    expect(spreadOf([7])).toEqual({ mean: 7, twoErrors: 0 });
  });

  it('compares seed by seed', () => {
    expect(pairedSpread([1, 5, 9], [0, 4, 8])).toEqual({ mean: 1, twoErrors: 0 });
    expect(verdictOf({ mean: -1, twoErrors: 0.5 })).toBe('lower');
    expect(verdictOf({ mean: 1, twoErrors: 0.5 })).toBe('higher');
    expect(verdictOf({ mean: -1, twoErrors: 1 })).toBe('alike');
    expect(pointsText({ mean: -0.01, twoErrors: 0.002 })).toBe('−1.00 ± 0.20');
  });
});

const ROW: FigureRow = {
  application: 'lv',
  trace: 'tweet',
  seed: 0,
  server: 'pard',
  arrived: 100,
  lateRate: 0,
  invalidRate: 0,
  dropRate: 0,
  goodputRps: 1,
  needing: { seconds: 10, offeredRps: 4, goodputRps: 2 },
  worstDropRate: [0, 0, 0],
  stages: ['a'],
  dropsAt: [1],
  waitMs: [1],
  batch: [1],
  workers: [1],
};

function rows(of: Readonly<Record<string, readonly number[]>>, more: Partial<FigureRow> = {}): FigureRow[] {
  return Object.entries(of).flatMap(([server, rates]) =>
    rates.map((dropRate, seed) => ({ ...ROW, ...more, server, seed, dropRate, goodputRps: 1 - dropRate })),
  );
}

describe('rateTable()', () => {
  it('says whom PARD is not below', () => {
    const all = byWorkload(
      rows({ pard: [0.02, 0.04], nexus: [0.06, 0.09], naive: [0.03, 0.03], 'clipper++': [0.01, 0.03] }),
    );
    const [head, line] = rateTable(all, ({ dropRate }) => dropRate, false);
    expect(head).toEqual(['workload', 'pard', 'nexus', 'naive', 'clipper++', 'pard is']);
    expect(line).toEqual([
      ...['lv-tweet', '3.00 ± 2.00', '7.50 ± 3.00 (2.5×)', '3.00 ± 0.00 (1.0×)', '2.00 ± 2.00 (0.67×)'],
      'like naive, above clipper++',
    ]);
  });
});

describe('goodputTable()', () => {
  it('reports gains in percent, overall and where dropping is needed', () => {
    const more = { needing: { seconds: 10, offeredRps: 4, goodputRps: 1.6 } };
    const all = byWorkload([...rows({ pard: [0] }), ...rows({ naive: [0.2] }, more)]);
    expect(goodputTable(all)[1]).toEqual(['lv-tweet', '1', '+25.0', '10', '4', '2', '+25.0']);
  });
});

describe('ablationTable()', () => {
  it('compares with PARD seed by seed', () => {
    const all = byWorkload(rows({ pard: [0.02, 0.04], 'pard-hbf': [0.01, 0.03], 'pard-oc': [0.5, 0.52] }));
    const [, pard, hbf, oc] = ablationTable(all[0] as (typeof all)[number]);
    expect(pard?.slice(0, 4)).toEqual(['pard', '3.00 ± 2.00', '', '']);
    expect(hbf?.slice(0, 4)).toEqual(['pard-hbf', '2.00 ± 2.00', '−1.00 ± 0.00', 'lower']);
    expect(oc?.slice(2, 4)).toEqual(['+48.00 ± 0.00', 'higher']);
  });
});

describe('branchTable()', () => {
  it('says how many times more is dropped with branches', () => {
    const all = byWorkload([
      ...rows({ pard: [0.1, 0.1] }, { application: 'da' }),
      ...rows({ pard: [0.12, 0.12] }, { application: 'da-branch' }),
    ]);
    expect(branchTable(all)[1]).toEqual(['tweet', '10.00 ± 0.00', '12.00 ± 0.00', '0.20×']);
  });
});

it('markdown() has the first column to the left', () => {
  expect(
    markdown([
      ['a', 'b'],
      ['c', '1'],
    ]),
  ).toBe('| a | b |\n| --- | ---: |\n| c | 1 |\n');
});
