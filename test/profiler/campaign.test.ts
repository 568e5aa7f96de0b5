import { describe, expect, test } from 'vitest';
import type { Device } from '../../src/execution/index.js';
import { InputError } from '../../src/formats/index.js';
import { campaignOf } from '../../src/profiler/campaign.js';
import type { PreparedModel, ProfileOptions } from '../../src/profiler/index.js';
import { DEFAULT_LIMITS } from '../../src/profiler/types.js';

const CPU: Device = { provider: 'cpu', threads: 1 };
const OPTIONS: ProfileOptions = {
  devices: [{ className: 'fast', device: CPU }],
  batchSizes: [4, 1, 4],
};

const prepared = (fixedBatch?: number) => ({ name: 'net', fixedBatch }) as PreparedModel;

/** The messages of all faults that campaignOf() finds. */
function faultsOf(changed: Partial<ProfileOptions>): string[] {
  try {
    campaignOf(prepared(), { ...OPTIONS, ...changed });
  } catch (error) {
    if (error instanceof InputError) return error.faults.map(({ message }) => message);
    throw error;
  }
  return [];
}

describe('campaignOf()', () => {
  test('sorts the batch sizes, names each once, and fills in the default limits', () => {
    const { batchSizes, limits } = campaignOf(prepared(), { ...OPTIONS, limits: { maxMs: 900 } });
    expect(batchSizes).toEqual([1, 4]);
    expect(limits).toEqual({ ...DEFAULT_LIMITS, maxMs: 900 });
  });

  test('measures a model of a fixed batch at that batch, whatever is asked for', () => {
    expect(campaignOf(prepared(3), OPTIONS).batchSizes).toEqual([3]);
  });

  test('refuses batches and virtual GPUs larger than any profile that is read has, before one is made', () => {
    expect(faultsOf({ batchSizes: [1, 65_536], virtualSizes: {} })).toEqual([]);
    expect(faultsOf({ batchSizes: [1, 65_537, 1_000_000] })).toEqual([
      'batch sizes are at most 65536 (docs/limits.md), not 65537, 1000000',
    ]);
    expect(faultsOf({ virtualSizes: { cpu: [1001] } })[0]).toBe(
      'virtual sizes of cpu are at most 1000 (docs/limits.md), not 1001',
    );
  });

  test('names both limits where the least time of a figure is above the most', () => {
    expect(faultsOf({ limits: { minMs: 200, maxMs: 100 } })).toEqual([
      '`maxMs` is 100, less than `minMs`, which is 200: give both',
    ]);
    expect(faultsOf({ limits: { minMs: 100, maxMs: 100 } })).toEqual([]);
  });

  test('finds every fault of the options at once', () => {
    const faults = faultsOf({
      batchSizes: [0, 2, 1.5],
      virtualSizes: { fast: [] },
      devices: [...OPTIONS.devices, ...OPTIONS.devices],
      limits: { warmupRuns: -1, minRuns: 0, minMs: 0, maxMs: 0, pauseMs: 1001 },
    });
    expect(faults).toEqual([
      'batch sizes are whole numbers from 1 on, not 0, 1.5',
      'no virtual sizes of fast are given',
      'class fast is given twice',
      '-1 warm-up runs are asked for; 0 or more is valid',
      'at least 0 runs are asked for; 1 or more is valid',
      'a pause of 1001 ms is asked for; 0 to 1000 are valid',
      'a figure is to take at least 0 and at most 0 ms; 0 or more, and more than 0, are valid',
    ]);
  });
});
