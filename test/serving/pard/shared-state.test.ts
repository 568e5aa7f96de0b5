import { describe, expect, it } from 'vitest';
import { streamOf } from '../../../src/random/index.js';
import type { Stage } from './pipeline.js';
import { isMostFirst, mostFirstAt, quantile, queueingAt, sharedAt, waitsAfter } from './shared-state.js';

const pipelineOf = (...stages: Stage[]) => ({ stages, sloNs: 0, arrivalsNs: [] });

const decided = (batchedNs: number, queueingNs: number) => ({
  isKept: true,
  batchedNs,
  queueingNs,
  waitNs: 0,
  latencyNs: 0,
});

describe('waitsAfter()', () => {
  const d = 1e7;
  const stage = { devices: 1, batch: 1, latencyNs: [d] };
  const draws = 10_000;

  it('gives the quantiles of Fig. 6 for λ = 0.1, where no stage has waits of its own', () => {
    // The sums of n independent uniform numbers have P(sum ≤ x) = (xⁿ − n (x − 1)ⁿ [x > 1]) / n! up to x = 2, and the
    // paper gives these quantiles in two digits a stage: 0.10, 0.22, 0.28, 0.31 times n.
    const printed = [0.1, 0.44, 0.84, 1.24];
    const exact = [0.1, Math.sqrt(0.2), 0.6 ** (1 / 3), 1.2467];
    const densities = [1, exact[1]!, exact[2]! ** 2 / 2, (exact[3]! ** 3 - 4 * (exact[3]! - 1) ** 3) / 6];
    expect((exact[3]! ** 4 - 4 * (exact[3]! - 1) ** 4) / 24).toBeCloseTo(0.1, 4);
    for (const seed of [1, 2, 3, 4, 5]) {
      const five = pipelineOf(stage, stage, stage, stage, stage);
      const waits = streamOf(seed, 'waits');
      const w = waitsAfter({ pipeline: five, waits, lambda: 0.1, draws }, [[], [], [], [], []]);
      expect(w[4]).toEqual([0]);
      for (let stages = 1; stages <= 4; stages++) {
        // Four standard errors of a quantile of 10,000 draws; the paper's figures are rounded by up to 0.005 a stage.
        const tolerance = (4 * Math.sqrt((0.1 * 0.9) / draws)) / densities[stages - 1]!;
        const measured = w[4 - stages]![0]! / d;
        expect(Math.abs(measured - exact[stages - 1]!)).toBeLessThan(tolerance);
        expect(Math.abs(measured - printed[stages - 1]!)).toBeLessThan(tolerance + 0.005 * stages);
      }
    }
  });

  it('draws from the last M waits of each stage, the oldest of which has index 0', () => {
    // The stream is one of known draws: the stages in order but the first, M each.
    const indices = [2, 1, 0];
    const waits = { ...streamOf(1, 'waits'), integer: () => indices.shift()! };
    const [first, second] = waitsAfter({ pipeline: pipelineOf(stage, stage), waits, lambda: 0.5, draws: 3 }, [
      [9, 9, 9, 9],
      [2, 5, 6, 8],
    ]);
    // The draws of the second stage are 8, 6 and 5, and ⌈0.5 · 3⌉ is 2.
    expect([first, second]).toEqual([[6], [0]]);
  });

  it('takes the smallest sum for λ = 0, and the largest for λ = 1', () => {
    expect([0, 0.1, 0.34, 1].map((lambda) => quantile(lambda, [3, 1, 2]))).toEqual([1, 1, 2, 3]);
  });
});

describe('queueingAt()', () => {
  it('weighs delays by their bucket, linearly, and forgets what is older than the window', () => {
    // Buckets are 100 ns. At 5000 the present one is 50: 4900 has weight 49/50, 100 has 1/50, and 99 none.
    expect(queueingAt(5000, 5000, [decided(99, 1000), decided(100, 50), decided(4999, 100)])).toBe(
      (1 * 50 + 49 * 100) / 50,
    );
    expect(queueingAt(5000, 5000, [decided(99, 1000)])).toBe(0);
    expect(queueingAt(5000, 5000, [])).toBe(0);
  });
});

describe('sharedAt()', () => {
  it('distinguishes kept from decided requests, and takes the longest latency of both', () => {
    const stages = [
      { devices: 1, batch: 1, latencyNs: [7] },
      { devices: 1, batch: 1, latencyNs: [8] },
    ];
    const all = [
      { ...decided(10, 100), latencyNs: 50 },
      { ...decided(20, 200), latencyNs: 90, isKept: false },
    ];
    const histories = [
      { receivedNs: [0, 99, 100, 199, 200], decided: all },
      { receivedNs: [], decided: [] },
    ];
    const pipeline = pipelineOf(...stages);
    const sharing = { pipeline, order: 'adaptive' as const, waits: streamOf(1, 'waits'), periodNs: 100 };
    const shared = sharedAt(200, { ...sharing, windowNs: 5000, lambda: 0, draws: 1 }, histories);
    expect(shared.queueingNs).toEqual([100, 0]);
    expect(shared.decidedQueueingNs).toEqual([150, 0]);
    expect(shared.worstNs).toEqual([90, 8]);
    // In the last period 2 came to the first stage, which can do 14, and none to the second.
    expect(mostFirstAt(200, { ...sharing, intervalNs: 100 }, histories, [])).toEqual([false, false]);
  });
});

describe('isMostFirst()', () => {
  // The stage can do four a period.
  const stage = { devices: 2, batch: 2, latencyNs: [50, 100] };
  const next = (workloads: number[], before: boolean) =>
    isMostFirst('adaptive', before, workloads, stage, 100);

  it('changes the order only beyond 1 ± ε', () => {
    expect(next([4], false)).toBe(false);
    expect(next([5], false)).toBe(true);
    expect(next([4], true)).toBe(true);
    expect(next([3], true)).toBe(false);
    // The last five T_s are 7, 7, 6.8, 5.8 and 5, so that ε is (4 + 0 + 0.8 + 1.8 + 0) / 25 = 0.264, and 5/4 is not above.
    expect(next([9, 9, 3, 7, 6, 4, 5], false)).toBe(false);
    expect(next([9, 9, 3, 7, 6, 4, 5.2], false)).toBe(true);
    // The T_s are 1 and 5, so that ε is 0.4: 9/4 is above 1.4.
    expect(next([1, 9], false)).toBe(true);
    // The T_s are 4 and 5, so that ε is 0.1: 6/4 is above, and 3/4 would be below.
    expect(next([4, 6], false)).toBe(true);
    // The T_s are 9 and 6, so that ε is 0.25, and 3/4 is not below 0.75.
    expect(next([9, 3], true)).toBe(true);
    expect(next([9, 2.9], true)).toBe(false);
    expect(next([0, 0], true)).toBe(false);
  });

  it('changes it at once for instant, and never for a fixed order', () => {
    expect(isMostFirst('instant', true, [9, 4], stage, 100)).toBe(false);
    expect(isMostFirst('instant', false, [1, 5], stage, 100)).toBe(true);
    expect(isMostFirst('most', false, [1], stage, 100)).toBe(true);
    expect(isMostFirst('least', true, [9], stage, 100)).toBe(false);
  });
});
