import { describe, expect, it } from 'vitest';
import type { CompareRow, ComparisonDocument } from '../../src/artifacts/index.js';
import { compareNotes, compareTable } from '../../src/report/index.js';

const ROW: CompareRow = {
  mix: { L4: 2, T4: 0 },
  sloMs: [50],
  status: 'optimal',
  objective: { kind: 'throughput', value: 120, bound: 120, gap: 0 },
  throughputRps: 120,
  models: [{ name: 'm', throughputRps: 120 }],
  used: { L4: 2, T4: 0 },
  utilisation: 0.5,
};

function documentOf(rows: readonly CompareRow[], cases = rows.length): ComparisonDocument {
  const tool = { name: 'inferplan', version: '0' };
  const complete = rows.length === cases;
  return { kind: 'comparison', version: '1.0', tool, inputs: [], complete, cases, rows };
}

describe('compareTable()', () => {
  it('leaves out the columns that no row fills', () => {
    expect(compareTable(documentOf([ROW]), 'pooled-plan')).toEqual({
      columns: ['mix', 'plan', 'requests/s', 'utilisation', 'gap'],
      rows: [['2 L4', 'optimal', '120', '50.0 %', '0.00 %']],
    });
    const full = {
      ...ROW,
      slo: '5x',
      margin: 0.4,
      hourlyCost: 2,
      costPerMillionRequests: 4.63,
      frontier: true,
    };
    const { columns, rows } = compareTable(
      documentOf([full, { ...ROW, status: 'infeasible', reasons: ['no'] }]),
      'pooled-plan',
    );
    expect(columns).toContain('cost/million');
    expect(rows[0]).toEqual([
      '2 L4',
      '5x',
      '40.0 %',
      'optimal',
      '120',
      '2.00',
      '4.63',
      '50.0 %',
      '0.00 %',
      '*',
    ]);
    expect(rows.every((row) => row.length === columns.length)).toBe(true);
  });

  it('shows the swept values with at most four significant digits', () => {
    const slos = ['9.76271186441x', '0.123456 ms', '123456.789 ms', '50 ms', '10x'];
    const { rows } = compareTable(documentOf(slos.map((slo) => ({ ...ROW, slo }))), 'pooled-plan');
    expect(rows.map(([, slo]) => slo)).toEqual(['9.763x', '0.1235 ms', '123457 ms', '50 ms', '10x']);
    const many = new Array(20).fill({ ...ROW, slo: '3.11864406780x', margin: 0.0333333333 });
    expect(compareNotes(documentOf(many), 'pooled-plan').join()).toContain('SLO 3.119x, margin 0.03333');
  });
});

describe('compareNotes()', () => {
  it('says why plans are missing, for ten of them, and that costs are not known', () => {
    const bad: CompareRow = {
      mix: { L4: 1 },
      sloMs: [1],
      status: 'infeasible',
      reasons: ['too slow', 'b', 'c'],
    };
    const notes = compareNotes(documentOf([ROW, ...new Array<CompareRow>(12).fill(bad)], 20), 'pooled-plan');
    expect(notes[0]).toBe('no plan with 1 L4: too slow (and 2 more)');
    expect(notes).toHaveLength(13);
    expect(notes.slice(10)).toEqual([
      '… and 2 more without a plan; --json says why',
      'classes without hourlyCost: no cost and no frontier for the plans that use them',
      'interrupted: 13 of 20 are done',
    ]);
  });

  it('says of cascades whose intervals overlap that which is more accurate for other samples is open', () => {
    const cascade = (devices: number, accuracy: number, [low, high]: [number, number]): CompareRow => ({
      ...{ mix: { L4: devices }, sloMs: [50], status: 'optimal', hourlyCost: 1 },
      ...{ objective: { kind: 'accuracy', value: accuracy, bound: accuracy, gap: 0 }, accuracy },
      accuracyInterval: { low, high, samples: 400 },
    });
    const rows = [cascade(1, 0.8, [0.75, 0.84]), cascade(2, 0.85, [0.81, 0.88]), cascade(3, 0.6, [0.5, 0.7])];
    expect(compareNotes(documentOf(rows), 'gear-plan')).toEqual([
      '2 L4 is the most accurate on these records; the intervals of 1 of the 2 less accurate plans overlap with its own, so for other samples their order is open',
    ]);
    expect(compareNotes(documentOf([rows[1], rows[2]] as CompareRow[]), 'gear-plan')).toEqual([]);
    expect(compareNotes(documentOf([rows[1], rows[1]] as CompareRow[]), 'gear-plan')).toEqual([]);
    const summary = compareNotes(
      documentOf(new Array<CompareRow>(20).fill(rows[1] as CompareRow)),
      'gear-plan',
    ).at(-1);
    expect(summary).toContain('; most accurate on these records: 85.00 % (81.0–88.0) with 2 L4');
  });
});
