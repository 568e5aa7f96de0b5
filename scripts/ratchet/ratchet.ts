import type { Offenders } from './offenders.js';

/** Judged is the result of comparing a rule's list with its offenders. */
export interface Judged {
  /** The faults, a line each. */
  readonly faults: readonly string[];
  /** The offenders whose figure has fallen below that of the list. */
  readonly fallen: readonly string[];
}

/**
 * judged compares the offenders of a rule with its list. A figure of the list may only fall: an offender that
 * is new or has grown is a fault, and so is an entry that no longer offends.
 */
export function judged(found: Offenders, listed: Offenders, told: (figure: number) => string): Judged {
  const faults = Object.entries(found).flatMap(([name, figure]) => {
    const before = listed[name];
    if (before === undefined) return [`${name} ${told(figure)}`];
    return figure > before ? [`${name} ${told(figure)}, and was listed with ${before}`] : [];
  });
  const mended = Object.keys(listed)
    .filter((name) => found[name] === undefined)
    .map((name) => `${name} no longer offends: take it off the list`);
  const fallen = Object.entries(found).filter(([name, figure]) => figure < (listed[name] ?? 0));
  return { faults: [...faults, ...mended], fallen: fallen.map(([name]) => name) };
}

/**
 * lowered gives the list with the figures that have fallen, and without entries that no longer offend. It adds none.
 */
export function lowered(found: Offenders, listed: Offenders): Offenders {
  return Object.fromEntries(
    Object.entries(listed).flatMap(([name, before]) => {
      const figure = found[name];
      return figure === undefined ? [] : [[name, Math.min(figure, before)]];
    }),
  );
}
