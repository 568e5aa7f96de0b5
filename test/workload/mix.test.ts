import { describe, expect, it } from 'vitest';
import { type Stream, streamOf } from '../../src/random/index.js';
import {
  type Arrivals,
  arrivalsAt,
  arrivalTimes,
  DrawnArrivals,
  mergedArrivals,
  sharedByWeight,
  steadyLoad,
} from '../../src/workload/index.js';

const pulled = (arrivals: Arrivals) => {
  const all: { at: number; model: number }[] = [];
  while (arrivals.next()) all.push({ at: arrivals.atNs, model: arrivals.model });
  return all;
};

const times = (stream: Stream, count: number) =>
  Array.from({ length: count }, () => stream.integer(30)).sort((a, b) => a - b);

describe('mergedArrivals()', () => {
  it('is in order of time, with equal times in the order of sources', () => {
    const merged = mergedArrivals([arrivalsAt([5, 5, 9], 0), arrivalsAt([1, 5, 12], 1), arrivalsAt([], 2)]);
    expect(pulled(merged)).toEqual([
      { at: 1, model: 1 },
      { at: 5, model: 0 },
      { at: 5, model: 0 },
      { at: 5, model: 1 },
      { at: 9, model: 0 },
      { at: 12, model: 1 },
    ]);
    expect(merged.next()).toBe(false);
    expect(mergedArrivals([]).next()).toBe(false);
  });

  it('leaves the arrivals of one model unchanged when another has more', () => {
    const run = (rpsOfOther: number) =>
      pulled(
        mergedArrivals(
          [300, rpsOfOther].map(
            (rps, model) =>
              new DrawnArrivals({
                process: 'poisson',
                load: steadyLoad(rps, 5),
                stream: streamOf(1, `arrivals/${model}`),
                model,
              }),
          ),
        ),
      );
    const ofFirst = (rpsOfOther: number) => run(rpsOfOther).filter(({ model }) => model === 0);
    expect(ofFirst(100)).toEqual(ofFirst(1000));
    expect(ofFirst(100).length).toBeGreaterThan(1000);
    expect(run(1000).length - ofFirst(1000).length).toBeGreaterThan(4000);
  });

  it('is the stable sort of all arrivals by time, whatever the sources', () => {
    for (let seed = 1; seed <= 40; seed++) {
      const stream = streamOf(seed, 'sources');
      const sources = Array.from({ length: 1 + stream.integer(4) }, () => times(stream, stream.integer(12)));
      const all = sources.flatMap((own, model) => own.map((at) => ({ at, model })));
      const merged = mergedArrivals(sources.map((own, model) => arrivalsAt(own, model)));
      expect(pulled(merged)).toEqual(all.sort((a, b) => a.at - b.at));
      expect(merged.next()).toBe(false);
    }
  });

  it('pulls from a source only once its last arrival was handed on', () => {
    const asked = [0, 0];
    const counted = (source: Arrivals, i: number): Arrivals => ({
      get atNs() {
        return source.atNs;
      },
      get model() {
        return source.model;
      },
      next: () => {
        asked[i]! += 1;
        return source.next();
      },
    });
    const merged = mergedArrivals([counted(arrivalsAt([1, 9]), 0), counted(arrivalsAt([5], 1), 1)]);
    expect(asked).toEqual([0, 0]);
    const seen = Array.from({ length: 4 }, () => [merged.next(), ...asked]);
    expect(seen).toEqual([
      [true, 1, 1],
      [true, 2, 1],
      [true, 2, 2],
      [false, 3, 2],
    ]);
  });

  it('is the source itself where there is only one', () => {
    const only = arrivalsAt([1, 2]);
    expect(mergedArrivals([only])).toBe(only);
  });
});

describe('sharedByWeight()', () => {
  it('keeps the times and draws models in proportion', () => {
    const times = arrivalTimes({ process: 'poisson', rps: 1000, durationS: 50, stream: streamOf(1, 'a') });
    const shared = pulled(sharedByWeight(arrivalsAt(times), [1, 0, 3], streamOf(1, 'models')));
    expect(shared.map(({ at }) => at)).toEqual(Array.from(times));
    const share = shared.filter(({ model }) => model === 2).length / shared.length;
    expect(Math.abs(share - 0.75)).toBeLessThan(0.01);
    expect(shared.some(({ model }) => model === 1)).toBe(false);
  });

  const modelsFor = (weights: readonly number[], draws: readonly number[]) => {
    let next = 0;
    const stream = { uniform: () => draws[next++] as number };
    const shared = pulled(sharedByWeight(arrivalsAt(draws.map((_, i) => 10 * i)), weights, stream));
    expect(shared.map(({ at }) => at)).toEqual(draws.map((_, i) => 10 * i));
    return shared.map(({ model }) => model);
  };

  it('draws for each model the numbers from the sum of the weights before it to that sum with its own', () => {
    const below = (x: number) => x - 2 ** -53;
    expect(modelsFor([1, 1, 2], [0, below(0.25), 0.25, below(0.5), 0.5, below(1)])).toEqual([
      0, 0, 1, 1, 2, 2,
    ]);
    expect(modelsFor([0, 4, 0, 12], [0, below(0.25), 0.25])).toEqual([1, 1, 3]);
    expect(modelsFor([5], [0, below(1)])).toEqual([0, 0]);
  });

  it('gives the remainder of rounding to the last model that has a weight', () => {
    // Ten tenths add up to a little less than 1.
    const tenths = Array.from({ length: 10 }, () => 1);
    expect(tenths.reduce((sum) => sum + 0.1, 0)).toBeLessThan(1);
    expect(modelsFor([...tenths, 0, 0], [1 - 2 ** -53])).toEqual([9]);
  });

  it('refuses weights that are all 0, negative or not finite, and shows them', () => {
    for (const weights of [[], [0, 0], [1, -1], [1, Number.NaN], [1, Number.POSITIVE_INFINITY]])
      expect(() => sharedByWeight(arrivalsAt([1]), weights, streamOf(1, 'm'))).toThrow(
        `Cannot share the load by weight: the weights are ${weights.join(', ')}; none may be negative`,
      );
    expect(() => sharedByWeight(arrivalsAt([1]), [0, 1e-9], streamOf(1, 'm'))).not.toThrow();
  });
});
