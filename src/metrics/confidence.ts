import { errorFunction } from 'simple-statistics';
import { largestOf, smallestOf } from '../collections/index.js';

/** RunsFigure summarises a figure over independent runs. */
export interface RunsFigure {
  readonly mean: number;
  readonly least: number;
  readonly most: number;
  /** The ends of the confidence interval of the mean. */
  readonly low: number;
  readonly high: number;
}

/** CONFIDENCE is the confidence of intervals: all reports and all gates use the same. */
export const CONFIDENCE = 0.95;

/**
 * meanOverRuns gives the mean of a figure over runs of different seeds, with its confidence interval by Student's t.
 * @param values one per run, at least two
 * @throws RangeError for fewer than two runs, of which no interval is known
 */
export function meanOverRuns(values: readonly number[], confidence = CONFIDENCE): RunsFigure {
  const runs = values.length;
  if (runs < 2) throw new RangeError(`${runs} runs have no confidence interval`);
  const mean = values.reduce((sum, value) => sum + value, 0) / runs;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  const half = studentQuantile((1 + confidence) / 2, runs - 1) * Math.sqrt(squares / (runs - 1) / runs);
  return { mean, least: smallestOf(values), most: largestOf(values), low: mean - half, high: mean + half };
}

/**
 * attainmentOverRuns gives the mean attainment over runs with its confidence interval, within 0 and 1. Runs that are
 * all alike have no spread, and still do not prove that every request will be in time: of n requests in time out of n,
 * the lower end is at most the exact binomial bound.
 * @param requests how many requests all runs had together
 */
export function attainmentOverRuns(
  values: readonly number[],
  requests: number,
  confidence = CONFIDENCE,
): RunsFigure {
  const figure = meanOverRuns(values, confidence);
  const faultless = Math.exp(Math.log((1 - confidence) / 2) / Math.max(1, requests));
  return {
    ...figure,
    low: Math.max(0, Math.min(figure.low, faultless)),
    high: Math.min(1, figure.high),
  };
}

/** ShareFigure is a share that was counted, with the ends of its confidence interval. */
export interface ShareFigure {
  readonly share: number;
  readonly low: number;
  readonly high: number;
}

/**
 * shareOf gives the share of `count` among `of` independent trials with its confidence interval by Wilson's score, which
 * lies within 0 and 1 and holds for small counts, too.
 * @throws RangeError where there is no trial, of which no share is known
 */
export function shareOf(count: number, of: number, confidence = CONFIDENCE): ShareFigure {
  if (!(of > 0)) throw new RangeError(`a share of ${of} trials is not known`);
  const share = count / of;
  const z = normalQuantile(confidence);
  const middle = (share + z ** 2 / (2 * of)) / (1 + z ** 2 / of);
  const half = (z / (1 + z ** 2 / of)) * Math.sqrt((share * (1 - share)) / of + (z / (2 * of)) ** 2);
  return {
    share,
    low: count === 0 ? 0 : Math.max(0, middle - half),
    high: count === of ? 1 : Math.min(1, middle + half),
  };
}

/** normalQuantile gives z so that a normal variable lies within ±z deviations of its mean with this probability. */
function normalQuantile(central: number): number {
  let [low, high] = [0, 40];
  for (let step = 0; step < 60; step++) {
    const middle = (low + high) / 2;
    if (errorFunction(middle / Math.SQRT2) < central) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/**
 * highestLowerEnd gives the highest lower end of the interval that runs can reach together with runs to come, whose
 * figures lie between 0 and 1. Runs to come do most where they are all alike, as then they add the least spread.
 * @param left how many runs are to come; with those there are, at least two
 */
export function highestLowerEnd(values: readonly number[], left: number, confidence = CONFIDENCE): number {
  const known = values.length;
  const runs = known + left;
  const lowWith = (other: number) =>
    meanOverRuns([...values, ...Array.from({ length: left }, () => other)], confidence).low;
  if (left === 0 || known === 0) return lowWith(1);
  const mean = values.reduce((sum, value) => sum + value, 0) / known;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  // With others of mean + d, the lower end is mean + left·d/runs − factor·√(squares + known·left/runs·d²).
  const factor = studentQuantile((1 + confidence) / 2, runs - 1) / Math.sqrt((runs - 1) * runs);
  const curve = (factor * known) ** 2 - (known * left) / runs;
  const best = curve <= 0 ? 1 : mean + Math.sqrt(squares / curve);
  return lowWith(Math.min(1, best));
}

/**
 * studentQuantile gives the value below which Student's t falls with a probability of p.
 * @param p above 0.5 and below 1
 * @param degrees the degrees of freedom, a whole number of at least 1
 */
export function studentQuantile(p: number, degrees: number): number {
  const central = 2 * p - 1;
  let low = 0;
  let high = 1;
  while (centralProbability(high, degrees) < central) high *= 2;
  for (let step = 0; step < 80; step++) {
    const middle = (low + high) / 2;
    if (centralProbability(middle, degrees) < central) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/**
 * centralProbability gives the probability that Student's t lies within ±t. With whole degrees of freedom it is a finite
 * sum (Abramowitz and Stegun, 26.7.3 and 26.7.4).
 */
function centralProbability(t: number, degrees: number): number {
  const angle = Math.atan(t / Math.sqrt(degrees));
  const cosine = Math.cos(angle);
  const isOdd = degrees % 2 === 1;
  let term = isOdd ? cosine : 1;
  let sum = degrees === 1 ? 0 : term;
  for (let k = isOdd ? 3 : 2; k < degrees; k += 2) {
    term *= ((k - 1) / k) * cosine ** 2;
    sum += term;
  }
  return isOdd ? (2 / Math.PI) * (angle + Math.sin(angle) * sum) : Math.sin(angle) * sum;
}
