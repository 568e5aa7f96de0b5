import { expect, it } from 'vitest';
import { withinOf } from '../../../src/api/verify/figures.js';

const attainments = (simulated: number, live?: number) => [
  { name: 'dropRate' as const, simulated: 0, live: 1 },
  { name: 'attainment' as const, simulated, ...(live === undefined ? {} : { live }) },
];

it('withinOf() judges every model, so that differences in opposite directions do not cancel', () => {
  const all = attainments(0.9, 0.9);
  expect(withinOf(0.05, [all])).toEqual({ allowed: 0.05, held: true });
  expect(withinOf(0.05, [all, attainments(0.95, 0.85), attainments(0.85, 0.95)]).held).toBe(false);
  expect(withinOf(0.11, [all, attainments(0.95, 0.85), attainments(0.85, 0.95)]).held).toBe(true);
  expect(withinOf(0.05, [attainments(0.9, 0.8)]).held).toBe(false);
  expect(withinOf(0.05, [attainments(0.9)]).held).toBe(false);
});
