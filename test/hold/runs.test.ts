import { describe, expect, it } from 'vitest';
import { heldRun, PROMISE_REQUESTS } from '../../src/hold/index.js';

const model = (throughputRps: number, sloMs: number) => ({ throughputRps, sloMs });

describe('heldRun()', () => {
  it('lasts until the slowest model has its requests, after queues were filled and have settled', () => {
    expect(heldRun([model(100, 50), model(200, 80)], PROMISE_REQUESTS)).toEqual({
      ...{ durationNs: 200e9, warmUp: { fillSlos: 1, settleSlos: 10 } },
    });
    expect(heldRun([model(100, 50), model(0, 80)], 8000).durationNs).toBe(80e9);
  });

  it('lasts at least 60 times the longest SLO', () => {
    expect(heldRun([model(1000, 500), model(1000, 20)], PROMISE_REQUESTS).durationNs).toBe(30e9);
  });

  it('is shortened with its warm-up so that all models together have 400,000 requests', () => {
    const models = [model(30_000, 1000), model(10_000, 4000)];
    const { durationNs, warmUp } = heldRun(models, PROMISE_REQUESTS);
    const longestS = (warmUp.fillSlos + warmUp.settleSlos) * 4;
    expect(40_000 * (longestS + durationNs / 1e9)).toBeCloseTo(400_000, 3);
    expect(warmUp.settleSlos / warmUp.fillSlos).toBeCloseTo(10, 9);
    // 60 and 11 of the longest SLO have the same ratio as before.
    expect(durationNs / 1e9 / longestS).toBeCloseTo(60 / 11, 6);
  });
});
