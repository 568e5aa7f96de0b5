import { describe, expect, it } from 'vitest';
import { decimalOf, isDecimal } from '../../src/formats/index.js';

describe('decimalOf()', () => {
  it('reads numbers as programs write them, with sign and exponent', () => {
    const read = ['5', '007', '0.5', '.5', '5.', '-1', '+1', '1e3', '1E-05', '-2.5e+1'].map(decimalOf);
    expect(read).toEqual([5, 7, 0.5, 0.5, 5, -1, 1, 1000, 1e-5, -25]);
  });

  it('takes nothing else for a number that JavaScript takes for one', () => {
    for (const cell of [
      '0x10',
      '0b1',
      '0o7',
      'Infinity',
      '',
      ' ',
      ' 5',
      '5 ',
      '1_000',
      '1,5',
      '.',
      'e3',
      '1e',
      '--1',
    ]) {
      expect(isDecimal(cell), cell).toBe(false);
      expect(decimalOf(cell), cell).toBeNaN();
    }
  });
});
