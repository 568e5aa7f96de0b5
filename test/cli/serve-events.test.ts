import { describe, expect, it } from 'vitest';
import { eventText } from '../../src/cli/commands/serve.js';

describe('eventText()', () => {
  const scaled = { device: 'cpu-1/gpu0/0', serves: ['detect', 'read'], inLastS: 61, inLast10S: 220 };

  it('says who has a device activated or retired, how many are in use then, and what load led to it', () => {
    expect(eventText({ kind: 'deviceActivated', ...scaled, tuner: 'inferline', inUse: 2 })).toBe(
      'cpu-1/gpu0/0 is activated: the tuner inferline has 2 devices in use for detect, read; 61 requests came in the last second, 220 in the last 10 s',
    );
    expect(eventText({ kind: 'deviceRetired', ...scaled, inUse: 1, inLastS: 1 })).toBe(
      'cpu-1/gpu0/0 is retired: the schedule of the policy has 1 device in use for detect, read; 1 request came in the last second, 220 in the last 10 s',
    );
  });

  it('says why a device came up', () => {
    const up = (why: 'start' | 'activation' | 'restart') =>
      eventText({ kind: 'deviceUp', device: 'cpu-1/gpu0/0', why });
    expect([up('start'), up('activation'), up('restart')]).toEqual([
      'cpu-1/gpu0/0 is up',
      'cpu-1/gpu0/0 is up, since it was activated',
      'cpu-1/gpu0/0 is up again, with a new process',
    ]);
  });
});
