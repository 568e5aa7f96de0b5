import { describe, expect, it } from 'vitest';
import { levelsOf, thresholdsOf } from '../../src/gearplan/levels.js';

describe('The levels of a model', () => {
  it('are its certainties once each, with the samples in their order', () => {
    const { values, ranks, order } = levelsOf(Float64Array.of(0.5, 0.1, 0.5, 0.9, 0.1));
    expect([...values]).toEqual([0.1, 0.5, 0.9]);
    expect([...ranks]).toEqual([1, 0, 1, 2, 0]);
    expect([...order]).toEqual([1, 4, 0, 2, 3]);
  });

  it('give every threshold but the lowest where these are few enough', () => {
    const { thresholds, isWhole, bins } = thresholdsOf(levelsOf(Float64Array.of(0.5, 0.1, 0.5, 0.9)), 2);
    expect(isWhole).toBe(true);
    expect([...thresholds]).toEqual([1, 2]);
    expect([...bins]).toEqual([1, 0, 1, 2]);
  });

  it('give quantiles of the samples where there are more, and none below which no sample is', () => {
    const { thresholds, isWhole, bins } = thresholdsOf(levelsOf(Float64Array.of(0.5, 0.1, 0.5, 0.9)), 1);
    expect(isWhole).toBe(false);
    expect([...thresholds]).toEqual([1]);
    expect([...bins]).toEqual([1, 0, 1, 1]);
    // Of nine samples the third and the sixth are the quantiles; six are equally unsure.
    const unsure = levelsOf(Float64Array.of(7, 0, 0, 6, 0, 5, 0, 0, 0));
    expect([...thresholdsOf(unsure, 2).thresholds]).toEqual([1]);
    expect([...thresholdsOf(unsure, 2).bins]).toEqual([1, 0, 0, 1, 0, 1, 0, 0, 0]);
    expect([...thresholdsOf(levelsOf(Float64Array.of(0, 1, 2, 3, 4, 5)), 2).thresholds]).toEqual([2, 4]);
  });
});
