/** SolveLimits says when a search may stop. */
export interface SolveLimits {
  /** The relative gap at which the search may stop. */
  readonly gap?: number | undefined;
  /** The most counted work of the search. */
  readonly work?: number | undefined;
  /** The time limit in seconds. A plan whose search it ends says `reproducible: false`. */
  readonly timeLimit?: number | undefined;
}

/** SearchLimits says when a search on a solver thread may stop. */
export interface SearchLimits {
  readonly gap?: number;
  readonly work?: number;
  readonly timeLimitMs?: number;
}

/** searchLimits turns options into limits as a solver thread takes them: the time in milliseconds, not seconds. */
export function searchLimits({ gap, work, timeLimit }: SolveLimits): SearchLimits {
  return {
    ...(gap === undefined ? {} : { gap }),
    ...(work === undefined ? {} : { work }),
    ...(timeLimit === undefined ? {} : { timeLimitMs: timeLimit * 1000 }),
  };
}

/**
 * missedWhatWasAsked says whether a plan's gap is larger than the gap that a person asked for, or not known, or a limit that
 * a person set ended the search. Defaults do not count.
 * @param limit the limit that ended the search, such as `work` or `time`
 */
export function missedWhatWasAsked(
  limit: string | undefined,
  gap: number | undefined,
  options: SolveLimits,
): boolean {
  if (options.gap !== undefined && (gap === undefined || gap > options.gap)) return true;
  return (
    (limit === 'work' && options.work !== undefined) || (limit === 'time' && options.timeLimit !== undefined)
  );
}
