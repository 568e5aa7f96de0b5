import { describe, expect, it } from 'vitest';
import { ExecutionTimes } from '../../../src/runtime/live/execution-times.js';

describe('ExecutionTimes', () => {
  it('gives the median and the 95th percentile of each size of batch of each pool', () => {
    const times = new ExecutionTimes(2);
    for (let us = 1; us <= 100; us++) times.record(0, 2, us);
    times.record(0, 1, 7);
    times.record(1, 2, 1e6);
    expect(times.since(0, 0)).toEqual([
      { size: 1, executed: 1, measured: 1, p50Us: 7, p95Us: 7 },
      { size: 2, executed: 100, measured: 100, p50Us: 50, p95Us: 95 },
    ]);
    expect(times.since(1, 0)).toEqual([{ size: 2, executed: 1, measured: 1, p50Us: 1e6, p95Us: 1e6 }]);
  });

  it('gives times since a moment, and batches since the start', () => {
    const times = new ExecutionTimes(1);
    for (const us of [1000, 2000, 3000]) times.record(0, 1, us);
    const { sequence } = times;
    expect(times.since(0, sequence)).toEqual([{ size: 1, executed: 3, measured: 0 }]);
    for (const us of [10, 30, 20]) times.record(0, 1, us);
    expect(times.since(0, sequence)).toEqual([{ size: 1, executed: 6, measured: 3, p50Us: 20, p95Us: 30 }]);
  });

  it('keeps the last 4,096 times of a pool and counts all batches', () => {
    const times = new ExecutionTimes(1);
    for (let i = 0; i < 5000; i++) times.record(0, 1, i);
    expect(times.since(0, 0)).toEqual([
      { size: 1, executed: 5000, measured: 4096, p50Us: 904 + 2047, p95Us: 904 + 3891 },
    ]);
  });
});
