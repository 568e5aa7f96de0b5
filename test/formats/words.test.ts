import { expect, it } from 'vitest';
import { counted } from '../../src/formats/words.js';

it('counted() writes a noun in the plural where there is not one of it', () => {
  expect([0, 1, 2].map((count) => counted(count, 'plan'))).toEqual(['0 plans', '1 plan', '2 plans']);
});
