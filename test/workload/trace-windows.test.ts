import { expect, test } from 'vitest';
import { streamOf } from '../../src/random/index.js';
import type { Trace } from '../../src/workload/index.js';
import { eachWindow } from '../../src/workload/trace-windows.js';

function windows(trace: Trace, lengthS: number): number[] {
  const all: number[] = [];
  eachWindow(trace, lengthS, (requests, window) => {
    expect(window).toBe(all.length);
    all.push(requests);
  });
  return all;
}

const at = (...seconds: number[]): Trace => ({
  kind: 'arrivals',
  format: 'arrivals',
  timesNs: Float64Array.from(seconds, (s) => Math.round(s * 1e9)),
});
const counts = (...rows: [number, number][]): Trace => ({
  kind: 'counts',
  format: 'counts',
  intervalS: Float64Array.from(rows, ([s]) => s),
  counts: Float64Array.from(rows, ([, n]) => n),
});

test('eachWindow() counts arrivals in windows that include their start and exclude their end', () => {
  expect(windows(at(0, 0.999999999, 1, 1, 4.5), 1)).toEqual([2, 2, 0, 0, 1]);
  expect(windows(at(2), 2)).toEqual([0, 1]);
});

test('eachWindow() spreads the requests of an interval evenly over it', () => {
  expect(windows(counts([60, 30]), 20)).toEqual([10, 10, 10]);
  expect(windows(counts([1, 3], [1, 5], [1, 1]), 2)).toEqual([8, 1]);
  expect(windows(counts([1, 2], [2, 8]), 1.5)).toEqual([4, 6]);
  expect(windows(counts([5, 10]), 2)).toEqual([4, 4, 2]);
});

test('eachWindow() loses no request, whatever the lengths', () => {
  const { uniform, integer } = streamOf(3, 'windows');
  for (let n = 0; n < 200; n++) {
    const rows = Array.from({ length: 1 + integer(20) }, (): [number, number] => [
      0.01 + uniform(),
      integer(50),
    ]);
    const lengthS = 0.05 + 2 * uniform();
    const sum = windows(counts(...rows), lengthS).reduce((all, one) => all + one, 0);
    expect(sum).toBeCloseTo(
      rows.reduce((all, [, one]) => all + one, 0),
      6,
    );
    const durationS = rows.reduce((all, [s]) => all + s, 0);
    expect(windows(counts(...rows), lengthS).length).toBe(Math.ceil(durationS / lengthS - 1e-9));
  }
});
