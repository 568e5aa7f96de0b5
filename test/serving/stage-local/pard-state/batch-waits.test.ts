import { describe, expect, it } from 'vitest';
import { streamOf } from '../../../../src/random/index.js';
import { BatchWaits } from '../../../../src/serving/stage-local/pard-state/batch-waits.js';

describe('BatchWaits', () => {
  const drawn = (waits: BatchWaits, pool: number, count = 2000) => {
    const into = new Float64Array(count);
    waits.draw(pool, into, { longestNs: 100, stream: streamOf(1, 'waits') });
    return into;
  };

  it('draws with replacement from the last waits of a pool alone', () => {
    const waits = new BatchWaits(2, 3);
    for (const wait of [1, 2]) waits.add(1, wait);
    expect([...new Set(drawn(waits, 1))].sort()).toEqual([1, 2]);
    for (const wait of [3, 4, 5, 6, 7]) waits.add(1, wait);
    const values = drawn(waits, 1);
    expect([...new Set(values)].sort()).toEqual([5, 6, 7]);
    // Each of the three is drawn as often as the others, within five standard errors.
    for (const value of [5, 6, 7])
      expect(Math.abs(values.filter((one) => one === value).length - 2000 / 3)).toBeLessThan(105);
  });

  it('numbers the waits from the oldest on, so that draws do not depend on where they are kept', () => {
    const [short, long] = [new BatchWaits(1, 3), new BatchWaits(1, 3)];
    for (const wait of [5, 6, 7]) short.add(0, wait);
    for (const wait of [1, 2, 3, 4, 5, 6, 7]) long.add(0, wait);
    expect(drawn(long, 0)).toEqual(drawn(short, 0));
  });

  it('draws evenly from 0 to the longest where there was none', () => {
    const waits = new BatchWaits(2, 3);
    waits.add(1, 7);
    const values = drawn(waits, 0).sort();
    values.forEach((value, i) => {
      expect(Math.abs(value - (100 * (i + 0.5)) / 2000)).toBeLessThan(4);
    });
  });

  it('keeps one wait where it may keep no more', () => {
    const waits = new BatchWaits(1, 1);
    for (const wait of [4, 9]) waits.add(0, wait);
    expect([...drawn(waits, 0, 3)]).toEqual([9, 9, 9]);
  });
});
