import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { beforeAll, describe, expect, it } from 'vitest';
import { cases } from '../cases.js';

interface Row {
  queue: string;
  servers: number;
  utilisation: number;
  measured: number;
  exact: number;
  error: number;
}

/** The length of the runs. Three standard deviations of a mean wait are 1 % of it at length 1. */
const scale = cases(0.08, 1);
const most = 0.01 / Math.sqrt(scale);
let rows: Row[];

/** The runs have a process of their own, which runs the built code. */
beforeAll(() => {
  const bench = createRequire(import.meta.url).resolve('#dist/bench/theory.js');
  const args = [bench, '--scale', String(scale), '--json', '-'];
  ({ rows } = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as { rows: Row[] });
});
const of = (queue: string) => rows.filter((row) => row.queue === queue);

describe('simulate(), against queueing theory', () => {
  it('matches the mean wait of M/M/1, ρ/(1 − ρ) services, within three standard deviations', () => {
    for (const { utilisation, measured } of of('M/M/1'))
      expect(Math.abs((measured * (1 - utilisation)) / utilisation - 1)).toBeLessThan(most);
    expect(of('M/M/1')).toHaveLength(2);
  });

  it('matches the mean wait of M/D/1, ρ/(2(1 − ρ)) services, within three standard deviations', () => {
    for (const { utilisation, measured } of of('M/D/1'))
      expect(Math.abs((measured * 2 * (1 - utilisation)) / utilisation - 1)).toBeLessThan(most);
    expect(of('M/D/1')).toHaveLength(2);
  });

  it('matches the mean wait of M/D/c, computed by Crommelin’s chain, within three standard deviations', () => {
    for (const { measured, exact } of of('M/D/c')) expect(Math.abs(measured / exact - 1)).toBeLessThan(most);
    expect(of('M/D/c')).toHaveLength(2);
  });
});
