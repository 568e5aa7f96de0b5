/** These bounds limit a block's runtime, as multiples of the average block, from strict to loose. */
const STRICT = { lower: 0.5, upper: 1.5 };
const LOOSEST_UPPER = 4;
const UPPER_STEP = 0.5;
/**
 * Sums in different orders differ in their last bits. With this slack a block exactly at a bound is within
 * it.
 */
const SLACK = 1e-9;

interface Bounds {
  lower: number;
  upper: number;
}

/**
 * minTransferEnds cuts into exactly `blocks` blocks so that the fewest bytes cross in all, with every block
 * between 0.5 and 1.5 of the average block (whole runtime / blocks) on every device. Among equals it takes
 * the one whose blocks deviate least from the average (by the sum of squared deviations over blocks and
 * devices). It is exact, by dynamic programming over (blocks so far, cut).
 *
 * When no such cut exists, the upper bound is relaxed in steps of 0.5 up to 4 while the lower stays; the
 * published blocks of PPipe's artifact come out this way. After that the lower bound is relaxed in steps of
 * 0.1 down to 0 with the upper at 4. When one layer is too long even for 4, the upper bound is the smallest
 * attainable one and the lower is 0.
 *
 * The cost is blocks × cuts × (cuts within a bound's reach) × devices. 2,600 layers on four devices take well
 * under a second.
 * @param prefixes per device, the prefix sums of the layers' runtimes; every total is positive
 * @param blocks at most the number of valid cuts + 1
 */
export function minTransferEnds(
  prefixes: readonly Float64Array[],
  cutBytes: readonly (number | undefined)[],
  blocks: number,
): { ends: number[]; relaxed: boolean } & Bounds {
  const problem = problemOf(prefixes, cutBytes, blocks);
  for (const bounds of ladder()) {
    const ends = solve(problem, bounds);
    if (ends !== undefined) return { ends, ...bounds, relaxed: bounds.upper > STRICT.upper };
  }
  const bounds = { lower: 0, upper: smallestUpper(problem) };
  return { ends: solve(problem, bounds)!, ...bounds, relaxed: true };
}

function* ladder(): Generator<Bounds> {
  for (let upper = STRICT.upper; upper <= LOOSEST_UPPER; upper += UPPER_STEP) {
    yield { lower: STRICT.lower, upper };
  }
  for (let tenths = STRICT.lower * 10 - 1; tenths >= 0; tenths--) {
    yield { lower: tenths / 10, upper: LOOSEST_UPPER };
  }
}

interface Problem {
  blocks: number;
  /** The layer index of every place where a block may end: 0, the valid cuts, the model's end. */
  places: number[];
  /** The bytes that cross at each place. */
  bytes: number[];
  /** Per device, the runtime before each place, in average blocks. */
  ratios: Float64Array[];
}

function problemOf(
  prefixes: readonly Float64Array[],
  cutBytes: readonly (number | undefined)[],
  blocks: number,
): Problem {
  const layers = cutBytes.length;
  const cuts = cutBytes.flatMap((bytes, i) => (bytes !== undefined && i < layers - 1 ? [i + 1] : []));
  const places = [0, ...cuts, layers];
  return {
    blocks,
    places,
    bytes: places.map((place) => (place === 0 || place === layers ? 0 : cutBytes[place - 1]!)),
    ratios: prefixes.map((sums) =>
      Float64Array.from(places, (place) => (sums[place]! * blocks) / sums[layers]!),
    ),
  };
}

/**
 * solve fills f[k][j], the least (bytes, deviation) of k blocks that end at place j.
 * @returns undefined where no cut keeps the bounds
 */
function solve(problem: Problem, bounds: Bounds): number[] | undefined {
  const count = problem.places.length;
  let before = costs(count);
  before.bytes[0] = 0;
  before.deviation[0] = 0;
  const previous: Int32Array[] = [];
  for (let k = 1; k <= problem.blocks; k++) {
    const now = costs(count);
    const from = new Int32Array(count).fill(-1);
    for (let j = k; j < count; j++) from[j] = bestPrevious(problem, bounds, { before, now, j });
    previous.push(from);
    before = now;
  }
  if (before.bytes[count - 1] === Number.POSITIVE_INFINITY) return undefined;
  return traceBack(problem, previous);
}

interface Costs {
  bytes: Float64Array;
  deviation: Float64Array;
}

function costs(count: number): Costs {
  return {
    bytes: new Float64Array(count).fill(Number.POSITIVE_INFINITY),
    deviation: new Float64Array(count).fill(Number.POSITIVE_INFINITY),
  };
}

function bestPrevious(
  problem: Problem,
  bounds: Bounds,
  { before, now, j }: { before: Costs; now: Costs; j: number },
): number {
  let best = -1;
  for (let i = j - 1; i >= 0; i--) {
    if (isTooLong(problem, bounds, i, j)) break;
    if (before.bytes[i] === Number.POSITIVE_INFINITY || isTooShort(problem, bounds, i, j)) continue;
    const bytes = before.bytes[i]! + problem.bytes[j]!;
    const deviation = before.deviation[i]! + deviationOf(problem, i, j);
    if (bytes > now.bytes[j]! || (bytes === now.bytes[j]! && deviation >= now.deviation[j]!)) continue;
    now.bytes[j] = bytes;
    now.deviation[j] = deviation;
    best = i;
  }
  return best;
}

function isTooLong({ ratios }: Problem, { upper }: Bounds, i: number, j: number): boolean {
  return ratios.some((ratio) => ratio[j]! - ratio[i]! > upper + SLACK);
}

function isTooShort({ ratios }: Problem, { lower }: Bounds, i: number, j: number): boolean {
  return ratios.some((ratio) => ratio[j]! - ratio[i]! < lower - SLACK);
}

function deviationOf({ ratios }: Problem, i: number, j: number): number {
  return ratios.reduce((sum, ratio) => sum + (ratio[j]! - ratio[i]! - 1) ** 2, 0);
}

function traceBack(problem: Problem, previous: readonly Int32Array[]): number[] {
  const ends: number[] = [];
  let place = problem.places.length - 1;
  for (let k = problem.blocks - 1; k >= 0; k--) {
    ends.push(problem.places[place]!);
    place = previous[k]![place]!;
  }
  return ends.reverse();
}

/**
 * smallestUpper gives the smallest possible length of the longest block on any device, over all cuts into
 * that many blocks.
 */
function smallestUpper(problem: Problem): number {
  const count = problem.places.length;
  let before = new Float64Array(count).fill(Number.POSITIVE_INFINITY);
  before[0] = 0;
  for (let k = 1; k <= problem.blocks; k++) {
    const now = new Float64Array(count).fill(Number.POSITIVE_INFINITY);
    for (let j = k; j < count; j++) {
      for (let i = j - 1; i >= 0; i--) {
        const longest = longestOf(problem, i, j);
        if (longest >= now[j]!) break;
        now[j] = Math.min(now[j]!, Math.max(before[i]!, longest));
      }
    }
    before = now;
  }
  return before[count - 1]!;
}

function longestOf({ ratios }: Problem, i: number, j: number): number {
  return ratios.reduce((longest, ratio) => Math.max(longest, ratio[j]! - ratio[i]!), 0);
}
