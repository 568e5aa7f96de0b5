import { describe, expect, it } from 'vitest';
import { compared } from '../../bench/results/comparison.js';
import type { BenchResult } from '../../bench/results/result.js';
import { RESULT } from './results.js';

function tableOf(old: BenchResult, fresh: BenchResult): string[] {
  const result = compared(old, fresh);
  if (!result.alike) throw new Error(result.differences.join('; '));
  return result.table.split('\n');
}

function differencesOf(fresh: Partial<BenchResult>): readonly string[] {
  const result = compared(RESULT, { ...RESULT, ...fresh });
  return result.alike ? [] : result.differences;
}

/** cells gives the cells of a measure's line, without the measure's name. */
function cells(lines: readonly string[], name: string): string[] {
  const line = lines.find((one) => one.endsWith(`  ${name}`)) as string;
  return line.slice(0, -name.length).trim().split(/ {2,}/);
}

describe('compared()', () => {
  it('gives the medians, the spreads and the ratio of each measure', () => {
    const measures = [
      { name: '100 GPUs: requests/s', values: [150, 130, 190, 140] },
      { name: '100 GPUs: in time', values: [0.495] },
    ];
    const lines = tableOf(RESULT, { ...RESULT, commit: 'bbbbbbbbbbbb', measures });
    expect(lines[0]).toBe('simulate: aaaaaaaaaaaa → bbbbbbbbbbbb');
    // The medians are 100 and (140 + 150) / 2, and the ranges 20 and 60.
    expect(cells(lines, '100 GPUs: requests/s')).toEqual(['100', '20.0 %', '145', '41.4 %', '1.450']);
    expect(cells(lines, '100 GPUs: in time')).toEqual(['0.99', '–', '0.495', '–', '0.500']);
  });

  it('shows a measure that only one of the runs has, without a ratio', () => {
    const [first, second] = RESULT.measures as [BenchResult['measures'][0], BenchResult['measures'][0]];
    const added = { name: 'added: ms', values: [3] };
    const lines = tableOf(RESULT, { ...RESULT, measures: [added, first] });
    expect(lines.slice(2, 5).map((line) => line.split(/ {2,}/).at(-1))).toEqual([
      'added: ms',
      first.name,
      second.name,
    ]);
    expect(cells(lines, 'added: ms')).toEqual(['–', '–', '3', '–', '–']);
    expect(cells(lines, second.name)).toEqual(['0.99', '–', '–', '–', '–']);
  });

  it('gives no ratio for a figure that was 0', () => {
    const zero = { name: 'late', values: [0, 0] };
    const lines = tableOf({ ...RESULT, measures: [zero] }, { ...RESULT, measures: [zero] });
    expect(cells(lines, 'late')).toEqual(['0', '–', '0', '–', '–']);
  });

  it.each<[string, Partial<BenchResult>, string]>([
    ['bench', { bench: 'planner' }, 'bench: "simulate" and "planner"'],
    ['cpu', { machine: { cpu: 'Model B', cores: 2 } }, 'cpu: "Model A" and "Model B"'],
    ['number of cores', { machine: { cpu: 'Model A', cores: 4 } }, 'cores: 2 and 4'],
    ['Node major', { node: '22.0.0' }, 'Node major: "20" and "22"'],
    ['option', { options: { ...RESULT.options, requests: 10 } }, 'option requests: 2000 and 10'],
    ['option that is left out', { options: { requests: 2000 } }, 'option scheduler: "reservation" and none'],
    ['option that is added', { options: { ...RESULT.options, seed: 1 } }, 'option seed: none and 1'],
    [
      'input',
      { inputs: { 'published plans': 'b'.repeat(64) } },
      'input published plans: "aaaaaaaaaaaa" and "bbbbbbbbbbbb"',
    ],
    ['missing input', { inputs: {} }, 'input published plans: "aaaaaaaaaaaa" and none'],
    [
      'set of measures',
      { measures: [{ name: 'else', values: [1] }] },
      'measures: the runs have none in common',
    ],
  ])('refuses runs with another %s', (_, fresh, difference) => {
    expect(differencesOf(fresh)).toEqual([difference]);
  });

  it('names every difference at once', () => {
    const told = differencesOf({ bench: 'planner', node: '22.1.0', machine: { cpu: 'Model B', cores: 8 } });
    expect(told.map((one) => one.split(':')[0])).toEqual(['bench', 'cpu', 'cores', 'Node major']);
    // Another bench has other options and inputs anyway.
    expect(differencesOf({ bench: 'planner', options: {}, inputs: {} })).toHaveLength(1);
  });

  it('compares runs of different commits and of different minor versions of Node', () => {
    const { commit: _, ...elsewhere } = RESULT;
    expect(tableOf(elsewhere, { ...RESULT, node: '20.20.0' })[0]).toBe('simulate: no commit → aaaaaaaaaaaa');
  });
});
