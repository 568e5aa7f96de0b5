import { availableParallelism } from 'node:os';
import { describe, expect, it } from 'vitest';
import { parseCoreList, parseCpuQuota } from '../../src/execution/host.js';
import { allowedCores, assignCores, hostThreads } from '../../src/execution/index.js';

describe('hostThreads()', () => {
  it('is at least one and no more than the affinity allows', () => {
    expect(hostThreads()).toBeGreaterThanOrEqual(1);
    expect(hostThreads()).toBeLessThanOrEqual(availableParallelism());
  });

  it.each([
    ['max 100000', undefined],
    ['150000 100000', 1.5],
    ['200000 100000\n', 2],
    ['', undefined],
  ])('reads a control group’s limit from "%s"', (text, quota) => {
    expect(parseCpuQuota(text)).toBe(quota);
  });
});

describe('assignCores()', () => {
  it('gives no core twice, and no cores when all are taken', () => {
    const cores = allowedCores();
    const assigned = assignCores([1, cores.length + 1, 1]);
    expect(assigned).toHaveLength(3);
    const given = assigned.flatMap((list) => list ?? []);
    expect(new Set(given).size).toBe(given.length);
    for (const core of given) expect(cores).toContain(core);
    expect(assigned[1]).toBeUndefined();
  });

  it('reads the kernel’s lists of cores', () => {
    expect(parseCoreList('0-3,8,10-11')).toEqual([0, 1, 2, 3, 8, 10, 11]);
    expect(parseCoreList('5')).toEqual([5]);
  });
});
