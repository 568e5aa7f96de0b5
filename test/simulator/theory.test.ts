import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';

interface Row {
  queue: string;
  servers: number;
  utilisation: number;
  measured: number;
  exact: number;
  error: number;
}

/** The runs are long, so they have a process of their own, which runs the built code. */
const { rows } = JSON.parse(
  execFileSync(
    process.execPath,
    [createRequire(import.meta.url).resolve('#dist/bench/theory.js'), '--json', '-'],
    {
      encoding: 'utf8',
    },
  ),
) as { rows: Row[] };
const of = (queue: string) => rows.filter((row) => row.queue === queue);

describe('simulate(), against queueing theory', () => {
  it('matches the mean wait of M/M/1, ρ/(1 − ρ) services, within 1 %', () => {
    for (const { utilisation, measured } of of('M/M/1'))
      expect(Math.abs((measured * (1 - utilisation)) / utilisation - 1)).toBeLessThan(0.01);
    expect(of('M/M/1')).toHaveLength(2);
  });

  it('matches the mean wait of M/D/1, ρ/(2(1 − ρ)) services, within 1 %', () => {
    for (const { utilisation, measured } of of('M/D/1'))
      expect(Math.abs((measured * 2 * (1 - utilisation)) / utilisation - 1)).toBeLessThan(0.01);
    expect(of('M/D/1')).toHaveLength(2);
  });

  it('matches the mean wait of M/D/c, computed by Crommelin’s chain, within 1 %', () => {
    for (const { measured, exact } of of('M/D/c')) expect(Math.abs(measured / exact - 1)).toBeLessThan(0.01);
    expect(of('M/D/c')).toHaveLength(2);
  });
});
