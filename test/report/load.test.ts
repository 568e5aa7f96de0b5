import { describe, expect, it } from 'vitest';
import type { LoadReport } from '../../src/loadgen/index.js';
import { loadTable } from '../../src/report/index.js';

const REPORT: LoadReport = {
  url: 'http://127.0.0.1:8000',
  model: 'm',
  arrivals: 'poisson',
  seed: 0,
  rows: 1,
  rps: 10,
  durationS: 10,
  elapsedS: 10,
  sent: 100,
  answered: 40,
  inTime: 40,
  late: 0,
  dropped: 0,
  failed: 60,
  cancelled: 0,
  failures: { 'status 500: a': 10, 'status 400: b': 45, c: 1, d: 1, e: 1, f: 1, g: 1 },
  throughputRps: 4,
  goodputRps: 4,
  sentRps: 10,
  warnings: [],
};

describe('loadTable()', () => {
  const rowsOf = (report: LoadReport) => loadTable(report).rows.map((row) => row.slice(0, 3));

  it('shows why requests failed, the most frequent reasons first, and adds up the rest', () => {
    const rows = rowsOf(REPORT);
    const failed = rows.findIndex(([name]) => name === 'failed');
    expect(rows.slice(failed, failed + 7)).toEqual([
      ['failed', '60', '60.0 %'],
      ['', '45', 'status 400: b'],
      ['', '10', 'status 500: a'],
      ['', '1', 'c'],
      ['', '1', 'd'],
      ['', '1', 'e'],
      ['', '2', 'for other reasons'],
    ]);
  });

  it('has no such rows without failures, and counts cancelled requests', () => {
    const rows = rowsOf({ ...REPORT, failed: 0, failures: {}, cancelled: 3 });
    expect(rows.filter(([name]) => name === '')).toEqual([]);
    expect(rows.find(([name]) => name === 'cancelled')).toEqual([
      'cancelled',
      '3',
      'still open when it ended',
    ]);
  });

  it('says where a load was interrupted', () => {
    const sent = (report: LoadReport) => rowsOf(report)[0]![2];
    expect(sent({ ...REPORT, complete: false, elapsedS: 4 })).toBe(
      '10.0 requests/s, asked for 10.0, interrupted at 4.00 of 10.0 s',
    );
    expect(sent({ ...REPORT, complete: true })).toBe('10.0 requests/s, asked for 10.0');
  });
});
