import { type AccuracyInterval, type Fault, fault } from '../../formats/index.js';

/** A normal variable lies within this many deviations with a probability of 95 %. */
const DEVIATIONS = 1.959963984540054;

/** Quantiles of a normal variable are known to so much. */
const ROUNDING = 1e-6;

/** intervalFaults finds an interval that is not Wilson's of a share among a given number of samples. */
export function intervalFaults(share: number, interval: AccuracyInterval | undefined, at: string): Fault[] {
  if (interval === undefined) return [];
  const wanted = wilson(share, interval.samples);
  return (['low', 'high'] as const).flatMap((end) =>
    Math.abs(interval[end] - wanted[end]) > ROUNDING
      ? [
          fault(
            `is ${interval[end]}; ${share} of ${interval.samples} samples give ${wanted[end]}`,
            `${at}/${end}`,
          ),
        ]
      : [],
  );
}

/** wilson solves |share − p| = z·√(p(1 − p)/n) for p, whose two roots are the ends. */
export function wilson(share: number, samples: number): Pick<AccuracyInterval, 'low' | 'high'> {
  const square = DEVIATIONS ** 2;
  const [a, b, c] = [samples + square, -(2 * samples * share + square), samples * share ** 2];
  const root = Math.sqrt(Math.max(0, b * b - 4 * a * c));
  return { low: share === 0 ? 0 : (-b - root) / (2 * a), high: share === 1 ? 1 : (-b + root) / (2 * a) };
}
