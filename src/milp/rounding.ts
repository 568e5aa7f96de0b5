/** ROUNDING is 10⁻¹²: two sums of thousands of terms count as equal if they differ by at most this part of them. */
export const ROUNDING = 1e-12;

/** SLACK is 10⁻⁹: bounds are loosened by this part of them, so that rounding excludes nothing that lies within. */
export const SLACK = 1e-9;

/**
 * unitsFor is the number of whole units that serve a rate if one unit serves `each`, in the same unit of rate. A rate
 * above a multiple of `each` by a part in 10¹² takes no further unit.
 */
export function unitsFor(rps: number, each: number): number {
  return Math.ceil((rps / each) * (1 - ROUNDING));
}
