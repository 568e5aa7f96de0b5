import { describe, expect, it } from 'vitest';
import { COARSE_TUNING, CoarseTuner } from '../../../src/serving/tuning/coarse.js';
import { LoadMeter } from '../../../src/serving/tuning/load-meter.js';
import { drive, evenly, S, setOf } from './tuned.js';

/** Units of 2 and 3 replicas, of which the plan has two. The first stage serves 200/s a unit, the second 150/s. */
const sets = [setOf({ replicas: 4, workS: 0.01 }), setOf({ replicas: 6, workS: 0.02, pools: [1] })];

const run = (arrivals: number[], untilS: number, most = 100) =>
  drive(
    new CoarseTuner(
      sets.map((set) => ({ ...set, most })),
      COARSE_TUNING,
    ),
    { meter: new LoadMeter(2), arrivals, untilNs: untilS * S },
  );

describe('CoarseTuner', () => {
  it('adds units of the whole pipeline only when the rate is beyond what its units serve', () => {
    expect(run(evenly(299, 0, 60), 60)).toEqual([]);
    expect(run(evenly(310, 0, 5), 5)).toEqual([[1, 6, 9]]);
  });

  it('measures the rate over 10 s', () => {
    // From 20 s on 450/s come after 150/s: 300/s are exceeded at 26 s.
    const [first] = run([...evenly(150, 0, 20), ...evenly(450, 20, 40)], 40);
    expect(first).toEqual([26, 6, 9]);
  });

  it('puts a unit away when it was not needed for 120 s', () => {
    const changes = run([...evenly(449, 0, 10), ...evenly(100, 10, 200)], 200);
    expect(changes[0]).toEqual([1, 6, 9]);
    // The rate over 10 s is above 300/s until 14 s, and above 150/s until 18 s.
    expect(changes.slice(1)).toEqual([
      [135, 4, 6],
      [139, 2, 3],
    ]);
  });

  it('takes no more devices than there are', () => {
    expect(run(evenly(900, 0, 5), 5, 8)).toEqual([[1, 8, 8]]);
  });
});
