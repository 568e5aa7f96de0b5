import { expect, test } from 'vitest';
import { type Profile, unfitOf } from '../../src/formats/index.js';
import { Ledger } from '../../src/profiler/ledger.js';
import type { Timed } from '../../src/profiler/measure-group.js';
import type { TimedRun } from '../../src/profiler/statistics.js';
import { DEFAULT_LIMITS, type PreparedModel } from '../../src/profiler/types.js';
import { ofGroup, ofLayers } from '../../src/profiler/warnings.js';

const GROUP = { className: 'cpu', virtual: 1, batch: 4 };
const DEVICE = { provider: 'cpu', threads: 1 } as const;

function ledger(resume?: Profile, count = 2): Ledger {
  const prepared = {
    name: 'made',
    sha256: '0'.repeat(64),
    data: [],
    inputs: [],
    outputs: [],
    dims: {},
    boundary: 'exact',
    layers: [],
    model: { graph: { outputs: [] } },
    fixedBatch: undefined,
    measuredShapes: {},
  };
  const blocks = Array.from({ length: count }, (_, k) => ({ cutBytes: k + 1 < count ? 4 : 0 }));
  const campaign = {
    devices: [{ className: 'cpu', device: DEVICE }],
    batchSizes: [4],
    limits: DEFAULT_LIMITS,
    virtualSizesOf: () => [1],
  };
  const made = new Ledger(prepared as unknown as PreparedModel, campaign, {
    blocks,
    ...(resume ? { resume } : {}),
  });
  made.open({ className: 'cpu', device: DEVICE, available: true, name: 'CPU' });
  return made;
}

/** runs makes runs of `us` on the device, of which the executor's part is 300 µs less. */
function runs(count: number, us: number): TimedRun[] {
  return new Array<TimedRun>(count).fill({ durationUs: us, executionUs: us - 300 });
}

function timed(id: Timed['id'], us: number): Timed {
  return { id, runs: runs(12, us), loadMs: 1 };
}

test('record() warns when blocks and pairs contradict their model, once all are measured', () => {
  const made = ledger(undefined, 3);
  const blocks = [timed(0, 1000), timed(1, 1000), timed(2, 1000)];
  expect(made.record(GROUP, [timed('whole', 4000), ...blocks, timed(3, 1500)])).toEqual([]);
  expect(made.missing(GROUP)).toEqual([4]);
  expect(made.profile().measurement?.complete).toBe(false);
  const said = [
    'cpu 1/1 batch 4: blocks and pairs predict 0.525 of the whole model: latencies of several blocks are as uncertain',
  ];
  expect(made.record(GROUP, [timed(4, 1600)])).toEqual(said);
  const { devices, measurement } = made.profile();
  expect(devices.cpu?.pairLatencyUs).toEqual({ '1': { '4': [1500, 1600] } });
  expect(devices.cpu?.wholeLatencyUs).toEqual({ '1': { '4': 4000 } });
  expect(devices.cpu?.wholeExecutionUs).toEqual({ '1': { '4': 3700 } });
  expect(measurement).toMatchObject({ complete: true, warnings: said });
  expect(measurement?.blockSumOverWhole).toEqual({ cpu: { '1': { '4': 0.75 } } });
  expect(measurement?.predictedOverWhole).toEqual({ cpu: { '1': { '4': 0.525 } } });
});

test('record() needs no pairs where there are two blocks, and believes what both take together', () => {
  const made = ledger();
  expect(made.record(GROUP, [timed('whole', 4000), timed(0, 1000), timed(1, 1100)])).toEqual([]);
  expect(made.profile().devices.cpu?.pairLatencyUs).toBeUndefined();
  expect(made.profile().measurement?.predictedOverWhole).toBeUndefined();
});

