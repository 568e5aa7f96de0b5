import { describe, expect, it } from 'vitest';
import { correctedProfile, correctionTargets } from '../../../src/api/verify/correct.js';
import { measuredExecution, measuredPools, verifiedExecutions } from '../../../src/api/verify/measured.js';
import type { Loaded, LoadServed, Profile, SimulationReport } from '../../../src/artifacts/index.js';
import { planOf } from '../../serving/plans.js';

const part = (device: string, us: number) => ({ device, batch: 2, latencyUs: (b: number) => us * b });

/** The plan has two partitions on `a` and one on `b`, of batches of at most two. */
const plan = planOf([
  {
    sloMs: 100,
    pipelines: [
      { throughputRps: 10, parts: [part('a', 1000), part('a', 3000)] },
      { throughputRps: 10, parts: [part('b', 5000)] },
    ],
  },
]);

const cell = (
  pipeline: number,
  partition: number,
  batch: number,
  [executed, medianUs]: [number, number],
) => ({
  ...{ pipeline, partition, class: pipeline === 0 ? 'a' : 'b', virtual: 1, batch },
  ...{ executed, measured: executed, medianUs, p95Us: 2 * medianUs },
});

const served: LoadServed[] = [
  {
    model: 'm0',
    answered: 300,
    executions: [
      cell(0, 0, 1, [100, 1500]),
      cell(0, 1, 1, [50, 3000]),
      cell(0, 1, 2, [20, 12_000]),
      // Four batches are too few for a factor.
      cell(1, 0, 1, [4, 50_000]),
    ],
  },
];
const pools = measuredPools(plan, served);

describe('measuredPools()', () => {
  it('gives factors of the planned times where enough batches were measured', () => {
    expect(pools.map(({ cells }) => cells.map(({ batch, factor }) => [batch, factor]))).toEqual([
      [[1, 1.5]],
      [
        [1, 1],
        [2, 2],
      ],
      [[1, undefined]],
    ]);
  });
});

describe('measuredExecution()', () => {
  it('takes the mean factor of a partition for sizes that were not measured, and the planned times without any', () => {
    const { factors, jitter } = measuredExecution(pools);
    expect(factors!.map((row) => [...row])).toEqual([
      [1.5, 1.5],
      [1, 2],
      [1, 1],
    ]);
    const deviation = Math.log(2) / 1.6448536269514722;
    if (jitter?.kind !== 'profile') throw new Error('the spread is missing');
    expect(jitter.deviations.map((row) => [...row])).toEqual([
      [deviation, 0],
      [deviation, deviation],
      [0, 0],
    ]);
  });
});

describe('verifiedExecutions()', () => {
  it('lists what was simulated or executed, and leaves out what was neither', () => {
    const simulated = [{ sizes: [90, 0] }, { sizes: [60, 15] }, { sizes: [0, 0] }];
    const found = verifiedExecutions(pools, { pools: simulated } as unknown as SimulationReport);
    expect(
      found.map(({ partition, batch, simulatedBatches, liveBatches, factor }) => [
        ...[partition, batch, simulatedBatches, liveBatches, factor],
      ]),
    ).toEqual([
      [0, 1, 90, 100, 1.5],
      [1, 1, 60, 50, 1],
      [1, 2, 15, 20, 2],
      [0, 1, 0, 4, undefined],
    ]);
  });
});

