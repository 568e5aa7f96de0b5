import { describe, expect, it } from 'vitest';
import { uniformAt } from '../../src/random/index.js';
import { drawnLevels, priorityShares, prioritySharesText } from '../../src/workload/index.js';
import { describeInWholeRun } from '../cases.js';

const faultsOf = (text: string) => {
  const read = priorityShares(text);
  return 'faults' in read ? read.faults.map(({ message }) => message) : [];
};

describe('priorityShares()', () => {
  it('reports what is wrong, with the text', () => {
    expect(faultsOf('1=0.1;2=0.9')).toEqual([
      'is "1=0.1;2=0.9", and not priority=share with commas between, such as 1=0.1,2=0.9',
    ]);
    for (const text of ['-1=1', '1', '1=', '=1', '1=-0.5,2=1.5', '1.5=1', '', '1=NaN'])
      expect(faultsOf(text)).toHaveLength(1);
    expect(faultsOf('1=0.5,1=0.4')).toEqual([
      'is "1=0.5,1=0.4", which names a priority twice',
      'is "1=0.5,1=0.4", whose shares add up to 0.9; they must add up to 1',
    ]);
    expect(faultsOf(Array.from({ length: 20 }, (_, i) => `${i}=0.05`).join())).toEqual([
      'has 20 priorities, and may have 16',
    ]);
  });

  it('reads what prioritySharesText() writes, however small a share is', () => {
    const shares = [
      { priority: 1, share: 1e-7 },
      { priority: 0, share: 0.3 },
      { priority: 7, share: 1 - 1e-7 - 0.3 },
    ];
    expect(priorityShares(prioritySharesText(shares))).toEqual({ shares });
    expect(priorityShares('4=1')).toEqual({ shares: [{ priority: 4, share: 1 }] });
  });
});

describeInWholeRun('drawnLevels()', () => {
  const mix = [{ share: 0.2 }, { share: 0.5 }, { share: 0.3 }];
  const levelsOf = (seed: number) => drawnLevels(mix, (purpose) => uniformAt(seed, purpose));

  it('draws each level as often as its share says, the same under the same seed', () => {
    const counts = [0, 0, 0];
    const [levelOf, again, other] = [levelsOf(5), levelsOf(5), levelsOf(6)];
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
