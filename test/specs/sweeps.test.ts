import { describe, expect, it } from 'vitest';
import { msPoints, multipleMs, sweepOf } from '../../src/specs/sweeps.js';

describe('msPoints()', () => {
  it('writes SLOs that are multiples of a latency without the error of binary fractions', () => {
    const { slo } = sweepOf(['slo=3x..6x'], []);
    const points = msPoints(slo as NonNullable<typeof slo>, 24.2);
    expect(points.map(({ sloMs }) => sloMs)).toEqual([
      72.6, 81.675, 90.75, 99.825, 108.9, 117.975, 127.05, 136.125, 145.2,
    ]);
    expect(4.5 * 24.2).not.toBe(multipleMs(4.5, 24.2));
  });

  it('differs from the product by less than a part in 10¹¹', () => {
    for (let i = 1; i <= 2000; i++) {
      const [n, ms] = [Math.sqrt(i), Math.exp((i % 37) - 18)];
      expect(Math.abs(multipleMs(n, ms) / (n * ms) - 1)).toBeLessThan(1e-11);
    }
  });
});
