import { describe, expect, it } from 'vitest';
import { parseArtifact } from '../../src/artifacts/index.js';
import type { PipelineSpec } from '../../src/formats/index.js';
import { resolveOpen, unprofiledNotes } from '../../src/pipeline/index.js';
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
  it('are named by one of device and devices', () => {
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
      /\/stages\/0\/devices: has no entries; it must have at least 1/,
    );
  });
});

describe('unprofiledNotes()', () => {
  it('names the classes of a cluster that the profiles of open stages lack', () => {
    const { spec, files } = example();
    const open = { ...spec, stages: spec.stages.map(({ device: _, ...stage }) => stage) };
    const typed = { ...files.cluster.devices, l4: { count: 2 }, none: { count: 0 } };
    const notes = unprofiledNotes(open, { ...files, cluster: { devices: typed } });
    const names = spec.stages.map(({ name }) => name).join(', ');
    expect(notes.filter((note) => note.includes('l4'))).toEqual([
      `${names} cannot use l4: their profiles have no such device`,
    ]);
    expect(notes.join()).not.toContain('none');
    const [first, ...others] = open.stages as [(typeof open.stages)[number], ...typeof open.stages];
    const named = { ...open, stages: [first, ...others.map((stage) => ({ ...stage, device: 'L4' }))] };
    expect(unprofiledNotes(named, { ...files, cluster: { devices: { l4: {} } } })).toEqual([
      `${first.name} cannot use l4: its profile has no such device`,
    ]);
  });
});
