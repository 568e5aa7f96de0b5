import { describe, expect, it } from 'vitest';
import { streamOf } from '../../src/random/index.js';
import { certaintyOf, predictionOf } from '../../src/records/index.js';

function softmax(scores: readonly number[]): number[] {
  const sum = scores.reduce((all, score) => all + Math.exp(score), 0);
  return scores.map((score) => Math.exp(score) / sum);
}

describe('Certainty', () => {
  it('is the lead of the highest probability, after a softmax of scores', () => {
    const { normal } = streamOf(1, 'scores');
    for (let i = 0; i < 200; i++) {
      const scores = Array.from({ length: 2 + (i % 5) }, () => 3 * normal());
      const [first, second] = softmax(scores).sort((a, b) => b - a) as [number, number];
      expect(certaintyOf(scores, 'top-2')).toBeCloseTo(first - second, 12);
      const sorted = [...scores].sort((a, b) => b - a) as [number, number];
      expect(certaintyOf(scores, 'logits')).toBeCloseTo(sorted[0] - sorted[1], 12);
      const entropy = softmax(scores).reduce((sum, p) => sum - p * Math.log(p), 0);
      expect(certaintyOf(scores, 'entropy')).toBeCloseTo(1 - entropy / Math.log(scores.length), 12);
    }
  });

  it('takes scores that are probabilities as they are', () => {
    expect(certaintyOf([0.7, 0.2, 0.1], 'top-2')).toBeCloseTo(0.5, 12);
    expect(certaintyOf([1, 0], 'entropy')).toBe(1);
    expect(certaintyOf([0.5, 0.5], 'entropy')).toBeCloseTo(0, 12);
    // The sum is 1, but there is a negative one.
    expect(certaintyOf([1.5, -0.5], 'top-2')).toBeCloseTo(Math.tanh(1), 12);
  });

  it('is that of large scores without overflow, and 0 of one class, equal scores, and what is no number', () => {
    expect(certaintyOf([1e4, 0], 'top-2')).toBe(1);
    expect(certaintyOf([2], 'top-2')).toBe(0);
    expect(certaintyOf([3, 3, 1], 'logits')).toBe(0);
    for (const measure of ['top-2', 'logits', 'entropy'] as const)
      expect(certaintyOf([1, Number.NaN, 0], measure)).toBe(0);
  });
});

describe('A prediction', () => {
  it('is the class of the highest score, the first of several, and none where a score is no number', () => {
    expect(predictionOf([0.1, 0.7, 0.2])).toBe(1);
    expect(predictionOf([-5, -2, -2])).toBe(1);
    expect(predictionOf([1, Number.NaN])).toBe(-1);
  });
});
