import { describe, expect, it } from 'vitest';
import type { Profile } from '../../src/formats/index.js';
import { blockTable, deviceTable, latencyTable } from '../../src/report/index.js';

const figures = { blockLatencyUs: { '1': { '1': [1000, 2000] } } };
const PROFILE: Profile = {
  kind: 'profile',
  version: '1.0',
  model: { name: 'm' },
  blocks: [{ cutBytes: 4 }, { cutBytes: 0 }],
  devices: { fast: figures, slow: { ...figures, provider: 'cpu', slowdown: 3, emulated: true } },
};

describe('an emulated device', () => {
  it('is marked in every table of a profile, while other devices are not', () => {
    const heads = blockTable(PROFILE).columns.filter((head) => head.includes('emulated'));
    expect(heads).toEqual(['slow (emulated, 3× slower) ms (batch 1)']);
    const names = latencyTable(PROFILE).rows.map(([name]) => name);
    expect(names).toEqual(['fast', 'slow (emulated, 3× slower)']);
  });

  it('is marked among the devices of this machine', () => {
    const common = { available: true, name: 'some CPU', threads: 1 } as const;
    const { rows } = deviceTable([
      { ...common, className: 'fast', device: { provider: 'cpu', threads: 1 } },
      { ...common, className: 'slow', device: { provider: 'cpu', threads: 1, slowdown: 3 } },
    ]);
    expect(rows.map((row) => row[2])).toEqual(['some CPU', 'some CPU (emulated, 3× slower)']);
  });
});
