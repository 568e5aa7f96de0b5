import { expect, test } from 'vitest';
import { samplePicks } from '../../src/profiler/sampling.js';
import { streamOf } from '../../src/random/index.js';

function keptOf(dims: readonly number[], picks: ReturnType<typeof samplePicks>): number[] {
  return dims.map((size, axis) => picks.find((pick) => pick.axis === axis)?.indices.length ?? size);
}

test('samplePicks() takes a tensor whole if it is small enough', () => {
  expect(samplePicks([2, 3, 4], { mostElements: 24, whole: 0 })).toEqual([]);
  expect(samplePicks([], { mostElements: 1, whole: undefined })).toEqual([]);
});

test('samplePicks() thins out the longest axes first, and never the axis that is kept whole', () => {
  const picks = samplePicks([1, 16, 512, 512], { mostElements: 16 * 64 * 64, whole: 0 });
  expect(keptOf([1, 16, 512, 512], picks)).toEqual([1, 16, 64, 64]);
  expect(samplePicks([4096, 2], { mostElements: 16, whole: 0 })).toEqual([]);
});

test('samplePicks() keeps at most the given number of elements, with each index in its own section of the axis', () => {
  const { uniform } = streamOf(3, 'shapes');
  for (let k = 0; k < 200; k++) {
    const dims = Array.from(
      { length: 1 + Math.floor(uniform() * 4) },
      () => 1 + Math.floor(uniform() ** 2 * 300),
    );
    const mostElements = 16 + Math.floor(uniform() * 2000);
    const picks = samplePicks(dims, { mostElements, whole: undefined });
    const kept = keptOf(dims, picks);
    expect(kept.reduce((a, b) => a * b, 1)).toBeLessThanOrEqual(mostElements);
    for (const { axis, indices } of picks) {
      const stretch = dims[axis]! / indices.length;
      indices.forEach((index, i) => {
        expect(Number.isInteger(index)).toBe(true);
        expect(index).toBeGreaterThanOrEqual(Math.floor(i * stretch));
        expect(index).toBeLessThan((i + 1) * stretch);
      });
    }
  }
});