test('record() names pairs by their blocks in warnings, and withdraws these when they are measured again', () => {
  const few: Timed = { id: 4, runs: runs(3, 2000), loadMs: 1 };
  const made = ledger(undefined, 3);
  const line = 'cpu 1/1 batch 4 pair 1–2 is unfit: 3 runs came within 2000 ms, 10 are wanted';
  expect(made.record(GROUP, [timed('whole', 4000), few])).toEqual([line]);
  made.record(GROUP, [timed('whole', 4000), timed(4, 2000)]);
  expect(made.profile().measurement?.warnings).toBeUndefined();
});

test('record() does not warn about blocks whose sum agrees with the model', () => {
  const made = ledger();
  expect(made.record(GROUP, [timed('whole', 4000), timed(0, 2000), timed(1, 2100)])).toEqual([]);
  expect(made.profile().measurement?.warnings).toBeUndefined();
});

test('record() and shares() withdraw the warnings about figures that are measured again, and no others', () => {
  const about = (what: string) => `${what} is unfit: 3 runs came within 9 ms, 10 are wanted`;
  const kept = [
    'the model runs at batch 4 only: why',
    about('cpu 1/1 batch 4 block 10'),
    about('cpu 1/1 batch 40 block 1'),
    about('cpu 1/2 batch 4 block 1'),
    'layers of cpus could not be measured: why',
  ];
  const before = ledger().profile();
  const warnings = [
    ...kept.slice(0, 3),
    about('cpu 1/1 batch 4 block 1'),
    about('cpu 1/1 batch 4 whole model'),
    'cpu 1/1 batch 4 whole model could not be measured: out of memory',
    'cpu 1/1 batch 4: sum of blocks is 0.5 of the whole model: plans promise more than the device can do',
    'layers of cpu could not be measured: why',
    ...kept.slice(3),
  ];
  const made = ledger({ ...before, measurement: { ...before.measurement, warnings } });
  made.shares('cpu', 4, [1]);
  made.record(GROUP, [timed('whole', 4000), timed(0, 2000), timed(1, 2000)]);
  expect(made.profile().measurement?.warnings).toEqual(kept);
});

test('record() reports all unfit figures of a group in one line, until all of them are measured again', () => {
  const few = (id: Timed['id']): Timed => ({ id, runs: runs(3, 2000), loadMs: 1 });
  const why = '3 runs came within 2000 ms, 10 are wanted';
  const made = ledger();
  const all = `cpu 1/1 batch 4: 3 of 3 figures are unfit (whole model, block 0, block 1), for example whole model: ${why}`;
  expect(made.record(GROUP, [few('whole'), few(0), few(1)])[0]).toBe(all);
  const one = `cpu 1/1 batch 4 block 0 is unfit: ${why}`;
  expect(made.record(GROUP, [timed('whole', 4000), few(0)])).toEqual([one]);
  expect(made.profile().measurement?.warnings).toEqual([all, one]);
  const cell = { class: 'cpu', virtual: 1, batch: 4 };
  expect(unfitOf(made.profile(), GROUP)).toEqual([
    {
      ...cell,
      figures: [{ part: 'whole' }, { part: 'block', block: 0 }, { part: 'block', block: 1 }],
      warning: all,
    },
    { ...cell, figures: [{ part: 'block', block: 0 }], warning: one },
  ]);
  expect(unfitOf(made.profile(), { ...GROUP, batch: 40 })).toEqual([]);
  made.record(GROUP, [timed('whole', 4000), timed(0, 2000), timed(1, 2000)]);
  expect(made.profile().measurement?.warnings).toBeUndefined();
});

test('record() and shares() withdraw warnings by what they are about, whatever their words', () => {
  const made = ledger();
  const others = [
    ...[ofLayers('gpu'), ofGroup({ ...GROUP, className: 'gpu' }), ofGroup({ ...GROUP, virtual: 2 })],
    ...[ofGroup({ ...GROUP, batch: 40 }), ofGroup(GROUP, [{ part: 'block', block: 1 }])],
  ];
  const kept = others.map((about, i) => ({ text: `cpu 1/1 batch 4: ${i}`, about }));
  const taken = [ofLayers('cpu'), ofGroup(GROUP), ofGroup(GROUP, [{ part: 'whole' }])];
  for (const warning of [...kept, ...taken.map((about, i) => ({ text: `${i}`, about }))]) made.warn(warning);
  made.shares('cpu', 4, [1]);
  made.record(GROUP, [timed('whole', 4000), timed(0, 2000)]);
  expect(made.profile().measurement?.warnings).toEqual(kept.map(({ text }) => text));
});

