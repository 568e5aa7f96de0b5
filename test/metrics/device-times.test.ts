import { describe, expect, it } from 'vitest';
import { DeviceTimeFold, DoneByDevice } from '../../src/metrics/device-times.js';

const { executing, loading } = DoneByDevice;

describe('DeviceTimeFold', () => {
  it('reports what two devices did of the time, each by itself and both together', () => {
    const fold = new DeviceTimeFold(2);
    // The first executes from 10 to 40 and loads from 20 to 60; the second loads from 50 on.
    fold.begun(10, 0, executing);
    fold.begun(20, 0, loading);
    fold.ended(40, 0, executing);
    fold.begun(50, 1, loading);
    fold.ended(60, 0, loading);
    expect(fold.times(100, [0])).toEqual({ executing: 0.1, loading: 0.2, both: 0.2, idle: 0.5 });
    expect(fold.times(100, [1])).toEqual({ executing: 0, loading: 0.5, both: 0, idle: 0.5 });
    expect(fold.times(100, [0, 1])).toEqual({ executing: 0.05, loading: 0.35, both: 0.1, idle: 0.5 });
    expect([fold.executedNs(100, 0), fold.executedNs(100, 1)]).toEqual([30, 0]);
  });

  it('says that devices were idle where no time has passed', () => {
    expect(new DeviceTimeFold(1).times(0, [0])).toEqual({ executing: 0, loading: 0, both: 0, idle: 1 });
  });
});
