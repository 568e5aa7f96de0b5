import { describe, expect, it } from 'vitest';
import { StepSums } from '../../src/metrics/step-sums.js';
import { streamOf } from '../../src/random/index.js';

describe('StepSums', () => {
  it('adds up what each number was in each window, times how long', () => {
    const sums = new StepSums([2, 0], 10, 3);
    sums.change(5, 0, 1);
    sums.change(22, 0, -3);
    sums.change(9, 1, 4);
    sums.addUpAll(25);
    const of = (key: number) => [0, 1, 2].map((window) => sums.sumOf(window, key));
    expect([of(0), of(1)]).toEqual([
      [25, 30, 6],
      [4, 40, 20],
    ]);
    expect(sums.valueOf(1)).toBe(4);
  });

  it('counts nothing beyond its last window', () => {
    const sums = new StepSums([1], 10, 2);
    sums.change(35, 0, 1);
    sums.addUpAll(50);
    expect([sums.sumOf(0, 0), sums.sumOf(1, 0)]).toEqual([10, 10]);
  });

  it('agrees with adding up instant by instant', () => {
    const random = streamOf(4, 'steps');
    const sums = new StepSums([3], 7, 30);
    const slow = new Float64Array(30);
    let now = 3;
    let at = 0;
    while (at < 200) {
      const next = at + random.integer(12);
      for (; at < next && at < 210; at++) slow[Math.floor(at / 7)]! += now;
      const by = random.integer(5) - 2;
      sums.change(at, 0, by);
      now += by;
    }
    for (; at < 210; at++) slow[Math.floor(at / 7)]! += now;
    sums.addUpAll(210);
    expect(Array.from(slow, (_, window) => sums.sumOf(window, 0))).toEqual(Array.from(slow));
  });
});
