import { expect, test } from 'vitest';
import { parseArtifact } from '../../src/artifacts/index.js';
import type { DeviceProfile, Profile } from '../../src/formats/index.js';
import { mergeProfiles } from '../../src/profiler/index.js';

function profile(devices: Record<string, DeviceProfile>, change: Partial<Profile> = {}): Profile {
  return {
    kind: 'profile',
    version: '1.0',
    model: { name: 'm', sha256: 'a'.repeat(64) },
    blocks: [
      { nodes: ['a', 'b'], cutBytes: 8 },
      { nodes: ['c'], cutBytes: 0 },
    ],
    devices,
    measurement: { host: { name: 'one' }, minRuns: 10, complete: true },
    ...change,
  };
}

const cpu: DeviceProfile = { provider: 'cpu', threads: 2, blockLatencyUs: { 1: { 1: [5, 6] } } };
const gpu: DeviceProfile = { provider: 'cuda', blockLatencyUs: { 1: { 1: [1, 2] } } };

test('mergeProfiles() puts classes of several machines side by side and lists the host of each', () => {
  const other = profile({ gpu }, { measurement: { host: { name: 'two' }, minRuns: 10, warnings: ['w'] } });
  const merged = mergeProfiles([
    { profile: profile({ cpu }), path: 'one' },
    { profile: other, path: 'two' },
  ]);
  expect(merged.devices).toEqual({ cpu, gpu });
  expect(merged.measurement).toMatchObject({
    host: { classes: { cpu: { name: 'one' }, gpu: { name: 'two' } } },
    minRuns: 10,
    warnings: ['w'],
  });
  expect(() => parseArtifact(JSON.stringify(merged), 'm.json', ['profile'])).not.toThrow();
});

test('mergeProfiles() reports the commands that measure again what was cut or named otherwise', () => {
  const cut = profile({ gpu }, { model: { name: 'm', file: 'my model.onnx', sha256: 'a'.repeat(64) } });
  const other = {
    ...cut,
    blocks: [
      { nodes: ['a'], cutBytes: 8 },
      { nodes: ['b', 'c'], cutBytes: 0 },
    ],
  };
  const merged = (one: Profile, two: Profile) => () =>
    mergeProfiles([
      { profile: one, path: 'a b.json' },
      { profile: two, path: 'two.json' },
    ]);
  expect(merged(cut, other)).toThrow(
    "plan profile 'my model.onnx' --blocks 'a b.json' --device gpu=cuda --batch 1 -o two.json",
  );
  const slow = { ...cpu, slowdown: 3, blockLatencyUs: { 1: { 1: [1, 2], 8: [1, 2] }, 2: { 4: [1, 2] } } };
  const imported: DeviceProfile = { imported: true, blockLatencyUs: { 1: { 16: [1, 2] } } };
  expect(merged(cut, { ...other, devices: { slow, imported, 'cpu:2': cpu } })).toThrow(
    "--blocks 'a b.json' --device slow=cpu:2,slowdown=3 --device cpu:2 --batch 1,4,8 --virtual 1,2 -o two.json",
  );
  const { file: _, ...unnamed } = other.model;
  expect(merged({ ...cut, model: unnamed }, { ...other, model: unnamed })).toThrow(
    /MODEL is the file of m, which a b\.json does not name:\n {2}plan profile MODEL --blocks 'a b\.json' --device gpu=cuda --batch 1 -o two\.json/,
  );
  expect(merged(cut, profile({ cpu }, { model: { name: 'm', sha256: 'b'.repeat(64) } }))).not.toThrow(
    '--blocks',
  );
  expect(merged(profile({ cpu }), profile({ cpu: { ...cpu, threads: 3 } }))).toThrow('--device other=cpu');
});

test('mergeProfiles() joins the cells of a class of which each profile has a part', () => {
  const half = { ...cpu, blockLatencyUs: { 1: { 1: [5, null] } } };
  const rest = { ...cpu, blockLatencyUs: { 1: { 1: [null, 6], 2: [8, 9] }, 2: { 1: [10, 11] } } };
  const merged = mergeProfiles([
    { profile: profile({ cpu: half }), path: 'one' },
    { profile: profile({ cpu: rest }), path: 'two' },
  ]);
  expect(merged.devices.cpu?.blockLatencyUs).toEqual({ 1: { 1: [5, 6], 2: [8, 9] }, 2: { 1: [10, 11] } });
});

test('mergeProfiles() names every conflict: model, dimensions, blocks, settings, figures', () => {
  const other = profile(
    { cpu: { ...cpu, threads: 4, blockLatencyUs: { 1: { 1: [5, 7] } } } },
    {
      model: { name: 'm', sha256: 'b'.repeat(64), dims: { seq: 8 } },
      boundary: 'float16',
      blocks: [
        { nodes: ['a'], cutBytes: 4 },
        { nodes: ['b', 'c'], cutBytes: 0 },
      ],
    },
  );
  const run = () =>
    mergeProfiles([
      { profile: profile({ cpu }), path: 'one' },
      { profile: other, path: 'two' },
    ]);
  for (const conflict of [
    /two: the model's digest differs/,
    /two: the model's dimensions differs/,
    /two: the boundary differs/,
    /two: the bytes after the blocks differs/,
    /two: its blocks hold other nodes/,
    /class cpu: threads differs \(2, 4\) in one and two/,
    /class cpu: blockLatencyUs at 1\/1, batch 1 is measured twice/,
  ])
    expect(run).toThrow(conflict);
});

test('mergeProfiles() says how all figures of a joined class add up, of every virtual size', () => {
  const three = {
    blocks: [
      { nodes: ['a'], cutBytes: 8 },
      { nodes: ['b'], cutBytes: 8 },
      { nodes: ['c'], cutBytes: 0 },
    ],
  };
  const at = (virtual: number, whole: number): DeviceProfile => ({
    ...cpu,
    blockLatencyUs: { [virtual]: { 1: [5, 6, 7] } },
    pairLatencyUs: { [virtual]: { 1: [10, 12] } },
    wholeLatencyUs: { [virtual]: { 1: whole } },
  });
  const measurement = (virtual: number) => ({
    blockSumOverWhole: { cpu: { [virtual]: { 1: 1 } } },
    predictedOverWhole: { cpu: { [virtual]: { 1: 1 } } },
  });
  const merged = mergeProfiles([
    { profile: profile({ cpu: at(1, 16) }, { ...three, measurement: measurement(1) }), path: 'one' },
    { profile: profile({ cpu: at(2, 20) }, { ...three, measurement: measurement(2) }), path: 'two' },
  ]);
  expect(merged.measurement?.blockSumOverWhole).toEqual({ cpu: { 1: { 1: 1.125 }, 2: { 1: 0.9 } } });
  expect(merged.measurement?.predictedOverWhole).toEqual({ cpu: { 1: { 1: 1 }, 2: { 1: 0.8 } } });
});
