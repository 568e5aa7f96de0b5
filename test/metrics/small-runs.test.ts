import { describe, expect, it } from 'vitest';
import { RunMetrics, type RunShape } from '../../src/metrics/index.js';
import { streamOf } from '../../src/random/index.js';
import { TWO_HALVES } from './two-halves.js';

describe('RunMetrics', () => {
  const begun = (shape: RunShape, options: ConstructorParameters<typeof RunMetrics>[1]) => {
    const metrics = new RunMetrics(shape, options);
    metrics.begun({ core: { batchTask: (_, i) => i }, requestOf: (task) => task });
    return metrics;
  };

  it('keeps a histogram by default, and every latency where it is asked to', () => {
    const medianOf = (options: ConstructorParameters<typeof RunMetrics>[1]) => {
      const metrics = begun(TWO_HALVES, options);
      for (const request of [0, 1]) metrics.arrived(0, 0, request);
      metrics.ended(2 ** 20 + 1, 0, 0, 0, 0, -1, -1);
      metrics.ended(2 ** 22, 0, 1, 0, 0, -1, -1);
      return (metrics.figures(10e9).overall.latencyMs?.p50 as number) * 1e6;
    };
    expect(medianOf({ exact: true })).toBeCloseTo(2 ** 20 + 1, 3);
    for (const options of [{}, undefined, { exact: false }])
      expect(medianOf(options)).not.toBeCloseTo(2 ** 20 + 1, 3);
  });

  it('keeps the times of requests with any number, and only the new ones when a number is used again', () => {
    const stream = streamOf(1, 'numbers');
    const metrics = begun(TWO_HALVES, { exact: true });
    const expected: number[] = [];
    for (const request of [0, 1023, 1024, 5000, 2048, 20_000, 3, 1024]) {
      const computeNs = 1 + stream.integer(1000);
      metrics.arrived(0, 0, request);
      metrics.begun({ core: { batchTask: () => 0 }, requestOf: () => request });
      metrics.executed(0, 0, 0, 1, 0, 0, computeNs);
      metrics.transferred(0, 0, 0, 1, 1, 0, 0, 7);
      metrics.ended(5000, 0, request, 0, 0, -1, -1);
      expected.push(computeNs);
    }
    const { splitMs, latencyMs, invalidRate } = metrics.figures(10e9).overall;
    expect((splitMs?.compute.mean as number) * 8e6).toBeCloseTo(
      expected.reduce((a, b) => a + b),
      6,
    );
    expect(splitMs?.compute.max).toBe(Math.max(...expected) / 1e6);
    expect(splitMs?.transfer).toMatchObject({ count: 8, p50: 7e-6, max: 7e-6 });
    expect(latencyMs?.p50).toBe(0.005);
    expect(invalidRate).toBe(0);
  });

  it('keeps the times of open requests when it grows for a larger number', () => {
    const metrics = begun(TWO_HALVES, { exact: true });
    metrics.arrived(0, 0, 0);
    metrics.executed(0, 0, 0, 1, 0, 0, 300);
    metrics.transferred(0, 0, 0, 1, 1, 0, 300, 400);
    metrics.arrived(0, 0, 1024);
    metrics.arrived(0, 0, 9000);
    metrics.ended(1000, 0, 0, 0, 1, -1, -1);
    const { splitMs, invalidRate, unfinished } = metrics.figures(10e9).overall;
    expect([splitMs?.compute.max, splitMs?.transfer.max, splitMs?.queueing.max]).toEqual([3e-4, 1e-4, 6e-4]);
    expect([invalidRate, unfinished]).toEqual([1, 2]);
  });

  it('grows to any number at once', () => {
    for (const request of [1023, 1024, 1025, 2047, 2048, 2049, 4095, 4096]) {
      const metrics = begun(TWO_HALVES, {});
      metrics.arrived(0, 0, request);
      metrics.begun({ core: { batchTask: () => 0 }, requestOf: () => request });
      metrics.executed(0, 0, 0, 1, 0, 0, 1e6);
      metrics.ended(2e6, 0, request, 0, 1, -1, -1);
      expect(metrics.figures(10e9).overall).toMatchObject({
        invalidRate: 1,
        splitMs: { compute: { max: 1 }, transfer: { max: 0 } },
      });
    }
  });

  it('cuts device time at an earlier end without windows too', () => {
    const metrics = begun(TWO_HALVES, {});
    metrics.endAt(1e9);
    metrics.arrived(0, 0, 0);
    metrics.executed(0, 0, 0, 1, 0, 0, 4e9);
    expect(metrics.figures(1e9).classes[0]).toMatchObject({ busyGpuS: 0.5, utilisation: 0.5 });
  });

  it('leaves out figures of requests where none arrived, and windows where none are asked for', () => {
    const figures = begun(TWO_HALVES, {}).figures(10e9);
    expect(figures).toStrictEqual({
      overall: {
        arrived: 0,
        inTime: 0,
        late: 0,
        dropped: 0,
        failed: 0,
        offeredRps: 0,
        throughputRps: 0,
        goodputRps: 0,
      },
      models: [figures.overall],
      drops: [],
      classes: [{ virtualGpus: 2, gpus: 1, busyGpuS: 0, utilisation: 0 }],
      pools: [{ batches: 0, requests: 0, sizes: [0, 0, 0, 0], utilisation: 0 }],
      links: { uplink: { mean: 0, busiest: 0 }, downlink: { mean: 0, busiest: 0 } },
    });
  });

  it('gives shares of 0 where there are no devices and no links', () => {
    const none = {
      ...TWO_HALVES,
      poolDevices: [0],
      deviceClass: [],
      deviceShare: [],
      uplinks: 0,
      downlinks: 0,
    };
    const { classes, pools, links } = begun(none, {}).figures(10e9);
    expect([classes[0]?.utilisation, pools[0]?.utilisation, links.uplink, links.downlink]).toEqual([
      0,
      0,
      { mean: 0, busiest: 0 },
      { mean: 0, busiest: 0 },
    ]);
  });
});
