import { describe, expect, it } from 'vitest';
import { DS2_TUNING, Ds2Tuner } from '../../../src/serving/tuning/ds2.js';
import { LoadMeter } from '../../../src/serving/tuning/load-meter.js';
import { drive, evenly, S, setOf } from './tuned.js';

describe('Ds2Tuner', () => {
  /** The first stage executes a task in 20 ms, though the plan says 10 ms; the second nothing. */
  const run = (rps: number, untilS: number) => {
    const meter = new LoadMeter(2);
    const sets = [setOf({ visits: 0.5 }), setOf({ pools: [1], workS: 0.03, replicas: 3 })];
    const before = () => meter.executed(0, 500, 10 * S);
    const arrivals = evenly(rps, 0, untilS);
    return drive(new Ds2Tuner(sets, DS2_TUNING), { meter, arrivals, untilNs: untilS * S, before });
  };

  it('gives each stage the rate that comes to it over what a device processes while it is busy', () => {
    // 100/s visit the first with probability 0.5: 50/s over 50/s. The second has the plan's 33.3/s.
    expect(run(100, 10)).toEqual([[10, 1, 3]]);
    expect(run(101, 10)).toEqual([[10, 2, 4]].map(([at, , second]) => [at, 2, second]));
  });

  it('decides every 10 s, on the mean rate of these alone, and passes over one interval after a change', () => {
    const meter = new LoadMeter(1);
    const arrivals = [
      ...evenly(150, 0, 10),
      ...evenly(900, 10, 20),
      ...evenly(350, 20, 30),
      ...evenly(250, 30, 40),
    ];
    const tuner = new Ds2Tuner([setOf({ replicas: 1 })], DS2_TUNING);
    expect(drive(tuner, { meter, arrivals, untilNs: 40 * S })).toEqual([
      [10, 2],
      [30, 4],
    ]);
  });

  it('measures since its last decision, and not since the beginning', () => {
    const meter = new LoadMeter(1);
    const tookMs = new Map([
      [10, 10],
      [20, 10],
      [30, 40],
    ]);
    const before = (at: number) => meter.executed(0, 1000, (tookMs.get(at / S) ?? 0) * 1e6 * 1000);
    const tuner = new Ds2Tuner([setOf({ replicas: 1 })], DS2_TUNING);
    expect(drive(tuner, { meter, arrivals: evenly(99, 0, 30), untilNs: 30 * S, before })).toEqual([[30, 4]]);
  });
});
