/** Spread is the mean of a figure over seeds, and two standard errors of it. */
export interface Spread {
  readonly mean: number;
  /** 0 where there is one seed. */
  readonly twoErrors: number;
}

/** spreadOf gives the mean of values, one for each seed, with two standard errors. */
export function spreadOf(values: readonly number[]): Spread {
  const n = values.length;
  const mean = values.reduce((sum, value) => sum + value, 0) / n;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, twoErrors: n < 2 ? 0 : 2 * Math.sqrt(squares / (n - 1) / n) };
}

/** pairedSpread gives how much larger one figure is than another, seed by seed. */
export function pairedSpread(values: readonly number[], others: readonly number[]): Spread {
  return spreadOf(values.map((value, i) => value - others[i]!));
}

/** percentText shows a spread of shares in percent. */
export function percentText({ mean, twoErrors }: Spread, digits = 2): string {
  return `${(100 * mean).toFixed(digits)} ± ${(100 * twoErrors).toFixed(digits)}`;
}

/** pointsText shows a spread of differences of shares in points, with its sign. */
export function pointsText(spread: Spread, digits = 2): string {
  return `${spread.mean >= 0 ? '+' : '−'}${percentText({ ...spread, mean: Math.abs(spread.mean) }, digits)}`;
}

/** verdictOf says whether something that should be small is smaller than what it is compared with, beyond two standard errors. */
export function verdictOf({ mean, twoErrors }: Spread): 'lower' | 'alike' | 'higher' {
  if (Math.abs(mean) <= twoErrors) return 'alike';
  return mean < 0 ? 'lower' : 'higher';
}
