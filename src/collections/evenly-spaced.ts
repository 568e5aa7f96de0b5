/**
 * evenlySpaced gives evenly spaced numbers, both ends included, rounded to 12 significant digits to remove
 * the noise of sums. A single point gives `from` alone, unrounded, and no point gives none.
 */
export function evenlySpaced(from: number, to: number, points: number): number[] {
  if (points === 1) return [from];
  return Array.from({ length: points }, (_, i) =>
    Number((from + ((to - from) * i) / (points - 1)).toPrecision(12)),
  );
}
