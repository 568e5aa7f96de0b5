import { describe, expect, it } from 'vitest';
import { LoadMeter } from '../../../src/serving/tuning/load-meter.js';
import { OracleTuner } from '../../../src/serving/tuning/oracle.js';
import { drive, S, setOf } from './tuned.js';

describe('OracleTuner', () => {
  it('asks for devices so early that they are up for the second that needs them, and keeps them until its end', () => {
    // 300 requests in the second from 10 s on need 300·0.01/0.5 = 6 devices. Else one is enough.
    const requests = Array.from({ length: 20 }, (_, second) => (second === 10 ? 300 : 50));
    const tuner = new OracleTuner([setOf()], { windowS: 1, requests }, 5 * S);
    expect(drive(tuner, { meter: new LoadMeter(1), arrivals: [], untilNs: 30 * S })).toEqual([
      [0, 1],
      [5, 6],
      [11, 1],
    ]);
  });

  it('takes no more devices than there are', () => {
    const tuner = new OracleTuner([setOf({ most: 3 })], { windowS: 1, requests: [300] }, 0);
    expect(drive(tuner, { meter: new LoadMeter(1), arrivals: [], untilNs: S / 2 })).toEqual([[0, 3]]);
  });
});
