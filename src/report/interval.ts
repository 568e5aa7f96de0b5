import { type AccuracyInterval, counted } from '../formats/index.js';
import { decimals, percent } from './table.js';

/** intervalText says in a sentence where an accuracy lies for samples like those of the records. */
export function intervalText({ low, high, samples }: AccuracyInterval): string {
  return `from ${percent(low)} to ${percent(high)} with 95 % confidence, by ${counted(samples, 'sample')}`;
}

/** accuracyCell writes an accuracy with its interval, where it has one: `90.00 % (88.9–91.0)`. */
export function accuracyCell(accuracy: number, interval: AccuracyInterval | undefined): string {
  const share = percent(accuracy, 2);
  return interval === undefined ? share : `${share} (${endsText(interval)})`;
}

/** endsText writes the ends of an interval in percent, without the sign: `88.9–91.0`. */
function endsText({ low, high }: AccuracyInterval): string {
  return `${decimals(100 * low, 1)}–${decimals(100 * high, 1)}`;
}

/**
 * overlap says whether a share may be the same behind both intervals, so that which accuracy is higher for samples that
 * were not counted is open. Of an accuracy without an interval it is open, too.
 */
export function overlap(a: AccuracyInterval | undefined, b: AccuracyInterval | undefined): boolean {
  return a === undefined || b === undefined || (a.low <= b.high && b.low <= a.high);
}
