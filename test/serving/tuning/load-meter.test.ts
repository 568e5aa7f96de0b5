import { describe, expect, it } from 'vitest';
import { LoadMeter } from '../../../src/serving/tuning/load-meter.js';

describe('LoadMeter', () => {
  it('adds up tasks and busy time by set', () => {
    const meter = new LoadMeter(2);
    meter.executed(1, 4, 30);
    meter.executed(1, 1, 10);
    const { tasks, busyNs } = meter.read(100);
    expect([[...tasks], [...busyNs]]).toEqual([
      [0, 5],
      [0, 40],
    ]);
  });

  it('adds up how long devices are ready and tasks are there', () => {
    const meter = new LoadMeter(1);
    meter.ready(0, 0, 2);
    meter.came(10, 0, 3);
    meter.left(20, 0, 2);
    meter.ready(25, 0, -1);
    const { readyNs, insideNs } = meter.read(30);
    expect([readyNs[0], insideNs[0]]).toEqual([2 * 25 + 5, 3 * 10 + 10]);
    expect(meter.readyIn(0)).toBe(1);
    expect(meter.read(40).insideNs[0]).toBe(50);
  });

  it('counts a task that left at an unknown time until the last time that was reported', () => {
    const meter = new LoadMeter(2);
    meter.came(10, 0, 3);
    meter.came(20, 0, 1);
    meter.leftSince(0, 2);
    expect(meter.read(30).insideNs[0]).toBe(3 * 10 + 2 * 10);
  });
});
