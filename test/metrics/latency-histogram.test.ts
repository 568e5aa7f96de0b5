import { describe, expect, it } from 'vitest';
import { ExactValues, Histogram } from '../../src/metrics/index.js';
import { latencyHistogram } from '../../src/metrics/latency-histogram.js';
import { streamOf } from '../../src/random/index.js';

const NS_PER_MS = 1e6;

function exact(valuesMs: readonly number[]): ExactValues {
  const values = new ExactValues();
  for (const ms of valuesMs) values.record(Math.round(ms * NS_PER_MS));
  return values;
}

describe('latencyHistogram()', () => {
  it('counts a latency that is a bound above it, and leaves empty buckets at both ends out', () => {
    expect(latencyHistogram(exact([3.15, 3.149999, 2.5, 8, 9.999999, 5]))).toEqual({
      boundsMs: [2.5, 3.15, 4, 5, 6.3, 8, 10],
      counts: [2, 1, 0, 1, 0, 2],
    });
  });

  it('has a first bucket for less than a microsecond, and a last one for longer than any run', () => {
    expect(latencyHistogram(exact([0, 0.000999]))).toEqual({ boundsMs: [0, 0.001], counts: [2] });
    expect(latencyHistogram(exact([9e9]))?.counts).toEqual([1]);
  });

  it('is undefined where there are no values', () => {
    expect(latencyHistogram(new ExactValues())).toBeUndefined();
    expect(latencyHistogram(new Histogram())).toBeUndefined();
  });

  it('counts every value between its bounds, and a Histogram only those near a bound otherwise', () => {
    const stream = streamOf(3, 'latencies');
    const latencies = Array.from({ length: 4000 }, () => Math.round(10 ** (2 + 6.5 * stream.uniform())));
    const kept = new ExactValues();
    const folded = new Histogram();
    for (const ns of latencies) for (const values of [kept, folded]) values.record(ns);
    const { boundsMs, counts } = latencyHistogram(kept)!;
    const within = (low: number, high: number) =>
      latencies.filter((ns) => ns >= low * NS_PER_MS && ns < high * NS_PER_MS).length;
    expect(counts).toEqual(counts.map((_, i) => within(boundsMs[i]!, boundsMs[i + 1]!)));
    const near = boundsMs.map((bound) => within(bound * (1 - 1 / 256), bound * (1 + 1 / 256)));
    const other = latencyHistogram(folded)!;
    expect(other.boundsMs).toEqual(boundsMs);
    other.counts.forEach((count, i) => {
      expect(Math.abs(count - counts[i]!)).toBeLessThanOrEqual(near[i]! + near[i + 1]!);
    });
    expect(other.counts.reduce((sum, count) => sum + count, 0)).toBe(latencies.length);
  });
});
