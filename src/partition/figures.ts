import type { PartitionInput } from './types.js';

/**
 * prefixSums adds up figures of layers: element i is the sum of the first i, so there is one element more than figures.
 */
export function prefixSums(values: readonly number[]): Float64Array {
  const sums = new Float64Array(values.length + 1);
  values.forEach((value, i) => {
    sums[i + 1] = sums[i]! + value;
  });
  return sums;
}

/**
 * weightsOf gives the weights of layers to divide: their latencies, or 1 for every layer if all latencies are 0.
 * @returns `uniform` true if all latencies are 0
 */
export function weightsOf(latencies: readonly number[]): { values: readonly number[]; uniform: boolean } {
  const uniform = latencies.every((us) => us === 0);
  return { values: uniform ? latencies.map(() => 1) : latencies, uniform };
}

/**
 * crossingBytes sums the bytes of one request that cross the cuts between blocks with these ends. The last end, which
 * is the model's, is no cut.
 */
export function crossingBytes(input: PartitionInput, ends: readonly number[]): number {
  return ends.slice(0, -1).reduce((sum, end) => sum + (input.cutBytes[end - 1] ?? 0), 0);
}

/**
 * balanceOf gives the shortest and the longest block over all device classes, as multiples of the average block of the
 * class (its whole runtime / blocks). On a class whose latencies are all 0, layers are counted instead.
 */
export function balanceOf(
  input: PartitionInput,
  ends: readonly number[],
): { shortest: number; longest: number } {
  let shortest = Number.POSITIVE_INFINITY;
  let longest = 0;
  for (const latencies of Object.values(input.layerLatencyUs)) {
    const sums = prefixSums(weightsOf(latencies).values);
    const average = sums.at(-1)! / ends.length;
    ends.forEach((end, k) => {
      const ratio = (sums[end]! - sums[k === 0 ? 0 : ends[k - 1]!]!) / average;
      shortest = Math.min(shortest, ratio);
      longest = Math.max(longest, ratio);
    });
  }
  return { shortest, longest };
}
