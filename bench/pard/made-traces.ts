import { type Stream, streamOf } from '../../src/random/index.js';
import { rateVariation } from './rate-variation.js';

/** TRACE_VARIATIONS holds the CV of the rate over time of the paper's three traces (§5.4). */
export const TRACE_VARIATIONS = { wiki: 0.47, tweet: 1, azure: 1.3 } as const;

/** TraceName is one of the paper's traces. */
export type TraceName = keyof typeof TRACE_VARIATIONS;

/** A day of the periodic trace is about so long, and shorter where less than one would fit. */
const DAY_S = 600;
/** The noise of the periodic trace, beside a wave from −1 to 1. */
const NOISE = 0.1;
const NOISE_S = 10;
/** How long the rate of the bursty trace remembers, and how long a level of the one with steps lasts in the mean. */
const BURST_S = 60;
const LEVEL_S = 60;
/** So many bursts, and so many levels, fit into the shortest load. */
const LEAST_BURSTS = 5;
const LEAST_LEVELS = 10;
/** tanh of so many times a normal number is nearly uniform from −1 to 1: the logistic distribution is nearly the normal one. */
const TO_UNIFORM = 0.851;

/**
 * The logarithms of the rates of each second, up to a factor and a constant. They have bounds, about −1 and 1, so that the
 * highest rates are about those of published traces with the same CV, and no cluster is overloaded by rare peaks alone.
 */
const SHAPES: { readonly [T in TraceName]: (seconds: number, stream: Stream) => number[] } = {
  wiki: (seconds, stream) => {
    const dayS = seconds / Math.max(1, Math.round(seconds / DAY_S));
    const began = stream.uniform();
    const noise = reverting(seconds, NOISE_S, stream);
    return noise.map((one, s) => Math.sin(2 * Math.PI * (began + s / dayS)) + NOISE * one);
  },
  tweet: (seconds, stream) => {
    const memoryS = Math.min(BURST_S, seconds / LEAST_BURSTS);
    return reverting(seconds, memoryS, stream).map((value) => Math.tanh(TO_UNIFORM * value));
  },
  azure: levels,
};

/**
 * madeRates makes the rates of each second of a load with the character of one of the paper's traces, with a mean of 1 and
 * exactly its CV: `wiki` goes up and down with the day, `tweet` wanders and bursts, `azure` jumps from level to level. The
 * same trace, seed and length give the same rates.
 * @param seconds at least 30
 */
export function madeRates(trace: TraceName, seconds: number, seed: number): Float64Array {
  const shape = SHAPES[trace](seconds, streamOf(seed, `rates/${trace}`));
  const at = (power: number) => Float64Array.from(shape, (value) => Math.exp(power * value));
  let [low, high] = [0, 1];
  while (rateVariation(at(high)) < TRACE_VARIATIONS[trace]) high *= 2;
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (rateVariation(at(middle)) < TRACE_VARIATIONS[trace]) low = middle;
    else high = middle;
  }
  return withMeanOne(at(high));
}

/** withMeanOne divides rates by their mean. */
export function withMeanOne(rates: Float64Array): Float64Array {
  const mean = rates.reduce((sum, rate) => sum + rate, 0) / rates.length;
  return rates.map((rate) => rate / mean);
}

/** reverting draws a series of mean 0 and deviation 1 that forgets what it was within `memoryS` (Ornstein-Uhlenbeck). */
function reverting(seconds: number, memoryS: number, stream: Stream): number[] {
  const kept = Math.exp(-1 / memoryS);
  let value = stream.normal();
  return Array.from({ length: seconds }, (_, s) => {
    if (s > 0) value = kept * value + Math.sqrt(1 - kept * kept) * stream.normal();
    return value;
  });
}

/**
 * levels draws a series that stays on each of some levels for a time. The levels are evenly spaced from −1 to 1 and come in
 * random order; each lasts half to one and a half times as long as they do in the mean.
 */
function levels(seconds: number, stream: Stream): number[] {
  const count = Math.max(LEAST_LEVELS, Math.round(seconds / LEVEL_S));
  const drawn = Array.from({ length: count }, (_, k) => ({
    level: (2 * (k + 0.5)) / count - 1,
    place: stream.uniform(),
    length: 0.5 + stream.uniform(),
  })).sort((one, other) => one.place - other.place);
  const whole = drawn.reduce((sum, { length }) => sum + length, 0);
  let [next, untilS] = [0, 0];
  let level = 0;
  return Array.from({ length: seconds }, (_, s) => {
    while (untilS <= s && next < count) {
      const one = drawn[next++] as (typeof drawn)[number];
      level = one.level;
      untilS += (seconds * one.length) / whole;
    }
    return level;
  });
}
