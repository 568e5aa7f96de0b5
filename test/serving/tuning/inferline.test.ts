import { describe, expect, it } from 'vitest';
import { streamOf } from '../../../src/random/index.js';
import { INFERLINE_TUNING, InferlineTuner } from '../../../src/serving/tuning/inferline.js';
import { LoadMeter } from '../../../src/serving/tuning/load-meter.js';
import { describeInWholeRun } from '../../cases.js';
import { drive, evenly, S, setOf } from './tuned.js';

const run = (tuner: InferlineTuner, arrivals: number[], untilS: number) =>
  drive(tuner, { meter: new LoadMeter(2), arrivals, untilNs: untilS * S });

/** The planned rate is 100/s: two replicas of 100/s are busy for half of their time. */
const envelope = [
  { windowUs: 1e6, requests: 100 },
  { windowUs: 10e6, requests: 1000 },
];

/** Of these windows, the loads below are so small a share that it asks for one replica at most. */
const wide = [{ windowUs: 1e6, requests: 2000 }];

const tunerOf = (sets = [setOf()], windows = envelope) => new InferlineTuner(sets, windows, INFERLINE_TUNING);

/**
 * slowTuner does what §5 says by counting all arrivals anew: at each arrival, and each second when nothing has changed
 * for 15 s. Besides it keeps the share of the plan's replicas that the load of the last 30 s is of the envelope.
 */
function slowTuner(
  sets: readonly ReturnType<typeof setOf>[],
  windows: typeof envelope,
  arrivals: readonly number[],
  untilNs: number,
) {
  const wanted = sets.map(({ replicas }) => replicas);
  const changes: number[][] = [];
  const between = (from: number, to: number) => arrivals.filter((at) => at > from && at <= to).length;
  const needs = (rps: number, ratio: (i: number) => number) =>
    sets.map(({ workS }, i) => Math.max(1, Math.ceil((rps * workS) / ratio(i) - 1e-9)));
  const take = (at: number, devices: number[], better: (a: number, b: number) => boolean) => {
    const isChanged = devices.some((one, i) => better(one, wanted[i] as number));
    devices.forEach((one, i) => {
      if (better(one, wanted[i] as number)) wanted[i] = one;
    });
    if (isChanged) changes.push([at / S, ...wanted]);
    return isChanged;
  };
  const shareAt = (at: number) =>
    Math.min(1, Math.max(...windows.map((one) => between(at - one.windowUs * 1e3, at) / one.requests)));
  const shares = arrivals.map(shareAt);
  const within = (at: number) => {
    const recent = shares.filter(
      (_, i) => (arrivals[i] as number) >= at - 30 * S && (arrivals[i] as number) <= at,
    );
    return sets.map(({ replicas }) => Math.max(1, Math.ceil(Math.max(0, ...recent) * replicas - 1e-9)));
  };
  const higher = (a: readonly number[], b: readonly number[]) => a.map((one, i) => Math.max(one, b[i] ?? 0));
  let lookAt = 15 * S;
  const comes = new Set(arrivals);
  for (const at of [
    ...new Set([...arrivals, ...Array.from({ length: untilNs / 1e6 }, (_, i) => i * 1e6)]),
  ].sort((a, b) => a - b)) {
    if (at !== lookAt && !comes.has(at)) continue;
    const rates = windows
      .map(({ windowUs, requests }) => ({ count: between(at - windowUs * 1e3, at), windowUs, requests }))
      .filter(({ count, requests }) => count > requests)
      .map(({ count, windowUs }) => (1e6 * count) / windowUs);
    const kept = within(at);
    const beyond = needs(Math.max(0, ...rates), (i) => sets[i]?.provisioning as number);
    const isUp = comes.has(at) && take(at, higher(beyond, kept), (a, b) => a > b);
    if (isUp) lookAt = at + 15 * S;
    if (isUp || at !== lookAt) continue;
    const recent = Array.from({ length: 26 }, (_, k) => between(at - (k + 5) * S, at - k * S) / 5);
    const least = Math.min(...sets.map(({ provisioning }) => provisioning));
    const fewer = needs(Math.max(...recent), () => least);
    const isDown = take(at, higher(fewer, kept), (a, b) => a < b);
    lookAt = at + (isDown ? 15 * S : S);
  }
  return changes;
}

