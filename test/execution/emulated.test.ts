import { expect, it } from 'vitest';
import { emulatedNs } from '../../src/execution/emulated.js';

const slow = { provider: 'cpu', threads: 1, slowdown: 3 } as const;

it('emulatedNs() takes slowdown times the run of a CPU that computed all the time', () => {
  expect(emulatedNs(slow, 10e6, 10e6)).toBe(30e6);
});

it('emulatedNs() counts the time without a core once', () => {
  // 8 ms of computing on a device three times slower are 24 ms, and the wait of 5 ms is added to them.
  expect(emulatedNs(slow, 13e6, 8e6)).toBe(29e6);
});

it('emulatedNs() takes the time by the clock where several threads compute', () => {
  expect(emulatedNs({ ...slow, threads: 4 }, 10e6, 37e6)).toBe(30e6);
});

it('emulatedNs() takes the time by the clock of a GPU, which computes without CPU time', () => {
  expect(emulatedNs({ provider: 'cuda', slowdown: 3 }, 10e6, 1e6)).toBe(30e6);
});

it('emulatedNs() leaves a device that is not slowed down as it is', () => {
  expect(emulatedNs({ provider: 'cpu' }, 10e6, 4e6)).toBe(10e6);
});
