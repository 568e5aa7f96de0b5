import { describe, expect, it } from 'vitest';
import type { CompareRow } from '../../../src/formats/index.js';
import type { PooledOutcome } from '../../../src/milp/index.js';
import { costPerMillion } from '../../../src/specs/cost-per-million.js';
import { withFrontier } from '../../../src/specs/frontier.js';
import type { CompareCase } from '../../../src/specs/pooled/cases.js';
import { rowOf } from '../../../src/specs/pooled/rows.js';

const rowsOf = (kind: 'latency' | 'accuracy', points: readonly [cost: number, value: number][]) =>
  points.map(
    ([hourlyCost, value]) =>
      ({
        mix: {},
        sloMs: [],
        status: 'feasible',
        hourlyCost,
        objective: { kind, value, bound: value },
      }) as CompareRow,
  );

const marksOf = (rows: readonly CompareRow[]) => withFrontier(rows).map(({ frontier }) => frontier);

describe('withFrontier()', () => {
  it('prefers less latency, of which none is the least, at any cost, of which none is the least too', () => {
    const points: [number, number][] = [
      [1, 0],
      [2, 0],
      [0, 3],
      [0, 4],
      [0.5, 3],
      [0.5, 2],
    ];
    expect(marksOf(rowsOf('latency', points))).toEqual([true, false, true, false, false, true]);
  });

  it('prefers more accuracy', () => {
    const points: [number, number][] = [
      [1, 0.5],
      [2, 0.5],
      [0, 0],
      [0.5, 0],
    ];
    expect(marksOf(rowsOf('accuracy', points))).toEqual([true, false, true, false]);
  });

  it('has only the cheapest of plans that meet the same at least cost, whatever they could serve besides', () => {
    const rows = [3, 2, 2].map((cost, i) => ({
      ...({ mix: {}, sloMs: [], status: 'optimal', hourlyCost: cost, throughputRps: 100 - i } as const),
      objective: { kind: 'cost' as const, value: cost, bound: cost, gap: 0 },
    }));
    expect(marksOf(rows)).toEqual([false, true, true]);
    const power = rows.map((row, i) => ({
      ...row,
      objective: { ...row.objective, kind: 'power' as const, value: [40, 50, 60][i] as number },
    }));
    expect(marksOf(power)).toEqual([true, true, false]);
  });

  it('takes figures as equal that differ by rounding', () => {
    const points: [number, number][] = [
      [1, 3],
      [1 + 1e-12, 3 - 1e-12],
    ];
    expect(marksOf(rowsOf('latency', points))).toEqual([true, true]);
  });
});

describe('rowOf()', () => {
  const rowWith = (throughputRps: number, heldRps: number) => {
    const partition = { device: 'L4', gpus: 1, throughputRps: 10 };
    const plan = {
      status: 'feasible',
      objective: { kind: 'throughput', value: 0, bound: 0 },
      models: [
        { name: 'a', throughputRps, heldRps, pipelines: [{ throughputRps, partitions: [partition] }] },
      ],
      classes: { L4: { used: 1, count: 1 } },
      cluster: { devices: { L4: { hourlyCost: 2 } } },
      hold: { value: heldRps, bound: 10 },
    };
    const asked = { mix: { L4: 1 }, spec: { models: [{ sloMs: 10 }] } } as unknown as CompareCase;
    return rowOf(asked, { status: 'feasible', plan } as unknown as PooledOutcome);
  };

  it('gives the cost of a million requests at the planned and at the held rate', () => {
    const row = rowWith(10, 5);
    expect(row.costPerMillionRequests).toBeCloseTo((2 / 36_000) * 1e6, 9);
    expect(row.costPerMillionHeld).toBeCloseTo((2 / 18_000) * 1e6, 9);
  });

  it('has only figures that JSON can say where a plan holds or serves nothing', () => {
    for (const row of [rowWith(10, 0), rowWith(0, 0)]) {
      expect(row.costPerMillionHeld).toBeUndefined();
      expect(row.hourlyCost).toBe(2);
      expect(JSON.parse(JSON.stringify(row))).toEqual(row);
    }
    expect(rowWith(0, 0).costPerMillionRequests).toBeUndefined();
  });
});

describe('costPerMillion()', () => {
  it('is undefined without a price, a rate, or anything that is served', () => {
    expect(costPerMillion(undefined, 1)).toBeUndefined();
    expect(costPerMillion(1, undefined)).toBeUndefined();
    expect([costPerMillion(1, 0), costPerMillion(0, 0)]).toEqual([undefined, undefined]);
    expect(costPerMillion(0, 5)).toBe(0);
  });
});
