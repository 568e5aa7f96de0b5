import type { CertaintyMeasure } from '../formats/index.js';

/** Scores whose sum is this near to 1 may be probabilities. */
const SUM_ROUNDING = 1e-3;

/**
 * certaintyOf says how certain a model is of a sample from the scores that it gives its classes (CascadeServe Eq. 5).
 * For `top-2` and `entropy` scores become probabilities by a softmax; those that are probabilities already (none is
 * negative, and their sum is 1 to within a thousandth) are taken as they are. A model of one class, or with a score that
 * is no number, is not certain at all.
 */
export function certaintyOf(scores: ArrayLike<number>, measure: CertaintyMeasure): number {
  let certainty = 0;
  switch (measure) {
    case 'logits':
      certainty = leadOf(scores);
      break;
    case 'top-2':
      certainty = leadOf(probabilitiesOf(scores));
      break;
    case 'entropy':
      certainty = 1 - entropyOf(probabilitiesOf(scores)) / Math.log(scores.length);
      break;
  }
  return scores.length < 2 || predictionOf(scores) < 0 ? 0 : certainty;
}

/** predictionOf is the class of the highest score, the first of several; −1 where a score is no number. */
export function predictionOf(scores: ArrayLike<number>): number {
  let best = -1;
  for (let i = 0; i < scores.length; i++) {
    const score = scores[i] as number;
    if (Number.isNaN(score)) return -1;
    if (best === -1 || score > (scores[best] as number)) best = i;
  }
  return best;
}

/** leadOf is the highest score less the second highest. */
function leadOf(scores: ArrayLike<number>): number {
  let first = Number.NEGATIVE_INFINITY;
  let second = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < scores.length; i++) {
    const score = scores[i] as number;
    if (Number.isNaN(score)) return Number.NaN;
    if (score > first) {
      second = first;
      first = score;
    } else if (score > second) second = score;
  }
  return first - second;
}

function probabilitiesOf(scores: ArrayLike<number>): Float64Array {
  const values = Float64Array.from(scores);
  const sum = values.reduce((all, value) => all + value, 0);
  if (Math.abs(sum - 1) <= SUM_ROUNDING && values.every((value) => value >= 0)) return values;
  const most = values.reduce((best, value) => Math.max(best, value), Number.NEGATIVE_INFINITY);
  const powers = values.map((value) => Math.exp(value - most));
  const total = powers.reduce((all, value) => all + value, 0);
  return powers.map((value) => value / total);
}

function entropyOf(probabilities: Float64Array): number {
  return probabilities.reduce((sum, p) => (p > 0 ? sum - p * Math.log(p) : sum), 0);
}
