import { expect, it } from 'vitest';
import { shownPath } from '../../src/formats/index.js';

it.each([
  ['letters of one unit', 'a', 'z'],
  ['letters of two units', '🙂', '🚀'],
])('shownPath() gives at most 200 %s, and all of a path that has no more', (_, first, last) => {
  const whole = first.repeat(100) + last.repeat(100);
  expect(shownPath(whole)).toBe(whole);
  const shown = shownPath(`${whole}${last}`);
  expect([...shown]).toHaveLength(200);
  expect(shown).toBe(`${first.repeat(49)}…${first.repeat(49)}${last.repeat(101)}`);
});
