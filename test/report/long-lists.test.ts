import { expect, it } from 'vitest';
import type { CompareRow, ComparisonDocument } from '../../src/formats/index.js';
import { chainLines, compareHeadline, warningLines } from '../../src/report/index.js';

function rowsOf(count: number, row: (i: number) => Partial<CompareRow>): ComparisonDocument {
  const rows = Array.from({ length: count }, (_, i): CompareRow => {
    const mix = { L4: i + 1 };
    return { mix, sloMs: [50], status: 'optimal', hourlyCost: 1, ...row(i) } as CompareRow;
  });
  const tool = { name: 'inferplan', version: '0' };
  return { kind: 'comparison', version: '1.0', tool, inputs: [], complete: true, cases: count, rows };
}

it('compareHeadline() sums up a long table by how many mixes have a plan, the fastest and the cheapest', () => {
  const document = rowsOf(150, (i) =>
    i < 30
      ? { status: 'infeasible', throughputRps: 1e6 }
      : { throughputRps: 200 - Math.abs(i - 99), costPerMillionRequests: 10 + Math.abs(i - 49), slo: '5x' },
  );
  expect(compareHeadline(document, 'pooled-plan')).toBe(
    '150 compared: 120 with a plan; most requests/s: 200 with 100 L4, SLO 5x; least cost/million: 10.0 with 50 L4, SLO 5x',
  );
  expect(compareHeadline({ ...document, currency: 'EUR' }, 'pooled-plan')).toContain('10.0 EUR with 50 L4');
  expect(
    compareHeadline(
      rowsOf(25, () => ({ status: 'infeasible' })),
      'pooled-plan',
    ),
  ).toBe('25 compared: 0 with a plan');
});

/** lines gives the lines of a profile with these warnings. */
const lines = (warnings: string[]) =>
  warningLines({ devices: { cpu: { blockLatencyUs: {} } }, measurement: { warnings } });

it('warningLines() joins many warnings about unfit figures into one line, and keeps the others', () => {
  const unfit = Array.from(
    { length: 24 },
    (_, i) => `cpu 1/1 batch ${i}: 7 of 9 figures are unfit (block 1), for example`,
  );
  const one = 'cpu 1/2 batch 1 block 3 is unfit: it varies';
  const other = 'float16 at the boundaries makes outputs infinite';
  expect(lines([one, other])).toEqual([one, other]);
  const told = lines([...unfit, other, one]);
  expect(told).toEqual([expect.stringContaining('unfit at 25 combinations'), other]);
  expect(told[0]).toContain(unfit[0]);
});

it('warningLines() gives one line for each kind, whatever place or figure a warning names', () => {
  const sum = (batch: number, ratio: number) =>
    `cpu 1/2 batch ${batch}: sum of blocks is ${ratio} of the whole model: plans promise less than the whole model does`;
  const output = (name: string) => `output ${name} is not a tensor: it is neither measured nor served`;
  const told = lines([sum(1, 1.41), output('a'), sum(2, 1.5), output('b'), 'the model draws', sum(4, 2)]);
  expect(told).toEqual([
    `${sum(1, 1.41)} (and 2 more like it, in measurement.warnings of the profile)`,
    `${output('a')} (and 1 more like it, in measurement.warnings of the profile)`,
    'the model draws',
  ]);
});

it('chainLines() distinguishes what cuts change from what optimizations change', () => {
  const exact = { largestDifference: 0, servedDifference: 0, levelsDifference: 0 };
  expect(chainLines(exact)).toHaveLength(1);
  expect(chainLines({ ...exact, servedDifference: 2e-7, levelsDifference: 3e-7 })).toEqual([
    expect.stringContaining('by at most 2.0e-7'),
    expect.stringContaining('off, they differ by at most 0.0e+0'),
  ]);
  const [, , quantized] = chainLines({ ...exact, servedDifference: 1e-2, levelsDifference: 7e-2 });
  expect(quantized).toMatch(/whole model differs from itself by at most 7.0e-2.*ONNX Runtime's/);
});
