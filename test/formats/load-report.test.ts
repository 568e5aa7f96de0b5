import { describe, expect, it } from 'vitest';
import { gapsText, gapTimes } from '../../src/formats/index.js';

describe('gapsText() and gapTimes()', () => {
  it('write times as the gaps between them, and read them again', () => {
    const times = [0, 0, 5, 1_000_000_007, 1_000_000_008];
    expect(gapsText(times)).toBe('0 0 5 1000000002 1');
    expect([...gapTimes(gapsText(times))!]).toEqual(times);
    expect([...gapTimes(gapsText([]))!]).toEqual([]);
  });

  it.each(['1 -2', '1.5', '1  2', ' 1', 'x', '9007199254740993', '1e3', '0x10'])('refuse %j', (text) => {
    expect(gapTimes(text)).toBeUndefined();
  });
});