const row = (...us: (number | null)[]) => us;
const profile: Profile = {
  kind: 'profile',
  version: '1.0',
  inputs: [{ role: 'model', path: '../models/m0.onnx', sha256: 'a'.repeat(64) }],
  model: { name: 'm0', file: '../models/m0.onnx' },
  blocks: [{ cutBytes: 8 }, { cutBytes: 0 }],
  devices: {
    a: {
      blockLatencyUs: { 1: { 1: row(1000, 3000), 2: row(2000, 6000), 4: row(4000, null) } },
      blockLatencyP95Us: { 1: { 1: row(1100, 3300) } },
      pairLatencyUs: { 1: { 1: row(3900) } },
      wholeLatencyUs: { 1: { 1: 3900, 2: 7800 } },
      spanLatencyUs: { 1: { 1: [{ layers: [0, 1], us: 100 }] } },
    },
    b: { blockLatencyUs: { 1: { 1: row(2000, 3000) } } },
  },
  measurement: { warmupRuns: 3, correctedBy: { a: { 1: { 1: 2 } } } },
};
const loaded: Loaded<'profile'> = { kind: 'profile', value: profile, path: 'in/m0.profile.json', sha256: '' };

describe('correctedProfile()', () => {
  const [target] = correctionTargets(['out.json'], ['m0'], [loaded]);
  const { profile: corrected, corrected: told } = correctedProfile(target!, pools);
  // Of class a at batch 1, 100 × 1000 + 50 × 3000 µs were planned, and 100 × 1500 + 50 × 3000 µs measured.
  const FACTOR = 300 / 250;

  it('multiplies every figure of a measured cell by one factor', () => {
    const { a } = corrected.devices;
    expect(a!.blockLatencyUs[1]![1]).toEqual([1000 * FACTOR, 3000 * FACTOR]);
    expect(a!.blockLatencyUs[1]![2]).toEqual([4000, 12_000]);
    expect(a!.blockLatencyP95Us![1]![1]).toEqual([1100 * FACTOR, 3300 * FACTOR]);
    expect(a!.pairLatencyUs![1]![1]).toEqual([3900 * FACTOR]);
    expect(a!.wholeLatencyUs![1]).toEqual({ 1: 3900 * FACTOR, 2: 15_600 });
    expect(a!.spanLatencyUs![1]![1]).toEqual([{ layers: [0, 1], us: 100 * FACTOR }]);
  });

  it('leaves what was not measured as it was, and says what that is', () => {
    expect(corrected.devices.a!.blockLatencyUs[1]![4]).toEqual([4000, null]);
    expect(corrected.devices.b).toEqual(profile.devices.b);
    expect(told.kept).toEqual([
      { class: 'a', virtual: 1, batch: 4 },
      { class: 'b', virtual: 1, batch: 1 },
    ]);
    expect(told.cells).toEqual([
      { class: 'a', virtual: 1, batch: 1, factor: FACTOR, measured: 150 },
      { class: 'a', virtual: 1, batch: 2, factor: 2, measured: 20 },
    ]);
  });

  it('marks the profile with all corrections so far, and keeps its paths right', () => {
    expect(corrected.measurement).toEqual({
      warmupRuns: 3,
      correctedBy: { a: { 1: { 1: 2 * FACTOR, 2: 2 } } },
    });
    expect(corrected.model.file).toBe('models/m0.onnx');
    expect(corrected.inputs![0]!.path).toBe('models/m0.onnx');
    expect(profile.measurement!.correctedBy).toEqual({ a: { 1: { 1: 2 } } });
  });
});

describe('correctionTargets()', () => {
  const other = { ...loaded, value: { ...profile, model: { name: 'm1' } } };

  it('gives each named model its file', () => {
    const targets = correctionTargets(['m1=b.json', 'm0=a.json'], ['m0', 'm1'], [loaded, other]);
    expect(targets.map(({ profile: of, output }) => [of.value.model.name, output])).toEqual([
      ['m1', 'b.json'],
      ['m0', 'a.json'],
    ]);
  });

  it('refuses a file for no model, a model twice, and a model whose profile is gone', () => {
    expect(() => correctionTargets(['a.json'], ['m0', 'm1'], [loaded, other])).toThrow('names no model');
    expect(() => correctionTargets(['m0=a', 'm0=b'], ['m0', 'm1'], [loaded, other])).toThrow('given twice');
    expect(() => correctionTargets(['m1=a'], ['m0', 'm1'], [loaded])).toThrow('is not there');
  });
});
