import { expect, it } from 'vitest';
import { didYouMean } from '../../src/formats/index.js';

it.each([
  ['slo', ['weight', 'sloMs', 'sloMargin'], 'sloMs'],
  ['sloMsec', ['sloMargin', 'sloMs'], 'sloMs'],
  ['wieght', ['profile', 'weight'], 'weight'],
  ['--trace', ['--trace-format', '--tuner'], '--trace-format'],
  ['Duration', ['duration_s'], 'duration_s'],
])('didYouMean() names for %s of %j the word %s', (wrong, known, meant) => {
  expect(didYouMean(wrong, known)).toBe(`; did you mean ${meant}?`);
});

it.each([
  ['sl', ['sloMs']],
  ['--t', ['--trace', '--tuner']],
  ['speed', ['throughput', 'cost']],
  ['s'.repeat(41), ['s'.repeat(42)]],
])('didYouMean() names nothing for %s of %j', (wrong, known) => {
  expect(didYouMean(wrong, known)).toBe('');
});
