import { describe, expect, it } from 'vitest';
import { type HeldRun, heldRun, PROMISE_REQUESTS } from '../../src/hold/index.js';
import { drawnWarmUp } from '../../src/simulation/warm-up.js';

const model = (throughputRps: number, sloMs: number) => ({ throughputRps, sloMs });

describe('heldRun()', () => {
  it('lasts until the slowest model has its requests, after queues were filled and have settled', () => {
    expect(heldRun([model(100, 50), model(200, 80)], PROMISE_REQUESTS)).toEqual({
      durationNs: 200e9,
      warmUp: { fillSlos: 1, settleSlos: 10 },
    });
    expect(heldRun([model(100, 50), model(0, 80)], 8000).durationNs).toBe(80e9);
  });

  it('lasts at least 60 times the longest SLO', () => {
    expect(heldRun([model(1000, 500), model(1000, 20)], PROMISE_REQUESTS).durationNs).toBe(30e9);
  });

  it('takes no account of models that are not served', () => {
    const served = [model(100, 50), model(200, 80)];
    expect(heldRun([...served, model(0, 60_000)], 8000)).toEqual(heldRun(served, 8000));
  });

  it('is shortened so that all models together have 400,000 requests, while queues are filled as before', () => {
    for (const models of [
      [model(30_000, 500), model(10_000, 1000)],
      [model(990, 50), model(10, 50)],
    ]) {
      const { durationNs, warmUp } = heldRun(models, PROMISE_REQUESTS);
      expect(warmUp.fillSlos).toBe(1);
      expect(warmUp.settleSlos).toBeLessThan(10);
      expect(requestsOf(models, { durationNs, warmUp })).toBeCloseTo(400_000, 2);
    }
  });

  it('gives filling no more than half of the requests where SLOs are absurdly long', () => {
    const models = [model(30_000, 100_000), model(10_000, 400_000)];
    const { durationNs, warmUp } = heldRun(models, PROMISE_REQUESTS);
    expect(requestsOf(models, { durationNs: 0, warmUp: { ...warmUp, settleSlos: 0 } })).toBeCloseTo(
      200_000,
      2,
    );
    expect(requestsOf(models, { durationNs, warmUp })).toBeCloseTo(400_000, 2);
  });
});

/** requestsOf counts the requests that arrive in a run: each model has its rate, and twice that while its queues are filled. */
function requestsOf(models: readonly ReturnType<typeof model>[], { durationNs, warmUp }: HeldRun): number {
  const { fillNs, settleNs } = drawnWarmUp(models, warmUp);
  const longestNs = Math.max(...fillNs);
  return models.reduce((sum, { throughputRps }, m) => {
    const fill = fillNs[m] as number;
    return sum + (throughputRps * (longestNs - fill + 2 * fill + settleNs + durationNs)) / 1e9;
  }, 0);
}
