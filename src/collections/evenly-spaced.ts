/**
 * evenlySpaced gives `points` values from `from` to `to`, both included, rounded to 12 digits so that sums
 * leave no noise. One point gives `from` alone.
 */
export function evenlySpaced(from: number, to: number, points: number): number[] {
  if (points === 1) return [from];
  return Array.from({ length: points }, (_, i) =>
    Number((from + ((to - from) * i) / (points - 1)).toPrecision(12)),
  );
}
