import { describe, expect, it } from 'vitest';
import { distributionOf } from '../../../src/specs/cascade/distribution.js';

describe('A distribution of loads', () => {
  it('is read from CSV, with columns in any order', async () => {
    expect(await distributionOf('share,rps\n0.5,10\n1,20\n')).toEqual({
      points: [
        { rps: 10, share: 0.5 },
        { rps: 20, share: 1 },
      ],
    });
  });

  it('is refused with all that is wrong with it', async () => {
    const faults = async (text: string) => {
      const read = await distributionOf(text);
      return 'faults' in read ? read.faults.map(({ path, message }) => `${path} ${message}`.trim()) : [];
    };
    expect(await faults('rps\n1\n')).toEqual(['line 1 lacks a column share']);
    expect(await faults('rps,share\n')).toEqual(['it has no line of a load']);
    expect(await faults('rps,share\n-1,x\n5,\n')).toEqual([
      'line 2 rps is "-1"; it must be a decimal number of 0 or more',
      'line 2 share is "x"; it must be a decimal number of 0 or more',
      'line 3 share is ""; it must be a decimal number of 0 or more',
    ]);
    expect(await faults('rps,share\n9007199254740993,1\n')).toEqual([
      'line 2 rps is 9007199254740993; whole numbers beyond 9007199254740991 (2^53 - 1) are not told apart; give one nearer to 0',
    ]);
    // Blanks around a number do not matter, and exponents are decimal.
    expect(await faults('rps,share\n 5 ,1e-3\n')).toEqual([]);
    expect(await faults('rps,share\n0x10,1\n1,0b1\n')).toEqual([
      'line 2 rps is "0x10"; it must be a decimal number of 0 or more',
      'line 3 share is "0b1"; it must be a decimal number of 0 or more',
    ]);
    expect(await faults('rps,share,rps\n1,1,2\n')).toEqual(['line 1 the column rps is given twice']);
    expect(await faults('rps,share\n\n100,0,5\n\n7\n\n1,x\n')).toEqual([
      'line 3 has 3 cells; the header has 2',
      'line 5 has 1 cells; the header has 2',
      'line 7 share is "x"; it must be a decimal number of 0 or more',
    ]);
  });
});
