import { describe, expect, it } from 'vitest';
import { PoolsUp } from '../../../src/serving/state/index.js';
import { modelOf, stage } from '../by-hand.js';

/** Pools 0 to 2 with devices 0, {1, 2} and 3 are one pipeline. Pool 3 with device 4 is another. */
const topology = modelOf(
  100,
  { throughputRps: 1, parts: [stage([1]), stage([1], { virtualGpus: 2 }), stage([1])] },
  { throughputRps: 1, parts: [stage([1])] },
);
const areUp = (pools: PoolsUp) => [0, 1, 2, 3].map((pool) => pools.isUp(pool));

function withUp(...devices: number[]): PoolsUp {
  const pools = new PoolsUp(topology);
  for (const device of devices) pools.deviceUp(device);
  return pools;
}

describe('PoolsUp', () => {
  it('knows the first pool of each pipeline', () => {
    expect([...new PoolsUp(topology).entryOf]).toEqual([0, 0, 0, 3]);
  });

  it('has every device down at first', () => {
    const pools = withUp();
    expect([pools.isDeviceUp(0), pools.hasDevice(0), ...areUp(pools)]).toEqual(new Array(6).fill(false));
  });

  it('isUp() for a pool where it and every later one has a device', () => {
    expect(areUp(withUp(0, 1, 3, 4))).toEqual([true, true, true, true]);
    expect(areUp(withUp(1, 3))).toEqual([false, true, true, false]);
    expect(areUp(withUp(0, 3, 4))).toEqual([false, false, true, true]);
    expect(areUp(withUp(0, 1))).toEqual([false, false, false, false]);
  });

  it('follows devices as they come and go', () => {
    const pools = withUp(0, 1, 3);
    pools.deviceDown(1);
    expect(areUp(pools)).toEqual([false, false, true, false]);
    expect([pools.hasDevice(1), pools.isDeviceUp(1)]).toEqual([false, false]);
    pools.deviceUp(2);
    expect(areUp(pools)).toEqual([true, true, true, false]);
    pools.deviceUp(1);
    pools.deviceDown(2);
    expect(areUp(pools)).toEqual([true, true, true, false]);
    pools.deviceDown(0);
    expect(areUp(pools)).toEqual([false, true, true, false]);
    pools.deviceUp(0);
    expect(areUp(pools)).toEqual([true, true, true, false]);
  });

  it('isUp() for two stages only while both have a device, in whatever order devices come and go', () => {
    const two = new PoolsUp(modelOf(100, { throughputRps: 1, parts: [stage([1]), stage([1])] }));
    const both = () => [two.isUp(0), two.isUp(1)];
    two.deviceUp(0);
    expect(both()).toEqual([false, false]);
    two.deviceDown(0);
    expect(both()).toEqual([false, false]);
    two.deviceUp(1);
    two.deviceDown(1);
    two.deviceUp(0);
    expect(both()).toEqual([false, false]);
    two.deviceUp(1);
    expect(both()).toEqual([true, true]);
  });

  it('isDeviceUp() for devices that are up, and hasDevice() for pools with such a device', () => {
    const pools = withUp(2);
    expect([0, 1, 2].map((device) => pools.isDeviceUp(device))).toEqual([false, false, true]);
    expect([0, 1].map((pool) => pools.hasDevice(pool))).toEqual([false, true]);
    pools.deviceUp(1);
    expect(pools.hasDevice(1)).toBe(true);
  });

  it('deviceUp() says whether the device is now the only one of its pool, and deviceDown() whether it was', () => {
    const pools = new PoolsUp(topology);
    expect([pools.deviceUp(1), pools.deviceUp(2)]).toEqual([true, false]);
    expect([pools.deviceDown(1), pools.deviceDown(2)]).toEqual([false, true]);
    expect([pools.deviceUp(2), pools.deviceDown(2)]).toEqual([true, true]);
  });

  it('refuses a device that is already up', () => {
    expect(() => withUp(0).deviceUp(0)).toThrow('a device that was up came up again');
  });
});
