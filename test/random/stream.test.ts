import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { streamOf } from '../../src/random/index.js';

const draws = (seed: number, purpose: string, n: number) => {
  const stream = streamOf(seed, purpose);
  return Array.from({ length: n }, () => stream.uniform());
};

describe('streamOf()', () => {
  it('gives the same draws for the same seed and purpose, and others when either differs', () => {
    expect(draws(7, 'arrivals', 50)).toEqual(draws(7, 'arrivals', 50));
    expect(draws(7, 'arrivals', 50)).not.toEqual(draws(8, 'arrivals', 50));
    expect(draws(7, 'arrivals', 50)).not.toEqual(draws(7, 'jitter', 50));
  });

  it('leaves other streams unchanged when one draws more', () => {
    const first = streamOf(1, 'a');
    const second = streamOf(1, 'b');
    first.normal();
    expect([second.uniform(), second.uniform()]).toEqual(draws(1, 'b', 2));
  });

  it('has the moments of its distributions', () => {
    const stream = streamOf(3, 'moments');
    const n = 200_000;
    const moments = (draw: () => number) => {
      let sum = 0;
      let squares = 0;
      for (let i = 0; i < n; i++) {
        const x = draw();
        sum += x;
        squares += x * x;
      }
      return [sum / n, squares / n - (sum / n) ** 2] as const;
    };
    const [uniformMean, uniformVariance] = moments(stream.uniform);
    expect(uniformMean).toBeCloseTo(0.5, 2);
    expect(uniformVariance).toBeCloseTo(1 / 12, 2);
    const [exponentialMean, exponentialVariance] = moments(stream.exponential);
    expect(Math.abs(exponentialMean - 1)).toBeLessThan(0.01);
    expect(Math.abs(exponentialVariance - 1)).toBeLessThan(0.03);
    const [normalMean, normalVariance] = moments(stream.normal);
    expect(Math.abs(normalMean)).toBeLessThan(0.01);
    expect(Math.abs(normalVariance - 1)).toBeLessThan(0.02);
  });

  it('draws the gamma distribution, by its moments and its known distribution functions', () => {
    const n = 200_000;
    const drawsOf = (shape: number) => {
      const stream = streamOf(11, `gamma/${shape}`);
      return Float64Array.from({ length: n }, () => stream.gamma(shape)).sort();
    };
    // For Erlang, P(X ≤ x) = 1 − e^−x Σ_{k<shape} x^k/k!. With shape 1/2, X is half a squared normal.
    for (const [shape, x, probability] of [
      [1, 0.7, 1 - Math.exp(-0.7)],
      [3, 2, 1 - Math.exp(-2) * (1 + 2 + 2)],
      [0.5, 0.5, 0.682_689_492_1],
      [0.5, 2, 0.954_499_736_1],
    ] as const) {
      const sorted = drawsOf(shape);
      expect(Math.abs(sorted.filter((value) => value <= x).length / n - probability)).toBeLessThan(0.004);
    }
    for (const shape of [0.04, 0.3, 1, 7.5, 400]) {
      const sorted = drawsOf(shape);
      const mean = sorted.reduce((sum, value) => sum + value, 0) / n;
      const variance = sorted.reduce((sum, value) => sum + (value - mean) ** 2, 0) / n;
      expect(Math.abs(mean / shape - 1)).toBeLessThan(5 / Math.sqrt(n * shape));
      expect(Math.abs(variance / shape - 1)).toBeLessThan(0.03 + 0.1 / Math.sqrt(shape) ** 0.5);
      expect(sorted[0]).toBeGreaterThanOrEqual(0);
    }
    expect(() => streamOf(1, 'x').gamma(0)).toThrow('the shape 0 is not positive');
  });

  it('draws integers below the bound, each about equally often', () => {
    const stream = streamOf(5, 'integers');
    const counts = new Array<number>(10).fill(0);
    for (let i = 0; i < 50_000; i++) counts[stream.integer(10)]! += 1;
    for (const count of counts) expect(Math.abs(count - 5000)).toBeLessThan(300);
  });

  // The quick part of the tests runs on another version of Node too, where these have to be the same.
  it.each([
    ['uniform', 'a958f2a5a742039c'],
    ['exponential', '9b27012fbb2c2d8e'],
    ['normal', '9e931a6ed378f04c'],
    ['gamma', '213a3b062fcc5b3a'],
  ] as const)('draws the same numbers on every machine: %s', (kind, digest) => {
    const stream = streamOf(1, kind);
    const shapes = [0.01, 0.3, 0.9, 1, 7.5];
    const draws = Float64Array.from({ length: 100_000 }, (_, i) =>
      kind === 'gamma' ? stream.gamma(shapes[i % shapes.length]!) : stream[kind](),
    );
    expect(createHash('sha256').update(draws).digest('hex').slice(0, 16)).toBe(digest);
  });

  it('refuses a seed that is not finite', () => {
    expect(() => streamOf(Number.NaN, 'x')).toThrow('NaN is not a finite number');
  });
});
