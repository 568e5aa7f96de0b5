/** Sums that differ by less, as a part of them, are the same: what rounding makes of thousands of terms. */
export const ROUNDING = 1e-12;

/** A bound gives way by so much, as a part of it, so that rounding keeps nothing out that lies within. */
export const SLACK = 1e-9;

/** Whole units that serve a rate, where one serves `each`. */
export function unitsFor(rps: number, each: number): number {
  return Math.ceil((rps / each) * (1 - ROUNDING));
}
