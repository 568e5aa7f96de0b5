import type { FamilyRecords } from './records.js';

/** The number of bins of equal width in which calibration is judged, as Guo et al. (ICML '17) do. */
const BINS = 15;

/** CertaintyQuality says how well a model's certainty tells its right answers from its wrong ones. */
export interface CertaintyQuality {
  readonly accuracy: number;
  /**
   * The probability that a right answer is more certain than a wrong one, where ties count half; undefined where all
   * answers are right, or all wrong.
   */
  readonly auroc: number | undefined;
  /**
   * The expected calibration error: over 15 bins of certainty, the distance of the bin's accuracy and mean certainty,
   * weighed by samples. It is undefined where certainties are not within 0 and 1.
   */
  readonly calibrationError: number | undefined;
}

/** certaintyQuality judges the certainty of each model of a family, in time n·log n. */
export function certaintyQuality({ correct, certainty }: FamilyRecords): CertaintyQuality[] {
  return correct.map((right, model) => {
    const sure = certainty[model] as Float64Array;
    const rights = right.reduce((sum, one) => sum + one, 0);
    return {
      accuracy: rights / right.length,
      auroc: aurocOf(right, sure, rights),
      calibrationError: calibrationErrorOf(right, sure),
    };
  });
}

/** aurocOf is the Mann–Whitney statistic: ranks of right answers, where ties share their mean rank. */
function aurocOf(right: Uint8Array, sure: Float64Array, rights: number): number | undefined {
  const wrongs = right.length - rights;
  if (rights === 0 || wrongs === 0) return undefined;
  const order = Uint32Array.from(right, (_, i) => i).sort((a, b) => sure[a]! - sure[b]!);
  let sum = 0;
  for (let from = 0; from < order.length; ) {
    let to = from;
    let tied = 0;
    for (; to < order.length && sure[order[to]!] === sure[order[from]!]; to++) tied += right[order[to]!]!;
    sum += (tied * (from + 1 + to)) / 2;
    from = to;
  }
  return (sum - (rights * (rights + 1)) / 2) / (rights * wrongs);
}

function calibrationErrorOf(right: Uint8Array, sure: Float64Array): number | undefined {
  if (sure.some((value) => value < 0 || value > 1)) return undefined;
  const rights = new Float64Array(BINS);
  const sums = new Float64Array(BINS);
  sure.forEach((value, i) => {
    const bin = Math.min(BINS - 1, Math.floor(value * BINS));
    rights[bin]! += right[i]!;
    sums[bin]! += value;
  });
  return rights.reduce((sum, of, bin) => sum + Math.abs(of - sums[bin]!), 0) / right.length;
}