describeInWholeRun('InferlineTuner', () => {
  it('decides as the rules say when all arrivals are counted anew', () => {
    for (let seed = 0; seed < 6; seed++) {
      const random = streamOf(seed, 'tuner');
      const arrivals: number[] = [];
      for (let ms = 0; ms < 60_000; ms += 1 + random.integer(ms % 20_000 < 8000 ? 30 : 150))
        arrivals.push(ms * 1e6);
      const sets = [1, 2].map((k) =>
        setOf({
          workS: 0.02 * k,
          replicas: k + random.integer(4),
          provisioning: 0.3 + 0.5 * random.uniform(),
        }),
      );
      const windows = [0.5, 1, 2, 8].map((windowS) => ({
        windowUs: windowS * 1e6,
        requests: Math.ceil(windowS * 20 + 20 * random.uniform()),
      }));
      const changes = run(tunerOf(sets, windows), arrivals, 60);
      expect(changes).toEqual(slowTuner(sets, windows, arrivals, 60 * S));
      expect(changes.length).toBeGreaterThan(2);
    }
  });
});

describe('InferlineTuner scaling up', () => {
  it('leaves the replicas as they are while no window has more requests than the sample had', () => {
    expect(run(tunerOf(), evenly(100, 0, 14.9), 14.9)).toEqual([]);
  });

  it('takes the replicas for a rate as soon as one request more comes than in any such window of the sample', () => {
    // The 101st request within 1 s comes at 10.5 s: 101/s need 101·0.01/0.5 = 2.02 replicas.
    const burst = Array.from({ length: 101 }, (_, i) => 10 * S + i * 5e6);
    expect(run(tunerOf(), burst, 11)).toEqual([[10.5, 3]]);
  });

  it('counts every request more of a burst, at the largest rate of all windows that are exceeded', () => {
    // 400 requests in 1 s exceed the window of 1 s alone: 400·0.01/0.5.
    const burst = Array.from({ length: 400 }, (_, i) => 5 * S + i * 2e6);
    const changes = run(tunerOf(), burst, 6);
    expect(changes.at(-1)).toEqual([5.7, 8]);
    // 150/s for 10 s stay within the window of 1 s, of which 200 are planned, and exceed that of 10 s.
    const slow = [{ windowUs: 1e6, requests: 200 }, envelope[1] as (typeof envelope)[number]];
    const [first] = run(tunerOf([setOf()], slow), evenly(150, 0, 10), 10);
    expect(first).toEqual([6.667, 3].map((x, i) => (i === 0 ? expect.closeTo(x, 2) : x)));
  });

  it('adds replicas only to the sets that need them, by their scale factor and slack', () => {
    const sets = [
      setOf({ workS: 0.005, replicas: 1, provisioning: 0.5 }),
      setOf({ workS: 0.02, replicas: 3, provisioning: 2 / 3, pools: [1] }),
      setOf({ workS: 0.001, replicas: 5, provisioning: 0.02, pools: [2] }),
    ];
    // 110/s: 1.1, 3.3 and 5.5 replicas.
    const burst = Array.from({ length: 110 }, (_, i) => 5 * S + i * 1e6);
    expect(run(tunerOf(sets), burst, 6).at(-1)?.slice(1)).toEqual([2, 4, 6]);
    const one = [sets[0] as (typeof sets)[number], setOf({ replicas: 50, pools: [1] })];
    expect(run(tunerOf(one), burst, 6)).toEqual([[5.1, 2, 50]]);
  });

  it('never takes more devices than there are', () => {
    const burst = Array.from({ length: 1000 }, (_, i) => 5 * S + i * 1e5);
    expect(run(tunerOf([setOf({ most: 4 })]), burst, 6).at(-1)?.[1]).toBe(4);
  });
});

