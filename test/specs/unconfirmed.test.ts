import { expect, it } from 'vitest';
import { unconfirmedIn } from '../../src/specs/unconfirmed.js';

it('unconfirmedIn() names the fields that a plan has, and its notes also where they were dropped', () => {
  const plan = { work: 3, gears: [{ limitedBy: 'x' }, {}], objective: { bound: 1 } };
  expect(unconfirmedIn(plan, ['/work', '/gears/*/limitedBy', '/objective/gap'])).toEqual([
    ...['/notes', '/work', '/gears/0/limitedBy'],
  ]);
});
