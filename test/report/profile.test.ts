import { describe, expect, it } from 'vitest';
import type { Profile } from '../../src/formats/index.js';
import { blockTable, latencyTable, measuredText } from '../../src/report/index.js';

function profileOf(blockLatencyUs: Profile['devices'][string]['blockLatencyUs']): Profile {
  return {
    kind: 'profile',
    version: '1.0',
    model: { name: 'm' },
    blocks: [
      { nodes: ['a'], cutBytes: 10 },
      { nodes: ['b'], cutBytes: 0 },
    ],
    devices: { cpu: { blockLatencyUs } },
  };
}
const GAP = [null, null];
const STOPPED = profileOf({ '1': { '1': GAP, '2': [1000, 3000], '4': GAP }, '2': { '1': [1000, null] } });

describe('for a profile that was stopped,', () => {
  it('latencyTable() has the rows that were measured', () => {
    expect(latencyTable(STOPPED).rows.map(([, size, batch]) => [size, batch])).toEqual([
      ['1/1', '2'],
      ['1/2', '1'],
    ]);
    expect(latencyTable(profileOf({ '1': { '1': GAP } })).rows).toEqual([]);
  });

  it('blockTable() shows the first batch size that was measured, or only the blocks', () => {
    const { columns, rows } = blockTable(STOPPED);
    expect(columns.at(-1)).toBe('cpu ms (batch 2)');
    expect(rows.map((row) => row.at(-1))).toEqual(['1.00', '3.00']);
    expect(blockTable(profileOf({ '1': { '1': GAP } })).columns).toEqual(['block', 'nodes', 'sends on']);
  });

  it('measuredText() counts what is complete', () => {
    expect(measuredText(STOPPED)).toMatch(/^1 of 4 combinations of device, virtual size and batch size /);
  });
});
