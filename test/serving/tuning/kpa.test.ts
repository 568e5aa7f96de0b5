import { describe, expect, it } from 'vitest';
import { streamOf } from '../../../src/random/index.js';
import { KPA_TUNING, KpaTuner } from '../../../src/serving/tuning/kpa.js';
import { LoadMeter } from '../../../src/serving/tuning/load-meter.js';
import { drive, S, setOf } from './tuned.js';

/** run gives the changes where `inside(t)` tasks are in the stage from second t on, and what is asked for is ready at once. */
function run(
  inside: (second: number) => number,
  untilS: number,
  { replicas = 10, settings = {}, most = 1000 } = {},
) {
  const meter = new LoadMeter(1);
  meter.ready(0, 0, replicas);
  meter.came(0, 0, inside(0));
  const tuner = new KpaTuner([setOf({ replicas, batch: 10, most })], { ...KPA_TUNING, ...settings });
  const before = (at: number) => {
    meter.read(at);
    meter.ready(at, 0, (tuner.wanted[0] as number) - meter.readyIn(0));
    meter.came(at, 0, inside(at / S));
    meter.left(at, 0, inside(at / S - 2));
  };
  return drive(tuner, { meter, arrivals: [], untilNs: untilS * S, before });
}

/**
 * asKnative decides as Knative's autoscaler is read: by the time of the last panic and the most replicas of it, over a list
 * of all that was seen. What it asks for is ready at the next tick, and a replica holds 10 tasks.
 */
function asKnative(
  inside: (second: number) => number,
  untilS: number,
  asked: typeof KPA_TUNING & { readonly replicas: number },
): [number, number][] {
  let panicAt = asked.replicas > 1 ? 0 : Number.NaN;
  let panicPods = asked.replicas;
  let pods = asked.replicas;
  const changes: [number, number][] = [];
  for (let now = 2; now <= untilS; now += 2) {
    const mean = (lengthS: number) => {
      const from = Math.max(0, now - lengthS);
      let sum = 0;
      for (let second = from; second < now; second += 2) sum += inside(second);
      return sum / ((now - from) / 2);
    };
    const [stable, panic] = [mean(asked.stableS), mean(asked.panicS)].map((tasks) =>
      Math.ceil(tasks / (10 * asked.utilisation) - 1e-9),
    ) as [number, number];
    const [least, most] = [Math.floor(pods / asked.maxScaleDownRate), Math.ceil(pods * asked.maxScaleUpRate)];
    const clamped = (count: number) => Math.min(Math.max(count, least), most);
    if (panic / pods >= asked.panicThreshold) panicAt = now;
    else if (panicAt + asked.stableS < now) [panicAt, panicPods] = [Number.NaN, 0];
    let desired = clamped(stable);
    if (!Number.isNaN(panicAt)) desired = panicPods = Math.max(panicPods, desired, clamped(panic));
    desired = Math.max(1, desired);
    if (desired !== pods) changes.push([now, desired]);
    pods = desired;
  }
  return changes;
}

describe('KpaTuner', () => {
  it('takes the mean number of tasks over 70 % of what a replica holds', () => {
    expect(run(() => 70, 10)).toEqual([]);
    expect(run(() => 71, 10)).toEqual([[2, 11]]);
    expect(run(() => 140, 66, { settings: { concurrency: 100 } })).toEqual([
      [62, 5],
      [64, 2],
    ]);
  });

  it('follows the mean of 60 s where it does not panic', () => {
    // From 60 s on, 98 tasks rather than 70 are there: the mean is above 70 two seconds later, and 98 after 60 s.
    const changes = run((second) => (second < 60 ? 70 : 98), 140);
    expect(changes[0]).toEqual([62, 11]);
    expect(changes.at(-1)?.[0]).toBeGreaterThan(100);
    expect(changes.at(-1)).toEqual([expect.any(Number), 14]);
  });

  it('follows the mean of 6 s in panic, and takes no replica away for 60 s after', () => {
    const changes = run((second) => (second >= 60 && second < 70 ? 420 : 70), 200);
    // 6 s hold 2 s of 420 at 62 s: 27 replicas are twice as many as 10 and more.
    expect(changes.slice(0, 3)).toEqual([
      [62, 27],
      [64, 44],
      [66, 60],
    ]);
    // The panic was prolonged last when twice the replicas were wanted, at 62 s, and ends after 60 s.
    expect(changes[3]?.[0]).toBe(124);
  });

  it('prolongs a panic where the short window asks for twice the replicas again', () => {
    const surge = (second: number) => (second >= 60 && second < 70 ? 420 : second === 110 ? 3000 : 70);
    const changes = run(surge, 200);
    expect(changes.find(([at]) => at > 112)?.[0]).toBe(174);
  });

  it('takes at most half of the replicas away at once, and keeps one', () => {
    expect(run(() => 0, 72)).toEqual([
      [62, 5],
      [64, 2],
      [66, 1],
    ]);
  });

  it('begins with the replicas that it has, and takes none away for a stable window', () => {
    const quiet = (second: number) => (second < 30 ? 0 : 7);
    expect(run(quiet, 200, { settings: { stableS: 20 } })[0]).toEqual([22, 5]);
    // It asks for more at once all the same, and keeps these for as long.
    expect(run((second) => (second < 8 ? 140 : 0), 200).slice(0, 2)).toEqual([
      [2, 20],
      [64, 10],
    ]);
    // One replica alone is no panic, so that one that is up can be put away soon.
    const burst = run((second) => (second < 2 ? 14 : 0), 20, {
      replicas: 1,
      settings: { panicThreshold: 9 },
    });
    expect(burst).toEqual([
      [2, 2],
      [4, 1],
    ]);
  });

  it.each([1, 2, 3, 4, 5, 6, 7, 8])('decides as Knative does on random loads, seed %i', (seed) => {
    const stream = streamOf(seed, 'kpa');
    const below = (most: number) => Math.floor(most * stream.uniform());
    const settings = {
      stableS: 6 + 2 * below(20),
      panicS: 2 + 2 * below(3),
      panicThreshold: 1.5 + below(3),
      maxScaleUpRate: 2 + below(4),
    };
    const replicas = 1 + below(12);
    const levels = Array.from({ length: 100 }, () => (below(3) === 0 ? below(900) : 30));
    const inside = (second: number) => levels[Math.floor(Math.max(0, second) / 10) % levels.length] as number;
    const changes = run(inside, 900, { replicas, settings });
    expect(changes).toEqual(asKnative(inside, 900, { replicas, ...KPA_TUNING, ...settings }));
    expect(changes.length).toBeGreaterThan(3);
  });

  it('takes no more devices than there are', () => {
    expect(run(() => 700, 4, { most: 30 })).toEqual([[2, 30]]);
  });
});
