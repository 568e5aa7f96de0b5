import { describe, expect, it } from 'vitest';
import { type DeviceProfile, wholeLatencyUs } from '../../src/formats/index.js';

const DEVICE: DeviceProfile = {
  blockLatencyUs: { 1: { 1: [10, 20], 2: [15, 30], 4: [20, null], 8: [null, 50] } },
  blockLatencyP95Us: { 1: { 1: [12, 25] } },
  wholeLatencyUs: { 1: { 1: 22, 8: 70 } },
};

describe('wholeLatencyUs()', () => {
  it('gives what was measured in one piece, else the sum of the blocks, else nothing', () => {
    const at = (batch: number) => wholeLatencyUs(DEVICE, { virtual: 1, batch });
    expect([1, 2, 4, 8, 16].map(at)).toEqual([22, 45, undefined, 70, undefined]);
    expect(wholeLatencyUs(DEVICE, { virtual: 2, batch: 1 })).toBeUndefined();
    expect(wholeLatencyUs(undefined, { virtual: 1, batch: 1 })).toBeUndefined();
  });

  it('has the 95th percentile of one block, never of several, and never the median in its place', () => {
    const p95 = (row: (number | null)[]) =>
      wholeLatencyUs(
        { ...DEVICE, blockLatencyP95Us: { 1: { 1: row } } },
        { virtual: 1, batch: 1, quantile: 'p95' },
      );
    expect([[31], [null], [0], [12, 25], []].map(p95)).toEqual([
      31,
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });
});
