import { describe, expect, it } from 'vitest';
import { drawnLevels, priorityMix } from '../../src/simulation/priority-mix.js';

const faultsOf = (text: string) => {
  const read = priorityMix(text, undefined);
  return 'faults' in read ? read.faults.map(({ message }) => message) : [];
};

describe('priorityMix()', () => {
  it('gives each priority its share and the weight of the plan, 1 where the plan has none', () => {
    expect(priorityMix('1=0.1, 2=.3,0=0.6', { 1: 10, 3: 5 })).toEqual({
      mix: [
        { priority: 1, share: 0.1, weight: 10 },
        { priority: 2, share: 0.3, weight: 1 },
        { priority: 0, share: 0.6, weight: 1 },
      ],
    });
  });

  it('tells what is wrong, with the text', () => {
    expect(faultsOf('1=0.1;2=0.9')).toEqual([
      'is "1=0.1;2=0.9", and not priority=share with commas between, such as 1=0.1,2=0.9',
    ]);
    expect(faultsOf('-1=1')).toHaveLength(1);
    expect(faultsOf('1=0.5,1=0.4')).toEqual([
      'is "1=0.5,1=0.4", which names a priority twice',
      'is "1=0.5,1=0.4", whose shares add up to 0.9, and must to 1',
    ]);
    expect(faultsOf(Array.from({ length: 20 }, (_, i) => `${i}=0.05`).join())).toEqual([
      'has 20 priorities, and may have 16',
    ]);
  });
});

describe('drawnLevels()', () => {
  const mix = [
    { priority: 1, share: 0.2, weight: 10 },
    { priority: 2, share: 0.5, weight: 2 },
    { priority: 0, share: 0.3, weight: 1 },
  ];

  it('draws each level as often as its share says, the same under the same seed', () => {
    const counts = [0, 0, 0];
    const levelOf = drawnLevels(mix, 5);
    const again = drawnLevels(mix, 5);
    const other = drawnLevels(mix, 6);
    let different = 0;
    for (let order = 0; order < 20_000; order++) {
      counts[levelOf(order)]! += 1;
      expect(again(order)).toBe(levelOf(order));
      if (other(order) !== levelOf(order)) different += 1;
    }
    for (const [i, { share }] of mix.entries())
      expect(Math.abs(counts[i]! / 20_000 - share)).toBeLessThan(0.015);
    expect(different).toBeGreaterThan(5000);
  });
});