test('record() keeps a line of a resumed profile about several figures until all of them are measured again', () => {
  const few = (id: Timed['id']): Timed => ({ id, runs: runs(3, 2000), loadMs: 1 });
  const before = ledger();
  const [all] = before.record(GROUP, [timed('whole', 4000), few(0), few(1)]);
  expect(all).toMatch(/^cpu 1\/1 batch 4: 2 of 3 figures are unfit \(block 0, block 1\)/);
  const made = ledger(before.profile());
  made.record(GROUP, [timed('whole', 4000), timed(0, 2000)]);
  expect(made.profile().measurement?.warnings).toEqual([all]);
  made.record(GROUP, [timed('whole', 4000), timed(0, 2000), timed(1, 2000)]);
  expect(made.profile().measurement?.warnings).toBeUndefined();
});

/** withoutPairs gives a profile of three measured blocks from before pairs were measured. */
function withoutPairs(): Profile {
  const made = ledger(undefined, 3);
  const blocks = [timed(0, 1000), timed(1, 1100), timed(2, 1200)];
  made.record(GROUP, [timed('whole', 4000), ...blocks, timed(3, 1500), timed(4, 1600)]);
  const profile = made.profile();
  const { pairLatencyUs: _pairs, ...device } = profile.devices.cpu!;
  return { ...profile, devices: { cpu: device } };
}

test('open() keeps the figures of a profile without pairs until record() has others', () => {
  const before = withoutPairs();
  const made = ledger(before, 3);
  expect(made.missing(GROUP)).toEqual([0, 1, 2, 3, 4]);
  const opened = made.profile();
  expect(opened.devices.cpu?.blockLatencyUs).toEqual({ '1': { '4': [1000, 1100, 1200] } });
  expect(opened.devices.cpu?.blockLatencyP95Us).toEqual({ '1': { '4': [1000, 1100, 1200] } });
  expect(opened.devices.cpu?.pairLatencyUs).toBeUndefined();
  expect(opened.measurement?.complete).toBe(false);
  made.record(GROUP, [timed('whole', 4000), timed(0, 900), timed(1, 910), timed(3, 1500)]);
  const { blockLatencyUs, pairLatencyUs } = made.profile().devices.cpu!;
  expect({ blockLatencyUs, pairLatencyUs }).toEqual({
    blockLatencyUs: { '1': { '4': [900, 910, null] } },
    pairLatencyUs: { '1': { '4': [1500, null] } },
  });
  expect(made.missing(GROUP)).toEqual([2, 4]);
  made.record(GROUP, [timed('whole', 4000), timed(2, 920), timed(4, 1600)]);
  expect(made.profile().devices.cpu?.blockLatencyUs).toEqual({ '1': { '4': [900, 910, 920] } });
  expect(made.profile().measurement?.complete).toBe(true);
});

test("record() drops the spans of a group whose whole model is timed again, and no other group's", () => {
  const before = withoutPairs();
  const spans = [{ layers: [0, 2] as [number, number], us: 2000 }];
  before.devices.cpu!.spanLatencyUs = { '1': { '4': spans, '2': spans }, '2': { '4': spans } };
  const made = ledger(before, 3);
  expect(made.profile().devices.cpu?.spanLatencyUs?.[1]?.[4]).toEqual(spans);
  made.record(GROUP, [timed('whole', 4000), timed(0, 900)]);
  expect(made.profile().devices.cpu?.spanLatencyUs).toEqual({ '1': { '2': spans }, '2': { '4': spans } });
});
