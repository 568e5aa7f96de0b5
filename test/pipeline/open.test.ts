import { describe, expect, it } from 'vitest';
import type { PipelineSpec } from '../../src/artifacts/index.js';
import { parseArtifact } from '../../src/artifacts/index.js';
import { resolveOpen } from '../../src/pipeline/index.js';
import { example } from './example.js';

/** told lists the faults of the example, planned by `inferline`, with other words for the classes of its first stage. */
function told(classes: Pick<PipelineSpec['stages'][number], 'device' | 'devices'>): string[] {
  const { spec, files } = example();
  delete spec.stages[0]!.device;
  Object.assign(spec, { planner: { method: 'inferline' } });
  Object.assign(spec.stages[0]!, classes);
  const { faults = [] } = resolveOpen(spec, files);
  return faults
    .map(({ path, message }) => `${path}: ${message}`)
    .filter((one) => one.includes('/stages/0/dev'));
}

describe('the classes of a stage that a planner chooses among', () => {
  it('are told by one of device and devices', () => {
    expect(told({ device: 'L4' })).toEqual([]);
    expect(told({ devices: ['L4', 'T4'] })).toEqual([]);
    expect(told({ device: 'L4', devices: ['T4'] })).toEqual([
      '/stages/0/devices: lists classes, but device says L4: leave out one of them',
    ]);
  });

  it('are not an empty list', () => {
    const spec = { ...example().spec };
    spec.stages = spec.stages.map((stage, i) => (i === 0 ? { ...stage, devices: [] } : stage));
    expect(() => parseArtifact(JSON.stringify(spec), 'spec.json', ['pipeline'])).toThrow(
      /\/stages\/0\/devices: must NOT have fewer than 1 items/,
    );
  });
});
