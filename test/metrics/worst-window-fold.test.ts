import { describe, expect, it } from 'vitest';
import { WorstWindowFold } from '../../src/metrics/index.js';
import { streamOf } from '../../src/random/index.js';

const [IN_TIME, LATE, DROPPED, FAILED] = [0, 1, 2, 3];

/** foldOf tells a fold of requests, each by the second that it came in and its outcome. */
function foldOf(
  requests: readonly (readonly [atS: number, outcome: number])[],
  { durationS, warmUpS = 0, seconds = [1] }: { durationS: number; warmUpS?: number; seconds?: number[] },
) {
  const fold = new WorstWindowFold({ durationNs: durationS * 1e9, warmUpNs: warmUpS * 1e9, seconds });
  for (const [atS, outcome] of requests) fold.ended(1e15, 0, 0, Math.round(atS * 1e9), outcome);
  return fold.figures();
}

describe('WorstWindowFold', () => {
  it('gives the least goodput and attainment and the largest drop rate, each of the window where it is worst', () => {
    const requests = [
      ...[0, 0.2, 0.4].map((at) => [at, IN_TIME] as const),
      ...[0.5, 0.6, 0.7].map((at) => [at, DROPPED] as const),
      [1, IN_TIME] as const,
      [1.999999999, IN_TIME] as const,
      ...[2, 2.1, 2.2, 2.3].map((at) => [at, IN_TIME] as const),
      [2.4, LATE] as const,
    ];
    expect(foldOf(requests, { durationS: 3, seconds: [1, 3] })).toEqual([
      { seconds: 1, leastGoodputRps: 2, leastAttainment: 0.5, largestDropRate: 0.5 },
      { seconds: 3, leastGoodputRps: 3, leastAttainment: 9 / 13, largestDropRate: 4 / 13 },
    ]);
  });

  it('leaves out a last window that is shorter, and lengths of which no whole window is in the run', () => {
    const requests = [
      [0.5, IN_TIME],
      [1.5, IN_TIME],
      [2.1, DROPPED],
    ] as const;
    expect(foldOf(requests, { durationS: 2.5, seconds: [1, 2, 3] })).toEqual([
      { seconds: 1, leastGoodputRps: 1, leastAttainment: 1, largestDropRate: 0 },
      { seconds: 2, leastGoodputRps: 1, leastAttainment: 1, largestDropRate: 0 },
    ]);
    expect(foldOf(requests, { durationS: 0.9 })).toEqual([]);
  });

  it('counts no window in which nothing came, and has no figures where that is every one', () => {
    const quiet = [
      [0.5, IN_TIME],
      [0.6, IN_TIME],
      [3.5, FAILED],
    ] as const;
    expect(foldOf(quiet, { durationS: 3 })).toEqual([
      { seconds: 1, leastGoodputRps: 2, leastAttainment: 1, largestDropRate: 0 },
    ]);
    expect(foldOf([], { durationS: 3, seconds: [1, 2] })).toEqual([{ seconds: 1 }, { seconds: 2 }]);
  });

  it('counts nothing of the warm-up, after which windows begin', () => {
    const requests = [
      [1, DROPPED],
      [1.5, IN_TIME],
      [2.4, DROPPED],
      [2.6, IN_TIME],
      [2.7, FAILED],
    ] as const;
    expect(foldOf(requests, { durationS: 2, warmUpS: 1.5 })).toEqual([
      { seconds: 1, leastGoodputRps: 1, leastAttainment: 0.5, largestDropRate: 0.5 },
    ]);
  });

  it('agrees with a search through all requests', () => {
    const { uniform } = streamOf(1, 'requests');
    const requests = Array.from(
      { length: 4000 },
      () => [uniform() * 100.3, Math.floor(4 * uniform() ** 2)] as const,
    );
    for (const figures of foldOf(requests, { durationS: 100.3, seconds: [1, 7, 10, 60] })) {
      const windows = Array.from({ length: Math.floor(100.3 / figures.seconds) }, (_, i) =>
        requests.filter(([at]) => at >= i * figures.seconds && at < (i + 1) * figures.seconds),
      );
      const share = (of: (typeof windows)[number], ...outcomes: number[]) =>
        of.filter(([, outcome]) => outcomes.includes(outcome)).length / of.length;
      expect(figures).toEqual({
        seconds: figures.seconds,
        leastGoodputRps: Math.min(
          ...windows.map((of) => of.filter(([, outcome]) => outcome === IN_TIME).length / figures.seconds),
        ),
        leastAttainment: Math.min(...windows.map((of) => share(of, IN_TIME as number))),
        largestDropRate: Math.max(...windows.map((of) => share(of, LATE as number, DROPPED as number))),
      });
    }
  });
});
