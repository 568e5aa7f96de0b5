/** Evenly spaced, both ends included, without the noise of sums in the last digits; `from` alone where it is one point. */
export function evenlySpaced(from: number, to: number, points: number): number[] {
  if (points === 1) return [from];
  return Array.from({ length: points }, (_, i) =>
    Number((from + ((to - from) * i) / (points - 1)).toPrecision(12)),
  );
}
