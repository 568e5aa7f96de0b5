import { describe, expect, it } from 'vitest';
import { type HoldDone, HoldReport, holdText } from '../../../src/specs/pooled/hold-report.js';

describe('HoldReport', () => {
  it('reports every step and every run, and counts the runs of one rate', () => {
    const told: HoldDone[] = [];
    const report = new HoldReport((done) => told.push(done));
    report.began({ phase: 'ranking', done: 1, of: 6, value: 12.5 });
    report.simulated([1, 2]);
    report.simulated([1, 2]);
    report.simulated([1, 1.9]);
    report.began({ phase: 'confirming', done: 0 });
    report.simulated([1, 1.9]);
    expect(told.map(({ phase, runsOfRates, runs }) => [phase, runsOfRates, runs])).toEqual([
      ['ranking', 0, 0],
      ['ranking', 1, 1],
      ['ranking', 2, 2],
      ['ranking', 1, 3],
      ['confirming', 0, 3],
      ['confirming', 1, 4],
    ]);
  });
});

describe('holdText()', () => {
  const at = { done: 1, runsOfRates: 3, runs: 40 };

  it('says another thing in every phase, and something new after every run', () => {
    const phases = ['trying', 'ranking', 'moving', 'confirming', 'lowering'] as const;
    const texts = phases.flatMap((phase) =>
      [40, 41].map((runs) => holdText({ ...at, phase, of: 6, value: 12.5, runs }, 8)),
    );
    expect(new Set(texts).size).toBe(10);
    expect(texts[2]).toBe('comparing what plans hold: plan 2 of at most 6, best 12.5000 (40 runs simulated)');
  });

  it('names the run of those that confirm, and no number beyond them', () => {
    const text = (runsOfRates: number) => holdText({ ...at, phase: 'confirming', runsOfRates }, 8);
    expect(text(3)).toContain('run 4 of 8');
    expect(text(8)).toContain('run 8 of 8');
  });
});