describe('InferlineTuner scaling down', () => {
  it('puts replicas away 15 s after the beginning, when the last 30 s need fewer', () => {
    expect(run(tunerOf(), evenly(40, 0, 20), 20)).toEqual([[15, 1]]);
    expect(run(tunerOf(), evenly(40, 0, 14.9), 14.9)).toEqual([]);
  });

  it('waits 15 s after each change, and looks every second then', () => {
    const burst = Array.from({ length: 400 }, (_, i) => 5 * S + i * 1e6);
    const changes = run(tunerOf(), [...burst, ...evenly(100, 6, 80)], 80);
    const [upAt] = changes.findLast(([at]) => at < 6) as [number];
    const [downAt, devices] = changes.find(([at]) => at > 6) as [number, number];
    expect(downAt).toBeCloseTo(upAt + 15, 6);
    // A window of 5 s holds the burst of 400 and 3.4 s at 100/s: 148/s need 3 replicas of the 8.
    expect(devices).toBe(3);
    // The third goes when the windows of the last 30 s hold too little of the burst, at a look whole seconds later.
    expect(changes.slice(-1)).toEqual([[expect.closeTo(upAt + 30, 6), 2]]);
  });

  it('keeps what the busiest 5 s of the last 30 s need', () => {
    // 75/s for 5 s, then 25/s. Above 50/s two replicas are needed: the window from 2 s to 7 s has 55/s, and the next 45/s.
    const arrivals = [...evenly(75, 0, 5), ...evenly(25, 5, 60)];
    expect(run(tunerOf([setOf()], wide), arrivals, 60)).toEqual([[33, 1]]);
  });

  it('waits 15 s after it has put replicas away', () => {
    // The windows of 30 s need 3 replicas until 34 s, 2 until 39 s and then 1.
    const arrivals = [...evenly(140, 0, 5), ...evenly(90, 5, 10), ...evenly(25, 10, 60)];
    const tuner = tunerOf([setOf({ replicas: 4 })], [{ windowUs: 1e6, requests: 1000 }]);
    expect(run(tuner, arrivals, 60)).toEqual([
      [15, 3],
      [34, 2],
      [49, 1],
    ]);
  });

  it('uses the least provisioning of all sets', () => {
    const sets = [
      setOf({ replicas: 20, provisioning: 0.5 }),
      setOf({ replicas: 20, provisioning: 0.1, pools: [1] }),
    ];
    // 40/s·0.01 over 0.1, for both.
    expect(run(tunerOf(sets, wide), evenly(40, 0, 16), 16)).toEqual([[15, 4, 4]]);
  });

  it('keeps one replica where nothing comes', () => {
    expect(run(tunerOf(), [], 100)).toEqual([[15, 1]]);
  });

  it('never adds replicas', () => {
    const sets = [
      setOf({ replicas: 1, provisioning: 0.9 }),
      setOf({ provisioning: 0.1, pools: [1], replicas: 9 }),
    ];
    // With ρ = 0.1 the first would need 9.
    expect(run(tunerOf(sets), evenly(90, 0, 40), 40)).toEqual([]);
  });
});

describe('InferlineTuner below its plan', () => {
  const sets = [setOf({ replicas: 10, workS: 0.05 }), setOf({ replicas: 4, workS: 0.02, pools: [1] })];

  it('comes back to the plan while the load comes back, although no window is exceeded', () => {
    const changes = run(tunerOf(sets), [...evenly(10, 0, 40), ...evenly(100, 40, 60)], 60);
    expect(changes[0]).toEqual([15, 1, 1]);
    // With the 26th request within 1 s, more than a quarter of the plan is needed.
    expect(changes.find(([, , second]) => second === 2)).toEqual([expect.closeTo(40.17, 1), 3, 2]);
    expect(changes.at(-1)).toEqual([expect.closeTo(40.9, 1), 10, 4]);
  });

  it('keeps the share of the plan that the last 30 s are of the envelope', () => {
    // 35 requests within a second are 35 % of the plan: 3.5 and 1.4 replicas. The mean rate needs one.
    const burst = Array.from({ length: 35 }, (_, i) => 5 * S + i * 1e6);
    expect(run(tunerOf(sets), burst, 60)).toEqual([
      [15, 4, 2],
      [36, 1, 1],
    ]);
  });
});
