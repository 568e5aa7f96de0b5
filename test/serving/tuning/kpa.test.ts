import { describe, expect, it } from 'vitest';
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
    meter.came(at, 0, inside(at / S) - inside(at / S - 2));
  };
  return drive(tuner, { meter, arrivals: [], untilNs: untilS * S, before });
}

describe('KpaTuner', () => {
  it('takes the mean number of tasks over 70 % of what a replica holds', () => {
    expect(run(() => 70, 10)).toEqual([]);
    expect(run(() => 71, 10)).toEqual([[2, 11]]);
    expect(run(() => 140, 4, { settings: { concurrency: 100 } })).toEqual([
      [2, 5],
      [4, 2],
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
    expect(run(() => 0, 12)).toEqual([
      [2, 5],
      [4, 2],
      [6, 1],
    ]);
  });

  it('takes no more devices than there are', () => {
    expect(run(() => 700, 4, { most: 30 })).toEqual([[2, 30]]);
  });
});
