import { expect, it } from 'vitest';
import { windowCells } from '../../src/metrics/index.js';
import { lengthFaults, numberFaults, windowFaults } from '../../src/simulation/length-faults.js';
import type { Workload } from '../../src/simulation/workload.js';
import { planOf } from '../serving/plans.js';

const PLAN = planOf([
  { sloMs: 50, pipelines: [{ throughputRps: 100, parts: [{ batch: 1, latencyUs: () => 1000 }] }] },
]);

function load(rps: number, durationNs: number): Workload {
  return { kind: 'drawn', arrivals: 'poisson', durationNs, rps: [rps] } as unknown as Workload;
}

const said = (rps: number, durationNs: number, exact = false): string[] =>
  lengthFaults(PLAN, load(rps, durationNs), exact).map(({ message }) => message);

it.each([
  [
    'a duration of 104 days',
    [1e-6, Number.MAX_SAFE_INTEGER],
    [1e-6, 2 ** 53 + 2],
    /arrive for .* days; at most/,
  ],
  ['a nanosecond', [1, 1], [1, 0.999], /less than a nanosecond/],
  ['a request in a nanosecond', [1e9, 1e9], [1e9 + 1, 1e9], /requests\/s; at most 1e\+9/],
  ['four thousand million requests', [4e6, 1e12], [4e6, 1e12 + 1e6], /requests; at most 4e\+9/],
] as const)(
  'lengthFaults() takes a load up to its limit, and refuses what is beyond: %s',
  (_, last, beyond, why) => {
    expect(said(last[0], last[1])).toEqual([]);
    expect(said(beyond[0], beyond[1])).toEqual([expect.stringMatching(why)]);
  },
);

it('lengthFaults() takes as many latencies as can be kept, and refuses one more', () => {
  expect(said(1e5, 1e12, true)).toEqual([]);
  expect(said(1e5, 1e12 + 1e4)).toEqual([]);
  expect(said(1e5, 1e12 + 1e4, true)).toEqual([
    expect.stringMatching(/would keep .* at most 1e\+8 are kept/),
  ]);
});

it('windowFaults() says a length with which windows are taken, a little less than which is too little', () => {
  const workload = load(1, 1e15);
  const messageOf = (windowS: number) => windowFaults(PLAN, workload, windowS)[0]?.message;
  const leastMs = Number(/take (\d+)ms or more/.exec(messageOf(1e-3) ?? '')?.[1]);
  expect(messageOf(leastMs / 1e3)).toBeUndefined();
  expect(messageOf((leastMs - 1) / 1e3)).toContain('are kept for this plan');
  const shape = { models: 1, classes: Object.keys(PLAN.classes).length, pools: 0 };
  expect(windowCells(shape, Math.ceil(1e9 / leastMs))).toBeLessThanOrEqual(4e6);
});

it('numberFaults() takes both ends of a range, and neither what is beyond nor what is no number', () => {
  const names = (numbers: Parameters<typeof numberFaults>[0]) => numberFaults(numbers).length;
  expect(names({ slow: 1e6, jitter: 100, seed: Number.MAX_SAFE_INTEGER, load: 1e-9 })).toBe(0);
  expect(names({ slow: Number.MIN_VALUE, jitter: 0, seed: 0 })).toBe(0);
  expect(names({ slow: 1e6 + 1, jitter: 100.1, seed: 2 ** 53, load: 0 })).toBe(4);
  expect(names({ slow: 0, jitter: -1e-9, seed: -1, load: -1 })).toBe(4);
  expect(names({ slow: Number.NaN, jitter: Number.NaN, seed: Number.NaN, load: Number.NaN })).toBe(4);
});
