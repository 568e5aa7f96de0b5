import { describe, expect, it } from 'vitest';
import { streamOf } from '../../../../src/random/index.js';
import { LoadFactors, type Transition } from '../../../../src/serving/stage-local/pard-state/load-factors.js';
import { seeds } from '../../../cases.js';

const S = 1e9;

/** Tells these counts of tasks, one for each second, and gives whether the pool was overloaded after each. */
function judged(transition: Transition, counts: readonly number[], throughputRps = 10) {
  const factors = new LoadFactors(2, { intervalNs: S, transition, throughputRps: () => throughputRps });
  return counts.map((count, second) => {
    for (let i = 0; i < count; i++) factors.came(second * S + Math.floor((i * S) / count), 1);
    factors.decide(second + 1);
    expect(factors.factorOf(0)).toBe(0);
    expect(factors.factorOf(1)).toBe(count / throughputRps);
    return factors.isOverloaded(1);
  });
}

/** The same, by the words of PARD §4.3: ε is Σ|T_in − T_s|/ΣT_in over the last five seconds. */
function byWords(counts: readonly number[], throughputRps = 10): boolean[] {
  const last = (values: readonly number[], i: number) => values.slice(Math.max(0, i - 4), i + 1);
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const smoothed = counts.map((_, i) => sum(last(counts, i)) / last(counts, i).length);
  let isOverloaded = false;
  return counts.map((count, i) => {
    const distances = counts.map((one, k) => Math.abs(one - smoothed[k]!));
    const all = sum(last(counts, i));
    const margin = all === 0 ? 0 : sum(last(distances, i)) / all;
    if (count / throughputRps > 1 + margin) isOverloaded = true;
    else if (count / throughputRps < 1 - margin) isOverloaded = false;
    return isOverloaded;
  });
}

describe('LoadFactors', () => {
  it('turns round at once where the transition is instant, and is not overloaded at a load factor of 1', () => {
    expect(judged('instant', [11, 10, 9, 12, 0])).toEqual([true, false, false, true, false]);
  });

  it('keeps its order within 1 ± ε where the transition is delayed', () => {
    // Nothing varies at first: ε is 0. Then 12 is above it, and 10 is between the two.
    expect(judged('delayed', [10, 10, 10, 10, 10, 14])).toEqual([false, false, false, false, false, true]);
    expect(judged('delayed', [20, 10])).toEqual([true, true]);
    expect(judged('delayed', [20, 20, 20, 20, 20, 2])).toEqual([true, true, true, true, true, false]);
  });

  it('agrees with the words of the paper on any counts', () => {
    for (const seed of seeds(100, 2000)) {
      const stream = streamOf(seed, 'loads');
      const most = 2 + stream.integer(25);
      const counts = Array.from({ length: 25 }, () => (stream.uniform() < 0.2 ? 0 : stream.integer(most)));
      expect([seed, judged('delayed', counts)]).toEqual([seed, byWords(counts)]);
    }
  });

  it('does not count an interval that is not over, nor one that the numbers of a later one were kept over', () => {
    const factors = new LoadFactors(1, { intervalNs: S, transition: 'instant', throughputRps: () => 1 });
    for (const at of [0, S - 1, S, 12 * S]) factors.came(at, 0);
    factors.decide(1);
    expect(factors.factorOf(0)).toBe(2);
    factors.decide(2);
    expect(factors.factorOf(0)).toBe(1);
    factors.decide(3);
    expect(factors.factorOf(0)).toBe(0);
    factors.decide(13);
    expect(factors.factorOf(0)).toBe(1);
  });
});
