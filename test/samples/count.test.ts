import { describe, expect, it } from 'vitest';
import type { PipelinePlan } from '../../src/formats/index.js';
import type { RunPipeline } from '../../src/pipeline/index.js';
import { readStageGraph } from '../../src/plans/index.js';
import { countVerdicts, unplannable, verdictLines } from '../../src/samples/count.js';
import { NOT_REACHED } from '../../src/samples/run-samples.js';
import { recordsFrom } from '../../src/simulation/verdict-records.js';

const when = { output: 'y', atLeast: 0 };
const stages = [
  {
    name: 'a',
    next: [
      { to: 'b', probability: 1 / 3, when },
      { to: 'e' },
      { to: 'c', probability: 1 / 3, when },
      { to: 'd', probability: 1 / 3 },
    ],
  },
  { name: 'b', next: [{ to: 'e', probability: 0.5, when }] },
  { name: 'c', next: [] },
  { name: 'd', next: [] },
  { name: 'e', next: [] },
];
const exclusive = [['b', 'c', 'd']];
const pipeline: RunPipeline = { graph: readStageGraph({ stages, exclusive }).graph, stages, exclusive };

/** rows gives rows that take one of b (and from there e), c and d. */
function rows(times: Record<'be' | 'b' | 'c' | 'd', number>): Int32Array[] {
  const row = { be: [1, 1], b: [1, 0], c: [2, NOT_REACHED], d: [4, NOT_REACHED] } as const;
  return (['be', 'b', 'c', 'd'] as const).flatMap((kind) =>
    Array.from({ length: times[kind] }, () => {
      const [a, b] = row[kind];
      const to = kind === 'c' ? [0, NOT_REACHED] : [NOT_REACHED, kind === 'd' ? 0 : NOT_REACHED];
      return Int32Array.of(a, b, ...to, 0);
    }),
  );
}

describe('countVerdicts()', () => {
  it('counts who came to each stage, and which edges were taken', () => {
    const counted = countVerdicts(rows({ be: 20, b: 20, c: 30, d: 30 }), pipeline);
    expect(counted.map(({ name, visits, scaleFactor }) => [name, visits, scaleFactor.share])).toEqual([
      ['a', 100, 1],
      ['b', 40, 0.4],
      ['c', 30, 0.3],
      ['d', 30, 0.3],
      ['e', 100, 1],
    ]);
    expect(
      counted.flatMap(({ name, edges }) => edges.map(({ to, at, taken, of }) => [name, to, at, taken, of])),
    ).toEqual([
      ['a', 'b', 0, 40, 100],
      ['a', 'c', 2, 30, 100],
      ['a', 'd', 3, 30, 100],
      ['b', 'e', 0, 20, 40],
    ]);
    expect(unplannable(counted)).toEqual([]);
  });

  it('rounds exclusive shares so that they sum to 1', () => {
    const [a] = countVerdicts(rows({ be: 30, b: 30, c: 60, d: 60 }), pipeline);
    const shares = a?.edges.map(({ probability }) => probability) ?? [];
    expect(shares).toEqual([0.333334, 0.333333, 0.333333]);
    expect(Math.round(1e6 * shares.reduce((sum, share) => sum + share, 0))).toBe(1e6);
  });

  it('is written as records that a simulation reads as the same verdicts', async () => {
    const all = rows({ be: 2, b: 1, c: 1, d: 1 });
    const text = verdictLines(all, pipeline);
    expect(text.split('\n').slice(0, 5)).toEqual([
      'a>b,a>c,a>d,b>e',
      '1,0,0,1',
      '1,0,0,1',
      '1,0,0,0',
      '0,1,0,',
    ]);
    const records = await recordsFrom(text, { stages, exclusive } as unknown as PipelinePlan);
    expect('verdicts' in records && [...(records.verdicts[0] as Int32Array)]).toEqual([1, 1, 1, 2, 4]);
    expect('verdicts' in records && [...(records.verdicts[1] as Int32Array)]).toEqual([1, 1, 0, 0, 0]);
  });
});

describe('unplannable()', () => {
  const told = (times: Parameters<typeof rows>[0]) =>
    unplannable(countVerdicts(rows(times), pipeline)).map(({ path, message }) => `${path}: ${message}`);

  it('reports edges that were decided too rarely, or never', () => {
    expect(told({ be: 14, b: 15, c: 30, d: 30 })).toEqual([
      '/stages/1/next/0: b>e was decided for 29 samples; give as many that at least 30 come to b',
    ]);
    expect(told({ be: 15, b: 15, c: 30, d: 30 })).toEqual([]);
    expect(told({ be: 0, b: 0, c: 30, d: 30 })[1]).toBe(
      '/stages/1/next/0: b>e is not known: no sample came to b',
    );
  });

  it('reports edges that were never or always taken, with what is known of their share', () => {
    expect(told({ be: 0, b: 100, c: 1, d: 1 })).toEqual([
      '/stages/1/next/0: b>e was taken by none of 100 samples, so it is rarer than 3.7 %; give samples that take it, or leave the edge out',
    ]);
    expect(told({ be: 100, b: 0, c: 1, d: 1 })).toEqual([
      '/stages/1/next/0: b>e was taken by all of 100 samples, so at least by 96 %; give samples that do not take it, or leave its condition out',
    ]);
  });
});
