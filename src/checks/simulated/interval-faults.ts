import { type Fault, type FigureOverRuns, fault } from '../../formats/index.js';
import { isBetween } from '../figures.js';

/** Half of the normal distribution's 95 % interval, from which Student's follows. */
const NORMAL = 1.959963984540054;
/** The expansion of Student's quantile is off by at most this share from three degrees of freedom on. */
const STUDENT_OFF = 0.02;

/** studentOf gives the 97.5 % quantile of Student's t, by its expansion at the normal one (Abramowitz and Stegun, 26.7.5). */
function studentOf(degrees: number): number {
  if (degrees === 1) return 12.706204736432095;
  if (degrees === 2) return 4.302652729911275;
  const z = NORMAL;
  return (
    z +
    (z ** 3 + z) / (4 * degrees) +
    (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * degrees ** 2) +
    (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / (384 * degrees ** 3)
  );
}

/** IntervalOf says of how many runs a figure is, and within which bounds the ends of its interval are cut. */
export interface IntervalOf {
  readonly at: string;
  readonly runs: number;
  /** Shares of requests leave room below 1 or above 0 also where no run had a drop. */
  readonly isShare?: boolean;
  readonly least?: number;
  readonly most?: number;
}

/** intervalFaults finds a mean outside its interval, and an interval that does not lie around it. */
export function intervalFaults(
  figure: { readonly mean: number; readonly low: number; readonly high: number } | undefined,
  {
    at,
    runs,
    isShare = false,
    least = Number.NEGATIVE_INFINITY,
    most = Number.POSITIVE_INFINITY,
  }: IntervalOf,
): Fault[] {
  if (figure === undefined) return [];
  const { mean, low, high } = figure;
  if (!isBetween(mean, Math.max(low, least), Math.min(high, most)))
    return [fault(`is ${mean}, and its interval is from ${low} to ${high}`, `${at}/mean`)];
  if (!isBetween(low, least, most) || !isBetween(high, least, most))
    return [fault(`has an interval from ${low} to ${high}, beyond ${least} to ${most}`, at)];
  if (runs === 1)
    return low === mean && high === mean
      ? []
      : [fault(`is of one run, and from ${low} to ${high} around ${mean}`, at)];
  const [below, above] = [mean - low, high - mean];
  const isCut = isBetween(low, least, least) || isBetween(high, most, most);
  if (isCut || isShare || Math.abs(below - above) <= 1e-7 * Math.max(1e-6, below, above, Math.abs(mean)))
    return [];
  return [fault(`is from ${low} to ${high}, which does not lie around ${mean}`, at)];
}

/** overRunsFaults finds where a figure over runs contradicts itself, with its least and most. */
export function overRunsFaults(
  figure: FigureOverRuns | undefined,
  first: number | undefined,
  of: IntervalOf,
): Fault[] {
  if (figure === undefined) return [];
  const { least, most, mean } = figure;
  const faults = intervalFaults(figure, of);
  if (faults.length > 0) return faults;
  if (!isBetween(mean, least, most))
    return [fault(`is ${mean}, of runs from ${least} to ${most}`, `${of.at}/mean`)];
  if (first !== undefined && !isBetween(first, least, most))
    return [fault(`is from ${least} to ${most}, and the first run has ${first}`, of.at)];
  return spreadFaults(figure, of);
}

/** spreadFaults finds an interval that is wider or narrower than runs between the least and the most can give. */
function spreadFaults(
  { mean, low, high, least, most }: FigureOverRuns,
  { at, runs, most: cut = Number.POSITIVE_INFINITY, isShare = false }: IntervalOf,
): Fault[] {
  const isCut = isBetween(high, cut, cut);
  if (isCut && isShare) return [];
  const half = isShare ? high - mean : (high - low) / 2;
  const squares = (half / studentOf(runs - 1)) ** 2 * runs * (runs - 1);
  const fewest = (least - mean) ** 2 + (most - mean) ** 2;
  const largest = runs * (mean - least) * (most - mean);
  const rounding = 1e-12 * Math.max(1, mean ** 2);
  if (
    squares * (1 + 2 * STUDENT_OFF) + rounding >= fewest &&
    squares * (1 - 2 * STUDENT_OFF) - rounding <= largest
  )
    return [];
  return [
    fault(
      `is from ${low} to ${high}, which ${runs} runs from ${least} to ${most} around ${mean} do not give`,
      at,
    ),
  ];
}
