import { describe, expect, it } from 'vitest';
import { bytes, figure, milliseconds, percent } from '../../src/report/index.js';

describe('figure()', () => {
  it('keeps three digits at any size', () => {
    const cases: [number, string][] = [
      [0, '0'],
      [0.1234, '0.123'],
      [0.01234, '0.0123'],
      [-0.000056789, '-0.0000568'],
      [1.2e-12, '1.20e-12'],
      [1.234, '1.23'],
      [12.34, '12.3'],
      [123.4, '123'],
      [2157.4, '2 157'],
      [1234567, '1 234 567'],
      [-12.34, '-12.3'],
      [Number.NaN, '—'],
    ];
    for (const [value, text] of cases) expect(figure(value)).toBe(text);
  });
});

describe('bytes(), milliseconds(), percent()', () => {
  it('write their units', () => {
    expect(bytes(999)).toBe('999 B');
    expect(bytes(1_204_224)).toBe('1.20 MB');
    expect(milliseconds(1500)).toBe('1.50');
    expect(percent(0.0792, 2)).toBe('7.92 %');
  });
});
