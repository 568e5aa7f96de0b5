import { describe, expect, it } from 'vitest';
import { withinClasses } from '../../../src/serving/tuning/class-limits.js';
import { setOf } from './tuned.js';

describe('withinClasses()', () => {
  it('gives what is wanted where there are GPUs for all, or no limit', () => {
    const sets = [setOf(), setOf({ deviceClass: 'other' })];
    expect([...withinClasses([5, 7], sets, { gpu: 5 })]).toEqual([5, 7]);
  });

  it('gives all sets of a class the same share of what they want, and leaves other classes alone', () => {
    const sets = [setOf(), setOf({ deviceClass: 'other' }), setOf()];
    expect([...withinClasses([6, 9, 12], sets, { gpu: 9, other: 9 })]).toEqual([3, 9, 6]);
  });

  it('counts whole GPUs of virtual ones', () => {
    const sets = [setOf({ virtual: 4 }), setOf()];
    expect([...withinClasses([8, 2], sets, { gpu: 4 })]).toEqual([8, 2]);
    expect([...withinClasses([9, 2], sets, { gpu: 4 })]).toEqual([8, 2]);
    expect([...withinClasses([6, 2], sets, { gpu: 3 })]).toEqual([4, 2]);
  });

  it('gives every set a GPU first', () => {
    const sets = [setOf(), setOf(), setOf()];
    expect([...withinClasses([1, 1, 100], sets, { gpu: 4 })]).toEqual([1, 1, 2]);
  });
});
