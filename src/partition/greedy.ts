/** Cuts within this part of a block's share count as equally good, and the fewest bytes decide among them. */
const TOLERANCE = 0.1;

/**
 * greedyEnds groups consecutive layers into blocks of about equal runtime. With W the whole runtime, every
 * block's share is W/N. By PPipe's rule (section 5.2), a block begins at the first layer that is not yet in one,
 * and ends where its runtime is closest to W/N; this is repeated to the last layer.
 *
 * These rules are ours. A block ends only at a valid cut. Where cuts bring its runtime within ±10 % of W/N, it
 * ends at the one of them that the fewest bytes cross (then the closest, then the earliest). The model's end
 * counts as a cut that 0 bytes cross. The Nth block takes whatever is left, so there are never more than N.
 *
 * A layer longer than its share is a block of its own, or shares one with a few short neighbours. Later
 * blocks keep the same share, so that fewer than N blocks may come out. Layers of 0 µs go where the fewest
 * bytes cross.
 * @param sums prefix sums of the layers' runtimes; the total is positive
 * @param cutBytes the bytes that cross after each layer; undefined where the model cannot be cut
 */
export function greedyEnds(
  sums: Float64Array,
  cutBytes: readonly (number | undefined)[],
  blocks: number,
): number[] {
  const layers = cutBytes.length;
  const share = sums[layers]! / blocks;
  const ends: number[] = [];
  let from = 0;
  while (from < layers) {
    const end = ends.length === blocks - 1 ? layers : nextEnd({ sums, cutBytes, share, from });
    ends.push(end);
    from = end;
  }
  return ends;
}

interface Candidate {
  end: number;
  bytes: number;
  distance: number;
  near: boolean;
}

function nextEnd(at: {
  sums: Float64Array;
  cutBytes: readonly (number | undefined)[];
  share: number;
  from: number;
}): number {
  const layers = at.cutBytes.length;
  let best: Candidate | undefined;
  for (let end = at.from + 1; end <= layers; end++) {
    const bytes = end === layers ? 0 : at.cutBytes[end - 1];
    if (bytes === undefined) continue;
    const distance = Math.abs(at.sums[end]! - at.sums[at.from]! - at.share);
    const candidate = { end, bytes, distance, near: distance <= TOLERANCE * at.share };
    if (best === undefined || isBetter(candidate, best)) best = candidate;
  }
  return best!.end;
}

function isBetter(a: Candidate, b: Candidate): boolean {
  if (a.near !== b.near) return a.near;
  const order = a.near
    ? a.bytes - b.bytes || a.distance - b.distance
    : a.distance - b.distance || a.bytes - b.bytes;
  return order < 0;
}
