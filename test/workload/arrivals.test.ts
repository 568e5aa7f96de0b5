import { describe, expect, it } from 'vitest';
import { streamOf } from '../../src/random/index.js';
import { arrivals, arrivalsAt, arrivalTimes } from '../../src/workload/index.js';

const poisson = (seed: number, rps = 1000, durationS = 50) =>
  arrivalTimes({ process: 'poisson', rps, durationS, stream: streamOf(seed, 'arrivals') });

describe('arrivalTimes()', () => {
  it('gives ascending whole nanoseconds within the duration, and the same ones for the same seed', () => {
    const times = poisson(1);
    expect(times).toEqual(poisson(1));
    expect(times).not.toEqual(poisson(2));
    expect(times.every((t, i) => Number.isInteger(t) && t >= (times[i - 1] ?? 0) && t < 50e9)).toBe(true);
  });

  it('has the mean rate, the variance of counts and the memoryless gaps of a Poisson process', () => {
    const times = poisson(3, 1000, 100);
    expect(Math.abs(times.length - 100_000)).toBeLessThan(4 * Math.sqrt(100_000));
    const perWindow = new Array<number>(1000).fill(0);
    for (const t of times) perWindow[Math.floor(t / 1e8)]! += 1;
    const mean = perWindow.reduce((a, b) => a + b) / 1000;
    const variance = perWindow.reduce((a, b) => a + (b - mean) ** 2, 0) / 999;
    expect(variance / mean).toBeGreaterThan(0.85);
    expect(variance / mean).toBeLessThan(1.15);
    const longGaps = times.filter((t, i) => t - (times[i - 1] ?? 0) > 2e6).length / times.length;
    expect(Math.abs(longGaps - Math.exp(-2))).toBeLessThan(0.01);
  });

  it('spaces uniform arrivals evenly without drift', () => {
    const stream = streamOf(1, 'unused');
    const seldom = arrivalTimes({ process: 'uniform', rps: 0.25, durationS: 10, stream });
    expect(Array.from(seldom)).toEqual([0, 4e9, 8e9]);
    const times = arrivalTimes({ process: 'uniform', rps: 3, durationS: 1000, stream });
    expect(times.length).toBe(3000);
    expect(times[2999]).toBe(Math.round(2999e9 / 3));
  });

  it('gives the same times as the generator', () => {
    const options = { process: 'poisson', rps: 50, durationS: 2, stream: streamOf(9, 'a') } as const;
    const yielded = [...arrivals(options)];
    expect(Array.from(arrivalTimes({ ...options, stream: streamOf(9, 'a') }))).toEqual(yielded);
  });

  it('refuses rates and durations that are not positive', () => {
    expect(() => poisson(1, 0)).toThrow('the rate 0 is not positive');
    expect(() => poisson(1, 1, Number.NaN)).toThrow('the duration NaN');
  });
});

describe('arrivalsAt()', () => {
  it('gives each time once, and keeps the last time and the model after the end', () => {
    const given = arrivalsAt([3, 3, 8], 2);
    const seen = Array.from({ length: 3 }, () => [given.next(), given.atNs, given.model]);
    expect(seen).toEqual([3, 3, 8].map((at) => [true, at, 2]));
    for (let i = 0; i < 2; i++) expect([given.next(), given.atNs, given.model]).toEqual([false, 8, 2]);
    expect(arrivalsAt([5]).model).toBe(0);
  });
});
