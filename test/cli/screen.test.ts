import { describe, expect, it } from 'vitest';
import { columnsOf, isRedrawn } from '../../src/cli/screen.js';

describe('columnsOf()', () => {
  it.each([1, 2, 5, 80, 200])('is what a terminal of %d columns says', (columns) => {
    expect(columnsOf({ isTTY: true, columns })).toBe(columns);
  });

  it.each([
    0,
    -1,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    12.5,
    undefined,
  ])('is 80 for a terminal that says %s', (columns) => {
    expect(columnsOf({ isTTY: true, columns })).toBe(80);
  });

  it('is 120 for what is no terminal', () => {
    expect(columnsOf({ isTTY: undefined, columns: undefined })).toBe(120);
    expect(columnsOf({ isTTY: false, columns: 0 })).toBe(120);
  });
});

describe('isRedrawn()', () => {
  it('is for terminals that can move their cursor, watched by a person', () => {
    expect(isRedrawn({ isTTY: true }, {})).toBe(true);
    expect(isRedrawn({ isTTY: true }, { TERM: 'xterm', CI: '' })).toBe(true);
    expect(isRedrawn({ isTTY: true }, { TERM: 'dumb' })).toBe(false);
    expect(isRedrawn({ isTTY: true }, { CI: 'true' })).toBe(false);
    expect(isRedrawn({ isTTY: undefined }, {})).toBe(false);
  });
});
