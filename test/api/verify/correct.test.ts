import { describe, expect, it } from 'vitest';
import {
  type CorrectionTarget,
  correctedProfile,
  correctionTargets,
  refuseUnmeasured,
} from '../../../src/api/verify/correct.js';
import { measuredExecution, measuredPools, verifiedExecutions } from '../../../src/api/verify/measured.js';
import type {
  Loaded,
  LoadServed,
  PipelinePlan,
  Profile,
  SimulationReport,
} from '../../../src/formats/index.js';
import { planOf as entryOf, type StagePlan } from '../../../src/plans/index.js';
import { planOf } from '../../serving/plans.js';

const partsOf = (of: StagePlan) => entryOf(of).parts(of);
const profiledOf = (of: StagePlan) => ({ profiled: entryOf(of).profiled(of), parts: partsOf(of) });

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
  pipeline,
  partition,
  class: pipeline === 0 ? 'a' : 'b',
  virtual: 1,
  batch,
  executed,
  measured: executed,
  medianUs,
  p95Us: 2 * medianUs,
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
const pools = measuredPools(partsOf(plan), served);

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
  const [target] = correctionTargets(['out.json'], profiledOf(plan), [loaded]);
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

describe('correctedProfile() of a model that several stages have', () => {
  it('joins what the stages measured, each as often as it ran', () => {
    const stage = (name: string) => ({
      name,
      model: 'm0',
      device: 'a',
      virtual: 1,
      latencyUsByBatch: [4000],
    });
    const staged = { kind: 'pipeline-plan', name: 'p', stages: [stage('a'), stage('b')] };
    const executions = [cell(0, 0, 1, [100, 8000]), cell(0, 1, 1, [300, 4000])];
    const measured = measuredPools(partsOf(staged as never), [{ model: 'p', answered: 400, executions }]);
    const { profile: joined } = correctedProfile({ profile: loaded, output: 'in/out.json' }, measured);
    expect(joined.devices.a!.blockLatencyUs[1]![1]).toEqual([1000 * 1.25, 3000 * 1.25]);
    expect(joined.devices.a!.blockLatencyUs[1]![2]).toEqual([2000, 6000]);
  });
});

describe('correctionTargets()', () => {
  const named = (name: string, path = `${name}.json`) => ({
    ...loaded,
    path,
    value: { ...profile, model: { name } },
  });
  const [first, second] = [named('m0'), named('m1')];
  const model = plan.models[0]!;
  const two = { ...plan, models: [model, { ...model, name: 'm1' }] };
  const outputsOf = (targets: readonly CorrectionTarget[]) =>
    targets.map(({ profile: of, output }) => [of.value.model.name, output]);
  /** Two stages have the model m0, and one m1. */
  const stages = (last: object = {}) =>
    ({
      kind: 'pipeline-plan',
      name: 'p',
      stages: [
        { name: 'a', model: 'm0' },
        { name: 'b', model: 'm0' },
        { name: 'c', model: 'm1', ...last },
      ],
    }) as unknown as PipelinePlan;

  it('gives each named model its file', () => {
    const expected = [
      ['m1', 'b.json'],
      ['m0', 'a.json'],
    ];
    for (const of of [two, stages()])
      expect(
        outputsOf(correctionTargets(['m1=b.json', 'm0=a.json'], profiledOf(of), [first, second])),
      ).toEqual(expected);
  });

  it('needs no name where all stages have one model', () => {
    expect(outputsOf(correctionTargets(['a.json'], profiledOf(stages({ model: 'm0' })), [first]))).toEqual([
      ['m0', 'a.json'],
    ]);
  });

  it('refuses a file for no model, a model twice, and a model whose profile is gone or one of several', () => {
    const refused = (texts: string[], profiles = [first, second], of: StagePlan = two) =>
      expect(() => correctionTargets(texts, profiledOf(of), profiles));
    refused(['a.json']).toThrow('names no model; write model=file, with one of m0, m1');
    refused(['m0=a', 'm0=b']).toThrow('m0 is given twice');
    refused(['m1=a'], [first]).toThrow('is not there');
    refused(['m0=a'], [first, named('m0', 'other.json')], stages()).toThrow('m0.json, other.json');
  });

  it('refuses a name before = that is no model, and takes it as a path where it has a folder', () => {
    const only = stages({ model: 'm0' });
    const given = (text: string, of: StagePlan) => () =>
      outputsOf(correctionTargets([text], profiledOf(of), [first]));
    expect(given('nope=c.json', only)).toThrow('"nope=c.json": the plan has no model nope; it has m0');
    expect(given('nope=c=d.json', two)).toThrow('the plan has no model nope; it has m0, m1');
    expect(given('=c.json', only)).toThrow('the plan has no model ""; it has m0');
    expect(given('./nope=c.json', only)()).toEqual([['m0', './nope=c.json']]);
    expect(given('m0=nope=c.json', only)()).toEqual([['m0', 'nope=c.json']]);
    // A model may have such a name itself.
    const odd = { ...plan, models: [{ ...model, name: 'a=b' }] };
    expect(outputsOf(correctionTargets(['a=b=c.json'], profiledOf(odd), [named('a=b')]))).toEqual([
      ['a=b', 'c.json'],
    ]);
    expect(() => correctionTargets(['a=c.json'], profiledOf(odd), [named('a=b')])).toThrow(
      'no model a; it has a=b',
    );
  });

  it('refuses a stage that is planned by 95th percentiles', () => {
    const late = stages({ latencyQuantile: 'p95' });
    expect(() => correctionTargets(['m1=a'], profiledOf(late), [first, second])).toThrow(
      'stage c is planned by 95th',
    );
    expect(correctionTargets(['m0=a'], profiledOf(late), [first, second])).toHaveLength(1);
  });
});

describe('refuseUnmeasured()', () => {
  const target = (name: string) => ({
    output: `${name}.json`,
    profile: { value: { model: { name } } } as unknown as Loaded<'profile'>,
  });
  const told = (...targets: CorrectionTarget[]): string | undefined => {
    const rare: LoadServed = { model: 'm0', answered: 9, executions: [cell(1, 0, 1, [4, 50_000])] };
    try {
      refuseUnmeasured('load.json', targets, measuredPools(partsOf(plan), [rare]));
    } catch (error) {
      return (error as Error).message;
    }
    return undefined;
  };

  it('refuses every model of which no size of batch was timed often enough, and says how much was', () => {
    const said = told(target('m0'), target('m1'));
    expect(said).toContain(
      '"m0.json": the server executed 4 batches of m0, and none of a size that was timed 5 times or more',
    );
    expect(said).toContain('"m1.json": the server executed 0 batches of m1');
    expect(said).toContain('Send a longer load');
  });

  it('takes models of which anything was timed', () => {
    expect(() => refuseUnmeasured('load.json', [target('m0')], pools)).not.toThrow();
    expect(told()).toBeUndefined();
  });
});
