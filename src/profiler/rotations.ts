import { largestOf } from '../collections/index.js';

/** Less memory than this is not worth saving: a rotation may take so much, whatever the whole model takes. */
const SPARE_BYTES = 256 * 2 ** 20;

/**
 * The weights of a rotation may be this many times those of the heaviest part. A session takes up to 1.6 times its
 * weights, because ONNX Runtime packs most of them anew, and this process holds them once more.
 */
const WEIGHTS_FACTOR = 1.5;

/** Need is the memory that a part takes while it is loaded and run. */
export interface Need {
  /** The bytes of its tensors. */
  readonly workingBytes: number;
  readonly weightBytes: number;
}

/** RotationStep is a rotation, and the share of the time for each of its parts that it gets. */
export interface RotationStep<Part> {
  readonly parts: readonly Part[];
  readonly share: number;
}

/**
 * stepsOf gives the rotations in which parts are measured, one after the other (`rotationsOf`). The rotation with the
 * part that the others are compared with runs half before the others and half after, so that drift hits it as it hits
 * them.
 */
export function stepsOf<Part>(
  parts: readonly Part[],
  {
    compared,
    ...how
  }: { readonly compared: Part; readonly needOf: (part: Part) => Need; readonly limitBytes: number },
): RotationStep<Part>[] {
  const rotations = rotationsOf(parts, how);
  const [first, ...others] = rotations.toSorted(
    (a, b) => Number(b.includes(compared)) - Number(a.includes(compared)),
  );
  if (first === undefined || others.length === 0) return rotations.map((parts) => ({ parts, share: 1 }));
  const half = { parts: first, share: 1 / 2 };
  return [half, ...others.map((parts) => ({ parts, share: 1 })), half];
}

/**
 * rotationsOf divides parts into as few rotations as memory allows, and keeps their order within each. All parts share
 * one rotation where their tensors take 256 MiB or less, or no more than the largest part's alone (the whole model's),
 * and their weights 256 MiB or less, or no more than 1.5 times those of the part with most. Otherwise there are several
 * rotations, each within these limits. Loads are even, so that no rotation is so small that its
 * weights stay in the cache.
 * @param limitBytes the most that a rotation may take, weights included; a single part is not divided
 */
export function rotationsOf<Part>(
  parts: readonly Part[],
  { needOf, limitBytes }: { readonly needOf: (part: Part) => Need; readonly limitBytes: number },
): Part[][] {
  const needs = new Map(parts.map((part) => [part, needOf(part)]));
  const largest = Math.max(0, largestOf([...needs.values()].map(({ workingBytes }) => workingBytes)));
  const mostBytes = Math.max(largest, SPARE_BYTES);
  const heaviest = Math.max(0, largestOf([...needs.values()].map(({ weightBytes }) => weightBytes)));
  const mostWeights = Math.max(WEIGHTS_FACTOR * heaviest, SPARE_BYTES);
  const fits = (together: readonly Part[]) => {
    const working = sum(together.map((part) => needs.get(part)!.workingBytes));
    const weights = sum(together.map((part) => needs.get(part)!.weightBytes));
    if (together.length === 1) return true;
    return working <= mostBytes && weights <= mostWeights && working + weights <= limitBytes;
  };
  for (let count = 1; count < parts.length; count++) {
    const rotations = evenly(parts, count, (part) => needs.get(part)!.workingBytes);
    if (rotations.every(fits)) return rotations;
  }
  return parts.map((part) => [part]);
}

/** evenly puts each part, the largest first, into the rotation with the fewest bytes so far. */
function evenly<Part>(parts: readonly Part[], count: number, bytesOf: (part: Part) => number): Part[][] {
  const bins = Array.from({ length: count }, () => ({ bytes: 0, parts: new Set<Part>() }));
  for (const part of [...parts].sort((a, b) => bytesOf(b) - bytesOf(a))) {
    const least = bins.reduce((a, b) => (b.bytes < a.bytes ? b : a));
    least.parts.add(part);
    least.bytes += bytesOf(part);
  }
  return bins.map((bin) => parts.filter((part) => bin.parts.has(part))).filter(({ length }) => length > 0);
}

function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}
