import { describe, expect, it } from 'vitest';
import { addressSpaceLeft } from '../../src/jobs/address-space.js';

const limits = (soft: string) =>
  `Limit                     Soft Limit           Hard Limit           Units     \nMax cpu time              unlimited            unlimited            seconds   \nMax address space         ${soft.padEnd(20)} unlimited            bytes     \n`;

describe('addressSpaceLeft()', () => {
  it('takes what the process has reserved from its limit, and is undefined where there is none', () => {
    expect(addressSpaceLeft(limits('8192000000'), '250000 9 9 9 0 9 0')).toBe(8192000000 - 250000 * 4096);
    expect(addressSpaceLeft(limits('unlimited'), '250000 9 9 9 0 9 0')).toBeUndefined();
    expect(addressSpaceLeft('', '')).toBeUndefined();
  });
});
