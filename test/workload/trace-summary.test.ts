import { expect, test } from 'vitest';
import { streamOf } from '../../src/random/index.js';
import { arrivalTimes, parseTrace, summarizeTrace } from '../../src/workload/index.js';

test('summarizeTrace() gives requests, rates by window, and gaps of arrivals', () => {
  expect(summarizeTrace(parseTrace('1\n1.5\n1.5\n4\n9\n'), 2)).toEqual({
    kind: 'arrivals',
    format: 'arrivals',
    requests: 5,
    durationS: 9,
    meanRps: 0.5,
    // The windows have 3, 0, 1, 0 and 1 requests. Their mean is 1 and their variance 6/5.
    windows: {
      lengthS: 2,
      count: 5,
      empty: 2,
      peakRps: 1.5,
      peakFromS: 0,
      dispersion: expect.closeTo(1.2, 12),
    },
    // The gaps are 0.5, 0, 2.5 and 5 s.
    gaps: {
      meanS: 2,
      cv: expect.closeTo(Math.sqrt((1.5 ** 2 + 2 ** 2 + 0.5 ** 2 + 3 ** 2) / 4) / 2, 12),
      p50S: 0.5,
      p99S: 5,
      longestS: 5,
      longestFromS: 4,
    },
  });
});

test('summarizeTrace() gives intervals and silences of counts', () => {
  const trace = parseTrace('1,0\n2,6\n1,0\n3,0\n1,5\n2,0\n');
  expect(summarizeTrace(trace, 5)).toEqual({
    kind: 'counts',
    format: 'counts',
    requests: 11,
    durationS: 10,
    meanRps: 1.1,
    windows: {
      lengthS: 5,
      count: 2,
      empty: 0,
      peakRps: 1.2,
      peakFromS: 0,
      dispersion: expect.closeTo(0.25 / 5.5, 12),
    },
    intervals: { count: 6, shortestS: 1, longestS: 3, silenceS: 4, silenceFromS: 3 },
  });
  // The trace does not tell how the requests lie within an interval.
  expect(summarizeTrace(trace, 2).windows.dispersion).toBeUndefined();
  expect(summarizeTrace(parseTrace('1,2\n4,0\n'), 4).intervals).toMatchObject({
    silenceS: 4,
    silenceFromS: 1,
  });
  const tenths = parseTrace(`${'0.1,1\n'.repeat(3)}${'0.1,0\n'.repeat(6)}`);
  expect(summarizeTrace(tenths, 1).intervals).toMatchObject({ silenceS: 0.6, silenceFromS: 0.3 });
});

test('summarizeTrace() leaves out what a trace does not have', () => {
  expect(summarizeTrace(parseTrace('3\n'), 1)).not.toHaveProperty('gaps');
  const instant = summarizeTrace(parseTrace('3\n3\n'), 1);
  expect(instant).not.toHaveProperty('meanRps');
  expect(instant.gaps).not.toHaveProperty('cv');
});

test.each([
  ['poisson', undefined, 1],
  ['uniform', undefined, 0],
  ['gamma', 3, 3],
] as const)('summarizeTrace() recovers the burstiness of %s arrivals', (process, cv, wanted) => {
  const stream = streamOf(1, 'arrivals');
  const timesNs = arrivalTimes({
    process,
    rps: 200,
    durationS: 1000,
    stream,
    ...(cv === undefined ? {} : { cv }),
  });
  const { gaps, windows, meanRps } = summarizeTrace({ kind: 'arrivals', format: 'arrivals', timesNs }, 5);
  expect(Math.abs((gaps?.cv as number) - wanted)).toBeLessThan(0.03 * (1 + wanted ** 2));
  // Over long windows, the dispersion of a renewal process is the square of its CV.
  expect(Math.abs((windows.dispersion as number) - wanted ** 2)).toBeLessThan(0.25 * (1 + wanted ** 2));
  expect(meanRps).toBeGreaterThan(190);
});

test('summarizeTrace() counts out the same quantiles as sorting gives, however long the gaps are', () => {
  const { uniform } = streamOf(3, 'gaps');
  for (const most of [1, 3, 70_000, 1e9, 1e14]) {
    const gaps = Array.from({ length: 40 }, () => Math.floor(uniform() ** 3 * (most + 1)));
    let at = 0;
    const timesNs = Float64Array.from([0, ...gaps], (gap) => (at += gap));
    const ordered = [...gaps].sort((a, b) => a - b);
    const found = summarizeTrace({ kind: 'arrivals', format: 'arrivals', timesNs }, 1e6).gaps;
    expect([found?.p50S, found?.p99S, found?.longestS]).toEqual(
      [ordered[19], ordered[39], ordered[39]].map((ns) => (ns as number) / 1e9),
    );
  }
});
