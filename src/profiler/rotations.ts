/** Memory that is not worth saving: what a rotation may take besides what the whole model takes. */
const SPARE_BYTES = 256 * 2 ** 20;

/** What a part takes while it is loaded and run. */
export interface Need {
  /** Its tensors. */
  readonly workingBytes: number;
  readonly weightBytes: number;
}

/** A rotation, and the share of the time for each of its parts that it gets. */
export interface Step<Part> {
  readonly parts: readonly Part[];
  readonly share: number;
}

/**
 * The rotations that parts are measured in, one after the other (`rotationsOf`). The one with the part that the others are
 * compared with is half before the others and half after, so that drift hits that part as it hits them.
 */
export function stepsOf<Part>(
  parts: readonly Part[],
  {
    compared,
    ...how
  }: { readonly compared: Part; readonly needOf: (part: Part) => Need; readonly limitBytes: number },
): Step<Part>[] {
  const rotations = rotationsOf(parts, how);
  const [first, ...others] = rotations.toSorted(
    (a, b) => Number(b.includes(compared)) - Number(a.includes(compared)),
  );
  if (first === undefined || others.length === 0) return rotations.map((parts) => ({ parts, share: 1 }));
  const half = { parts: first, share: 1 / 2 };
  return [half, ...others.map((parts) => ({ parts, share: 1 })), half];
}

/**
 * Parts to be measured, in as few rotations as memory allows, in the order given within each. All go into one where their
 * tensors take little, or little more than those of the largest part alone (the whole model); otherwise each rotation takes
 * about as much as that part. Loads are even, so that no rotation is so small that its weights stay in the cache.
 * @param limitBytes what a rotation may take, weights too; a single part is not divided
 */
export function rotationsOf<Part>(
  parts: readonly Part[],
  { needOf, limitBytes }: { readonly needOf: (part: Part) => Need; readonly limitBytes: number },
): Part[][] {
  const needs = new Map(parts.map((part) => [part, needOf(part)]));
  const largest = Math.max(0, ...[...needs.values()].map(({ workingBytes }) => workingBytes));
  const mostBytes = Math.max(largest, SPARE_BYTES);
  const fits = (together: readonly Part[]) => {
    const working = sum(together.map((part) => needs.get(part)!.workingBytes));
    const weights = sum(together.map((part) => needs.get(part)!.weightBytes));
    return together.length === 1 || (working <= mostBytes && working + weights <= limitBytes);
  };
  for (let count = 1; count < parts.length; count++) {
    const rotations = evenly(parts, count, (part) => needs.get(part)!.workingBytes);
    if (rotations.every(fits)) return rotations;
  }
  return parts.map((part) => [part]);
}

/** Each part, the largest first, goes where there is least so far. */
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
