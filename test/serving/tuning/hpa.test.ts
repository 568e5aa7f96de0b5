import { describe, expect, it } from 'vitest';
import { HPA_TUNING, HpaTuner } from '../../../src/serving/tuning/hpa.js';
import { LoadMeter } from '../../../src/serving/tuning/load-meter.js';
import { drive, S, setOf } from './tuned.js';

/** run gives the changes where devices are busy as `busy` says in each period of 15 s, and up from `readyAt` on. */
function run(busy: readonly number[], { replicas = 10, most = 1000, lag = 0 } = {}) {
  const meter = new LoadMeter(1);
  meter.ready(0, 0, replicas);
  const tuner = new HpaTuner([setOf({ replicas, most })], HPA_TUNING);
  let period = 0;
  const asked = [replicas];
  const before = (at: number) => {
    const ready = meter.readyIn(0);
    meter.executed(0, 1, (busy[period++] ?? 0) * 15 * S * ready);
    asked.push(tuner.wanted[0] as number);
    const up = asked[Math.max(0, asked.length - 1 - lag)] as number;
    if (up !== ready) meter.ready(at, 0, up - ready);
  };
  return drive(tuner, { meter, arrivals: [], untilNs: 15 * S * busy.length, before });
}

describe('HpaTuner', () => {
  it('takes current × utilisation / target replicas, rounded up', () => {
    expect(run([0.95])).toEqual([[15, 12]]);
  });

  it('changes nothing within 10 % of the target', () => {
    expect(run([0.87, 0.73])).toEqual([]);
    expect(run([0.89])).toEqual([[15, 12]]);
  });

  it('keeps the most of the last 300 s when scaling down, the beginning included', () => {
    const changes = run(Array.from({ length: 25 }, () => 0.4));
    expect(changes).toEqual([[315, 5]]);
  });

  it('adds at most 4 pods or doubles them, whichever is more, in 15 s', () => {
    expect(run([8], { replicas: 2 })).toEqual([[15, 6]]);
    expect(run([8], { replicas: 10 })).toEqual([[15, 20]]);
  });

  it('adds what is recommended now, and not what was recommended before', () => {
    // 8 times as busy asks for 100, of which 10 come; then 20 replicas that are busy for 90 % ask for 23.
    expect(run([8, 0.9])).toEqual([
      [15, 20],
      [30, 23],
    ]);
  });

  it('counts replicas that are coming up as idle, and so asks for no more', () => {
    // 10 of 12 are ready and busy for 99 %: with the two at 0 %, 82 % are within the tolerance.
    expect(run([0.95, 0.99], { lag: 1 })).toEqual([[15, 12]]);
  });

  it('takes no more devices than there are, and keeps one', () => {
    expect(run([8], { most: 13 })).toEqual([[15, 13]]);
    expect(run(Array.from({ length: 25 }, () => 0)).at(-1)).toEqual([315, 1]);
  });
});
