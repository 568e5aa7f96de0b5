import { describe, expect, it } from 'vitest';
import type { DeviceProfile } from '../../src/formats/index.js';
import { latencyUsByBatch, measuredBatches } from '../../src/pipeline/index.js';

/** An interrupted run left batch 8 out, and measured one of two blocks at batch 16. */
const DEVICE: DeviceProfile = {
  blockLatencyUs: { 1: { 16: [90, null], 8: [null, null], 4: [30, 20], 1: [10, 5] }, 2: { 1: [null, null] } },
  wholeLatencyUs: { 1: { 4: 45 } },
};

describe('measuredBatches()', () => {
  it('gives the sizes at which every block or the whole was measured, in order', () => {
    expect(measuredBatches({ device: DEVICE, virtual: 1 })).toEqual([1, 4]);
    expect(measuredBatches({ device: { ...DEVICE, wholeLatencyUs: { 1: { 8: 70 } } }, virtual: 1 })).toEqual([
      1, 4, 8,
    ]);
    expect(measuredBatches({ device: DEVICE, virtual: 2 })).toEqual([]);
    expect(measuredBatches({ device: DEVICE, virtual: 3 })).toEqual([]);
  });
});

describe('latencyUsByBatch()', () => {
  it('gives what was measured, of the whole rather than of its blocks', () => {
    expect(latencyUsByBatch({ device: DEVICE, virtual: 1 }, 4)).toEqual([15, null, null, 45]);
    expect(latencyUsByBatch({ device: DEVICE, virtual: 1 }, 1)).toEqual([15]);
  });

  it('ends with the latency of the next larger batch that was measured, and with none where there is none', () => {
    expect(latencyUsByBatch({ device: DEVICE, virtual: 1 }, 3)).toEqual([15, null, 45]);
    expect(latencyUsByBatch({ device: DEVICE, virtual: 1 }, 8)).toEqual([
      15,
      null,
      null,
      45,
      null,
      null,
      null,
      null,
    ]);
    expect(latencyUsByBatch({ device: DEVICE, virtual: 2 }, 2)).toEqual([null, null]);
  });
});
