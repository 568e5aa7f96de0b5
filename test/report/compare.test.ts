import { describe, expect, it } from 'vitest';
import { tableText } from '../../src/cli/table-text.js';
import type { CompareRow, ComparisonDocument } from '../../src/formats/index.js';
import { compareHeadline, compareNotes, compareTable } from '../../src/report/index.js';

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
    expect(compareTable(documentOf([ROW]), 'pooled-plan')).toMatchObject({
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
    expect(compareHeadline(documentOf(many), 'pooled-plan')).toContain('SLO 3.119x, margin 0.03333');
  });
});

describe('a comparison on a screen of 80 columns', () => {
  it('keeps its rows in a line each, and names the columns that it leaves out', async () => {
    const row: CompareRow = {
      ...ROW,
      mix: { L4: 25, T4: 75 },
      slo: '9.763x',
      margin: 0.4,
      hourlyCost: 12.4,
      frontier: true,
      costPerMillionRequests: 4.63,
      heldRps: 110,
      costPerMillionHeld: 5.21,
    };
    const rows = Array.from({ length: 8 }, (_, i) => ({ ...row, margin: 0.4 + i / 100 }));
    const table = compareTable(documentOf(rows), 'pooled-plan');
    const text = await tableText(table, { columns: 80, head: (head) => head });
    const lines = text.trimEnd().split('\n');
    // One line has the headings, and two say what is left out.
    expect(lines).toHaveLength(11);
    expect(lines[1]).toMatch(/^25 L4 \+ 75 T4 .* \*$/);
    expect(lines.slice(-2).join(' ')).toBe(
      'left out to fit 80 columns: utilisation, gap, cost/million held, cost/million, plan; --json has all',
    );
  });
});

describe('a comparison by cost', () => {
  const costing = (mix: Record<string, number>, used: Record<string, number>, cost: number): CompareRow => ({
    ...ROW,
    mix,
    used,
    hourlyCost: cost,
    objective: { kind: 'cost', value: cost, bound: cost, gap: 0 },
  });
  const rows = [
    costing({ L4: 9, T4: 4 }, { L4: 2, T4: 1 }, 2.1),
    costing({ L4: 0, T4: 8 }, { L4: 0, T4: 8 }, 2.8),
    costing({ L4: 4, T4: 4 }, { L4: 2, T4: 1 }, 2.1),
  ];

  it('says in its first line what to buy, in the currency of the cluster', () => {
    expect(compareHeadline(documentOf(rows), 'pooled-plan')).toBe(
      '3 compared: 3 with a plan; cheapest: 2.10 per hour with 2 L4 + 1 T4',
    );
    expect(compareHeadline({ ...documentOf(rows), currency: 'USD' }, 'pooled-plan')).toContain(
      'cheapest: 2.10 USD per hour',
    );
    const power = rows.map((row) => ({ ...row, objective: { ...row.objective, kind: 'power' } as const }));
    expect(compareHeadline(documentOf(power as CompareRow[]), 'pooled-plan')).toContain(
      'least power: 2.10 W with 2 L4 + 1 T4',
    );
  });

  it('shows the devices in use, and mixes of which the same are used as one', () => {
    const { columns, rows: shown } = compareTable(documentOf(rows), 'pooled-plan');
    expect(columns.slice(0, 3)).toEqual(['mix', 'plan', 'devices used']);
    expect(shown.map((row) => row.slice(0, 3))).toEqual([
      ['4 L4 + 4 T4 (and 1 more)', 'optimal', '2 L4 + 1 T4'],
      ['8 T4', 'optimal', '8 T4'],
    ]);
  });

  it('rounds SLOs that can be met up, since shorter ones cannot be', () => {
    const [first] = rows as [CompareRow];
    const { objective: _, used: __, ...without } = first;
    const least = { ...without, status: 'infeasible' as const, smallestFeasibleSloMs: 123.4 };
    const { columns, rows: shown } = compareTable(documentOf([least, first]), 'pipeline-plan');
    expect(shown[0]?.[columns.indexOf('least SLO ms')]).toBe('123.4');
  });

  it('keeps apart what reaches something else with the same GPUs, and says bounds that are not reached', () => {
    const [first] = rows as [CompareRow];
    const other = { ...first, slo: '5x' };
    const objective = { kind: 'cost', value: 2.1, bound: 2, gap: 0.05 } as const;
    const near = { ...first, status: 'feasible' as const, objective };
    const { columns, rows: shown } = compareTable(documentOf([first, other, near]), 'pooled-plan');
    expect(shown).toHaveLength(2);
    expect(columns.slice(-2)).toEqual(['bound', 'gap']);
  });
});

