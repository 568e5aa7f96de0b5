import { describe, expect, it } from 'vitest';
import { streamOf } from '../../../src/random/index.js';
import { envelopeLengths, envelopeOf } from '../../../src/serving/tuning/envelope.js';
import { S } from './tuned.js';

describe('envelopeLengths()', () => {
  it('doubles the service time while it is below 60 s, and ends with 60 s', () => {
    expect(envelopeLengths(10 * S)).toEqual([10, 20, 40, 60].map((s) => s * S));
    expect(envelopeLengths(15 * S)).toEqual([15, 30, 60].map((s) => s * S));
  });

  it('has one window where the service time is 60 s or more', () => {
    expect(envelopeLengths(60 * S)).toEqual([60 * S]);
    expect(envelopeLengths(90 * S)).toEqual([90 * S]);
  });
});

describe('envelopeOf()', () => {
  it('gives the most requests within any window of each length', () => {
    const at = [0, 1, 12, 13, 14, 30].map((s) => s * S);
    expect(envelopeOf(at, 3 * S).map(({ windowUs, requests }) => [windowUs / 1e6, requests])).toEqual([
      [3, 3],
      [6, 3],
      [12, 3],
      [24, 5],
      [48, 6],
      [60, 6],
    ]);
  });

  it('agrees with counting all windows over the whole list', () => {
    for (let seed = 0; seed < 30; seed++) {
      const random = streamOf(seed, 'envelope');
      const serviceNs = Math.ceil(random.uniform() * 20 * S);
      let last = 0;
      const at = Array.from({ length: 300 }, () => {
        last += Math.floor(random.uniform() * random.uniform() * 2 * S);
        return last;
      });
      for (const { windowUs, requests } of envelopeOf(at, serviceNs)) {
        const inWindowTo = (end: number) =>
          at.filter((time) => time <= end && time > end - windowUs * 1e3).length;
        expect(requests).toBe(Math.max(...at.map(inWindowTo)));
      }
    }
  });

  it('has no requests where none came', () => {
    expect(envelopeOf([], 40 * S).map(({ requests }) => requests)).toEqual([0, 0]);
  });
});
