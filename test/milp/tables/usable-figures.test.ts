import { expect, test } from 'vitest';
import type { Profile } from '../../../src/formats/index.js';
import { usableFigures } from '../../../src/milp/index.js';

test('usableFigures() leaves out classes without a free GPU, and virtual sizes that the cluster does not have', () => {
  const device = { blockLatencyUs: { '1': { '1': [100], '20': [900] }, '2': { '1': [180] } } };
  const profile: Profile = {
    kind: 'profile',
    version: '1.0',
    model: { name: 'm' },
    blocks: [{ cutBytes: 0 }],
    devices: { A: device, B: device, C: device },
  };
  const devices = { A: { count: 2 }, B: { count: 3, virtual: [1, 2] }, C: { count: 1, taken: 1 } };
  const whole = [1, 20].map((batch) => ({ virtual: 1, batch }));
  expect(usableFigures({ profile, classes: ['A', 'B', 'C'] }, { devices })).toEqual([
    { className: 'A', cells: whole },
    { className: 'B', cells: [...whole, { virtual: 2, batch: 1 }] },
  ]);
});
