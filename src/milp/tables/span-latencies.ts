/**
 * SpanLatencies gives the latencies in µs of all partitions on one slot at one batch size. A partition of units
 * [first, end) takes the units' time when they run joined (`joinedBetween`), and what starting a partition at its first
 * cut adds, `entryUs[first]`. A span that was timed as a whole takes what was measured.
 */
export interface SpanLatencies {
  /** The joined time of all units before each cut. Noise may let it fall from one cut to the next. */
  readonly joinedUs: Float64Array;
  /**
   * The part that rounding took from each of these sums, so that a short unit behind very long ones keeps its
   * digits.
   */
  readonly roundedOffUs: Float64Array;
  /** The least joined time at each cut and all later ones. */
  readonly leastJoinedUs: Float64Array;
  /**
   * The time that a partition takes more because the model is cut before it, by cut; 0 at cut 0. It may be
   * negative.
   */
  readonly entryUs: Float64Array;
  /** The latencies of timed spans by first cut, then end: NaN where none was timed, and no row where none begins. */
  readonly timedUs: readonly (Float64Array | undefined)[];
  /** Any partition that begins at a cut takes at least this more than the joined time of its units. */
  readonly leastEntryUs: Float64Array;
}

/** TimedSpan is the measured latency of the units [first, end) in one piece. */
export interface TimedSpan {
  readonly first: number;
  readonly end: number;
  readonly us: number;
}

/** spanUs is the latency in µs of a partition of units [first, end). */
export function spanUs(latencies: SpanLatencies, first: number, end: number): number {
  const timed = latencies.timedUs[first];
  if (timed !== undefined) {
    const us = timed[end] as number;
    if (us >= 0) return us;
  }
  return joinedBetween(latencies, first, end) + (latencies.entryUs[first] as number);
}

/** joinedBetween is the time in µs of units [first, end) when they run joined to their neighbours. */
export function joinedBetween(
  { joinedUs, roundedOffUs }: Pick<SpanLatencies, 'joinedUs' | 'roundedOffUs'>,
  first: number,
  end: number,
): number {
  const us = (joinedUs[end] as number) - (joinedUs[first] as number);
  return us + ((roundedOffUs[end] as number) - (roundedOffUs[first] as number));
}

/**
 * leastSpanUs is at most the latency of [first, end) and of every longer partition that begins there. It never falls
 * as `end` grows, so a search over ends may stop by it.
 */
export function leastSpanUs(
  { joinedUs, leastJoinedUs, leastEntryUs }: SpanLatencies,
  first: number,
  end: number,
): number {
  return (leastJoinedUs[end] as number) - (joinedUs[first] as number) + (leastEntryUs[first] as number);
}

/**
 * spanLatencies makes them from what the units take when they run joined, what each cut adds, and timed spans.
 * @param joinedUs one figure per unit
 * @param entryUs one figure per cut, the first and last included
 */
export function spanLatencies(
  joinedUs: readonly number[],
  entryUs: Float64Array,
  timed: readonly TimedSpan[],
): SpanLatencies {
  const sums = new Float64Array(joinedUs.length + 1);
  const roundedOff = new Float64Array(sums.length);
  joinedUs.forEach((us, i) => {
    // The rounding error of this addition is known exactly (Knuth's TwoSum).
    const before = sums[i] as number;
    const after = before + us;
    const added = after - before;
    sums[i + 1] = after;
    roundedOff[i + 1] = (roundedOff[i] as number) + (before - (after - added)) + (us - added);
  });
  const between = { joinedUs: sums, roundedOffUs: roundedOff };
  const timedUs: (Float64Array | undefined)[] = new Array(joinedUs.length).fill(undefined);
  const leastEntryUs = Float64Array.from(entryUs);
  for (const { first, end, us } of timed) {
    const row = timedUs[first] ?? new Float64Array(sums.length).fill(Number.NaN);
    timedUs[first] = row;
    row[end] = us;
    const entry = us - joinedBetween(between, first, end);
    leastEntryUs[first] = Math.min(leastEntryUs[first] as number, entry);
  }
  const least = Float64Array.from(sums);
  for (let j = least.length - 2; j >= 0; j--) least[j] = Math.min(least[j] as number, least[j + 1] as number);
  return { ...between, leastJoinedUs: least, entryUs, timedUs, leastEntryUs };
}

/** scaledSpans gives the same latencies in another unit of time. */
export function scaledSpans(
  { joinedUs, roundedOffUs, leastJoinedUs, entryUs, timedUs, leastEntryUs }: SpanLatencies,
  factor: number,
): SpanLatencies {
  const scaled = (row: Float64Array) => row.map((us) => us * factor);
  return {
    joinedUs: scaled(joinedUs),
    roundedOffUs: scaled(roundedOffUs),
    leastJoinedUs: scaled(leastJoinedUs),
    entryUs: scaled(entryUs),
    timedUs: timedUs.map((row) => (row === undefined ? undefined : scaled(row))),
    leastEntryUs: scaled(leastEntryUs),
  };
}

/** CutFigures are the measured latencies in µs from which the costs of cuts follow. */
export interface CutFigures {
  /** The figure of each block. */
  readonly blockUs: readonly number[];
  /** The figure k is of blocks k and k + 1 in one piece. */
  readonly pairUs?: readonly number[];
  readonly wholeUs?: number;
}

/**
 * cutOverheads gives what each cut between blocks adds in µs: what the two blocks beside it take more than both in one
 * piece. Their sum is made to be what all blocks take more than the whole model, where that was measured: what is
 * missing or left over is shared out in proportion to the squared latencies of the pairs, because that changes the
 * measured pairs least, in relation to themselves. Without pairs all cuts add the same. Without pairs and whole, all
 * are 0.
 * @returns one figure per cut, 0 at both ends
 */
export function cutOverheads({ blockUs, pairUs, wholeUs }: CutFigures): Float64Array {
  const n = blockUs.length;
  const overheads = new Float64Array(n + 1);
  if (n < 2 || (pairUs === undefined && wholeUs === undefined)) return overheads;
  const both = (k: number) => (blockUs[k - 1] as number) + (blockUs[k] as number);
  const weights = new Float64Array(n + 1);
  for (let k = 1; k < n; k++) {
    const pair = pairUs?.[k - 1];
    overheads[k] = pair === undefined ? 0 : both(k) - pair;
    weights[k] = pair === undefined ? 1 : pair * pair;
  }
  if (wholeUs !== undefined) {
    const left = sum(blockUs) - wholeUs - sum(overheads);
    const all = sum(weights);
    for (let k = 1; k < n; k++)
      overheads[k] = (overheads[k] as number) + (left * (weights[k] as number)) / all;
  }
  return overheads;
}

function sum(values: Iterable<number>): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}
