import { describe, expect, it } from 'vitest';
import { columnsOf, isColoured, isRedrawn } from '../../src/cli/screen.js';

describe('columnsOf()', () => {
  it.each([1, 2, 5, 80, 200])('is %d for a terminal that reports this number of columns', (columns) => {
    expect(columnsOf({ isTTY: true, columns })).toBe(columns);
  });

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, 12.5, undefined])(
    'is 80 for a terminal that reports %s',
    (columns) => {
      expect(columnsOf({ isTTY: true, columns })).toBe(80);
    },
  );

  it('is 120 for a stream that is no terminal', () => {
    expect(columnsOf({ isTTY: undefined, columns: undefined })).toBe(120);
    expect(columnsOf({ isTTY: false, columns: 0 })).toBe(120);
  });
});

describe('isRedrawn()', () => {
  it('is true for terminals that can move their cursor and that a person watches', () => {
    expect(isRedrawn({ isTTY: true }, {})).toBe(true);
    expect(isRedrawn({ isTTY: true }, { TERM: 'xterm', CI: '' })).toBe(true);
    expect(isRedrawn({ isTTY: true }, { TERM: 'dumb' })).toBe(false);
    expect(isRedrawn({ isTTY: true }, { CI: 'true' })).toBe(false);
    expect(isRedrawn({ isTTY: undefined }, {})).toBe(false);
  });
});

describe('isColoured()', () => {
  const onTerminal = { isTTY: true };
  const inPipe = { isTTY: undefined };

  it('is true on terminals that can show colours, and nowhere else', () => {
    expect(isColoured(onTerminal, {})).toBe(true);
    expect(isColoured(onTerminal, { TERM: 'xterm' })).toBe(true);
    expect(isColoured(onTerminal, { TERM: 'dumb' })).toBe(false);
    expect(isColoured(inPipe, {})).toBe(false);
  });

  it('is false with NO_COLOR, whatever FORCE_COLOR says', () => {
    expect(isColoured(onTerminal, { NO_COLOR: '1' })).toBe(false);
    expect(isColoured(onTerminal, { NO_COLOR: '0' })).toBe(false);
    expect(isColoured(onTerminal, { NO_COLOR: '1', FORCE_COLOR: '1' })).toBe(false);
    expect(isColoured(onTerminal, { NO_COLOR: '' })).toBe(true);
  });

  it('is true everywhere with FORCE_COLOR, unless that says 0 or false', () => {
    expect(isColoured(inPipe, { FORCE_COLOR: '1' })).toBe(true);
    expect(isColoured(inPipe, { FORCE_COLOR: 'true' })).toBe(true);
    expect(isColoured(onTerminal, { FORCE_COLOR: '1', TERM: 'dumb' })).toBe(true);
    expect(isColoured(inPipe, { FORCE_COLOR: '' })).toBe(false);
    expect(isColoured(onTerminal, { FORCE_COLOR: '0' })).toBe(false);
    expect(isColoured(onTerminal, { FORCE_COLOR: 'false' })).toBe(false);
  });
});