describe('compareHeadline()', () => {
  const mixOf = (mix: Record<string, number>, value: number, throughputRps: number, hourlyCost: number) => ({
    ...ROW,
    mix,
    used: mix,
    throughputRps,
    hourlyCost,
    objective: { kind: 'throughput', value, bound: value, gap: 0 } as const,
    models: [
      { name: 'a', throughputRps: value },
      { name: 'b', throughputRps: throughputRps - value },
    ],
  });
  const headline = (rows: readonly CompareRow[]) => compareHeadline(documentOf(rows), 'pooled-plan');

  it('ranks mixes as the objective does, and of equally good ones names the cheapest', () => {
    const dear = mixOf({ L4: 7 }, 89.1, 313, 4.9);
    const cheap = mixOf({ L4: 6, P4: 1 }, 89.1 * (1 - 1e-12), 267, 4.5);
    expect(headline([dear, cheap])).toContain('most requests/s per unit of weight: 89.1 with 6 L4 + 1 P4');
    expect(headline([cheap, { ...dear, objective: { ...dear.objective, value: 90 } }])).toContain(
      'most requests/s per unit of weight: 90.0 with 7 L4',
    );
    const one = { ...ROW, hourlyCost: 2 };
    expect(headline([one, { ...one, used: { T4: 1 }, hourlyCost: 1 }])).toContain(
      'most requests/s: 120 with 1 T4',
    );
  });

  it('ranks mixes by what they hold where that was searched', () => {
    const hold = (heldRps: number) => ({ heldRps, hold: { value: heldRps, bound: 130 } });
    const rows = [
      { ...ROW, ...hold(80) },
      { ...ROW, ...hold(90), throughputRps: 110, used: { T4: 9 } },
    ];
    expect(headline(rows)).toContain('most requests/s held: 90.0 with 9 T4');
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
    const notes = compareNotes(documentOf([ROW, ...new Array<CompareRow>(12).fill(bad)], 20));
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
      mix: { L4: devices },
      sloMs: [50],
      status: 'optimal',
      hourlyCost: 1,
      objective: { kind: 'accuracy', value: accuracy, bound: accuracy, gap: 0 },
      accuracy,
      accuracyInterval: { low, high, samples: 400 },
    });
    const rows = [cascade(1, 0.8, [0.75, 0.84]), cascade(2, 0.85, [0.81, 0.88]), cascade(3, 0.6, [0.5, 0.7])];
    expect(compareNotes(documentOf(rows))).toEqual([
      '2 L4 is the most accurate on these records; the intervals of 1 of the 2 less accurate plans overlap with its own, so for other samples their order is open',
    ]);
    expect(compareNotes(documentOf([rows[1], rows[2]] as CompareRow[]))).toEqual([]);
    expect(compareNotes(documentOf([rows[1], rows[1]] as CompareRow[]))).toEqual([]);
    expect(compareNotes(documentOf([rows[0], rows[1]] as CompareRow[]))).toEqual([
      '2 L4 is the most accurate on these records; the interval of the less accurate plan overlaps with its own, so for other samples their order is open',
    ]);
    const summary = compareHeadline(
      documentOf(new Array<CompareRow>(20).fill(rows[1] as CompareRow)),
      'gear-plan',
    );
    expect(summary).toContain('; most accurate on these records: 85.00 % (81.0–88.0) with 2 L4');
  });
});
