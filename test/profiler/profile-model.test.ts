import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { resnet18 } from '../../examples/models/resnet18.js';
import { parseArtifact } from '../../src/artifacts/index.js';
import { type Device, type NamedDevice, startExecutor } from '../../src/execution/index.js';
import { InputError, MissingError, type Profile } from '../../src/formats/index.js';
import {
  type PreparedModel,
  type PrepareOptions,
  type ProfileOptions,
  type ProgressEvent,
  prepareModel as prepareInProcesses,
  profileModel as profileInProcesses,
  sessionLayerTimes,
} from '../../src/profiler/index.js';
import { cases, LONG } from '../cases.js';
import { startInProcess } from '../execution/in-process.js';
import { convChain, openSizes, ownShape } from '../onnx/made-models.js';

const MODELS = fileURLToPath(new URL('../../../shared/models/', import.meta.url));
const present = existsSync(MODELS);
const CPU: Device = { provider: 'cpu', threads: 1 };
const QUICK = { warmupRuns: 1, minRuns: 2, minMs: 1, maxMs: 60 };
const fast: NamedDevice = { className: 'fast', device: CPU };
const slow: NamedDevice = { className: 'slow', device: { ...CPU, slowdown: 3 } };

/** The test has a temporary folder of its own, so that leftovers show. */
let scratch = '';
let outer: string | undefined;
beforeAll(() => {
  outer = process.env.TMPDIR;
  scratch = mkdtempSync(join(tmpdir(), 'profiler-test-'));
  process.env.TMPDIR = scratch;
});
afterAll(() => {
  expect(readdirSync(scratch).filter((name) => name.startsWith('inferplan'))).toEqual([]);
  rmSync(scratch, { recursive: true, force: true });
  if (outer === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = outer;
});

/** The model runs in this process here. Other tests profile in separate processes, as users do. */
const prepareModel = (path: string, options: PrepareOptions) =>
  prepareInProcesses(path, { ...options, startExecutor: startInProcess });
const profileModel = (prepared: PreparedModel, options: ProfileOptions) =>
  profileInProcesses(prepared, { ...options, startExecutor: startInProcess });

/** written writes a model beside the profiler's temporary folder, and gives its path. */
function written(name: string, bytes: Uint8Array): string {
  const path = join(scratch, `${name}.onnx`);
  writeFileSync(path, bytes);
  return path;
}

function prepare(name: string, bytes: Uint8Array, dims: Record<string, number> = {}): Promise<PreparedModel> {
  return prepareModel(written(name, bytes), { dims, device: CPU });
}

/** A published model. */
function prepareShared(name: string, dims: Record<string, number> = {}): Promise<PreparedModel> {
  return prepareModel(join(MODELS, `${name}.onnx`), { dims, device: CPU });
}

function total(values: readonly (number | null)[]): number {
  return values.reduce((sum: number, value) => sum + (value ?? Number.NaN), 0);
}

describe('prepareModel()', () => {
  test('makes a fixed batch symbolic and finds the batch axis of every tensor', async () => {
    const prepared = await prepare('fixed', convChain(3));
    expect(prepared.fixedBatch).toBeUndefined();
    expect(prepared.inputs).toEqual([{ name: 'data', dtype: 'float32', shape: [1, 3, 8, 8], batchAxis: 0 }]);
    // The bytes of a request after each node are four channels of 8 × 8, then of 1 × 1, then five classes.
    const bytes = [...Array<number>(6).fill(4 * 64 * 4), 16, 16, 20, 20];
    expect(prepared.layers.map(({ cutBytes }) => cutBytes)).toEqual(bytes);
  });

  test('names every free dimension that has no size and how to give it', async () => {
    const path = written('open', openSizes());
    await expect(prepareModel(path, { device: CPU })).rejects.toThrow(
      /height is not given[\s\S]*width is not given[\s\S]*`dim` height=/,
    );
    const dims = { height: 64, depth: 3 };
    await expect(prepareModel(path, { device: CPU, dims })).rejects.toBeInstanceOf(InputError);
  });

  test('repeats a shape with the batch size in it, and sends the tensor whose shape it is', async () => {
    const { layers, cuts } = await prepare('shape', ownShape());
    const same = expect.stringMatching(/^the node before it is repeated where its result is needed/);
    expect(layers.map(({ noCut }) => noCut)).toEqual([undefined, same, undefined, undefined, undefined]);
    expect(cuts[2]).toEqual({ position: 3, tensors: ['positive', 'negative'] });
    expect(layers[2]?.cutBytes).toBe(2 * 16);
  });

  test('counts half the bytes of float32 that crosses as float16, but not of the model’s own inputs and outputs', async () => {
    const path = written('halved', convChain(3));
    const exact = await prepareModel(path, { device: CPU });
    const halved = await prepareModel(path, { device: CPU, boundary: 'float16' });
    const bytes = ({ layers }: PreparedModel) => layers.map(({ cutBytes }) => cutBytes ?? Number.NaN);
    const inner = bytes(exact).slice(0, -1);
    expect(bytes(halved)).toEqual([...inner.map((count) => count / 2), bytes(exact).at(-1)]);
  });

  test('refuses values of the wrong shape for an input', async () => {
    const feeds = { data: { dtype: 'float32', dims: [1], data: new Float32Array(1) } };
    const run = prepareModel(written('fed', convChain(1)), { device: CPU, feeds });
    await expect(run).rejects.toThrow(/given for data are float32\[1\]; float32\[1, 3, 8, 8\] is needed/);
  });

  test('reports a missing file', async () => {
    await expect(prepareModel(join(scratch, 'none.onnx'), { device: CPU })).rejects.toBeInstanceOf(
      MissingError,
    );
  });
});

if (LONG)
  describe.runIf(present)('prepareModel() on published models', () => {
    test('makes a fixed batch symbolic and finds the batch axis of every tensor', async () => {
      const prepared = await prepareShared('light_squeezenet');
      expect(prepared.fixedBatch).toBeUndefined();
      expect(prepared.inputs).toEqual([
        { name: 'data_0', dtype: 'float32', shape: [1, 3, 224, 224], batchAxis: 0 },
      ]);
      const cuts = prepared.layers.slice(0, -1).filter(({ cutBytes }) => cutBytes !== undefined);
      expect(cuts.length).toBeGreaterThan(60);
      for (const layer of prepared.layers)
        expect((layer.cutBytes === undefined) !== (layer.noCut === undefined)).toBe(true);
    });

    test('repeats shapes with the batch size in them, so that every node that is none can be cut after', async () => {
      const { layers } = await prepareShared('tinyvit_demo');
      const reasons = layers.flatMap(({ noCut }) => noCut ?? []);
      for (const reason of reasons) expect(reason).toMatch(/so the cut is the same as an earlier one$/);
      expect(layers.filter(({ cutBytes }) => cutBytes !== undefined)).toHaveLength(189);
    });

    test('counts half the bytes of float32 that crosses as float16, but not of the model’s own inputs and outputs', async () => {
      const path = join(MODELS, 'dtln_stage1.onnx');
      const exact = await prepareModel(path, { device: CPU });
      const halved = await prepareModel(path, { device: CPU, boundary: 'float16' });
      const last = exact.layers.length - 1;
      expect(halved.layers[last]?.cutBytes).toBe(exact.layers[last]?.cutBytes);
      const ends = new Set([...exact.inputs, ...exact.outputs].map(({ name }) => name));
      const { blocks } = await profileModel(exact, {
        devices: [fast],
        batchSizes: [1],
        limits: QUICK,
        partition: { blocks: 3 },
      });
      const after = (blocks[0]?.nodes?.length ?? 0) - 1;
      const inner = blocks[0]?.tensors?.filter(({ name }) => !ends.has(name)) ?? [];
      const saved = total(inner.map(({ shape }) => shape.reduce((a, b) => a * b, 1) * 2));
      expect((exact.layers[after]?.cutBytes ?? 0) - (halved.layers[after]?.cutBytes ?? 0)).toBe(saved);
      expect(saved).toBeGreaterThan(0);
    });
  });

const ACCOUNTED: [string, () => Promise<PreparedModel>][] = [
  ['resnet18', () => prepare('resnet18', resnet18({ image: 64, classes: 10, widthMultiplier: 0.5 }))],
];
const ACCOUNTED_SHARED: [string, () => Promise<PreparedModel>][] = [
  ['squeezenet', () => prepareShared('squeezenet')],
  ['shufflenet-v2-12-int8', () => prepareShared('shufflenet-v2-12-int8')],
  ['yunet_n_dynamic', () => prepareShared('yunet_n_dynamic', { height: 320, width: 320 })],
];

describe('sessionLayerTimes()', () => {
  test.each(LONG && present ? [...ACCOUNTED, ...ACCOUNTED_SHARED] : ACCOUNTED)(
    'accounts for a run of %s within 10 %%, with every node in the list',
    { retry: 3 },
    async (_, prepareIt) => {
      const prepared = await prepareIt();
      const path = join(scratch, 'layers.onnx');
      writeFileSync(path, prepared.model.bytes);
      const executor = await startExecutor(CPU);
      try {
        const times = await sessionLayerTimes(executor, {
          model: prepared.model,
          path,
          feeds: prepared.request,
          runs: 3,
        });
        expect(times.layerUs).toHaveLength(prepared.layers.length);
        expect(times.accountedFor).toBeGreaterThan(0.9);
        expect(times.accountedFor).toBeLessThan(1.1);
        expect(times.unmapped).toBe(0);
        expect(times.layerUs.filter((us) => us > 0).length).toBeGreaterThan(0.95 * prepared.layers.length);
      } finally {
        await executor.close();
        rmSync(path);
      }
    },
  );
});

describe('profileModel()', () => {
  let prepared: PreparedModel;
  let profile: Profile;
  const events: ProgressEvent[] = [];
  beforeAll(async () => {
    prepared = await prepare('chain', convChain(6));
    const gpu: NamedDevice = { className: 'gpu', device: { provider: 'cuda', deviceId: 0 } };
    profile = await profileModel(prepared, {
      devices: [fast, slow, gpu],
      batchSizes: [2, 1],
      partition: { blocks: 3 },
      limits: QUICK,
      onProgress: (event) => events.push(event),
      date: '2026-01-01',
    });
  });

  test('fills every cell and gives a valid profile', () => {
    expect(() => parseArtifact(JSON.stringify(profile), 'p.json', ['profile'])).not.toThrow();
    expect(profile.measurement).toMatchObject({ complete: true, date: '2026-01-01', ...QUICK });
    expect(Object.keys(profile.devices)).toEqual(['fast', 'slow']);
    for (const { blockLatencyUs, blockLatencyP95Us, loadMs } of Object.values(profile.devices)) {
      for (const batch of ['1', '2']) {
        const row = blockLatencyUs['1']?.[batch] ?? [];
        expect(row).toHaveLength(3);
        row.forEach((us, i) => {
          expect(us).toBeGreaterThan(0);
          expect(blockLatencyP95Us?.['1']?.[batch]?.[i]).toBeGreaterThanOrEqual(us ?? 0);
        });
      }
      expect(loadMs?.every((ms) => (ms ?? 0) > 0)).toBe(true);
    }
    expect(profile.devices.slow).toMatchObject({ slowdown: 3, emulated: true, provider: 'cpu', threads: 1 });
    expect(profile.devices.fast?.emulated).toBeUndefined();
  });

  test("lists every node once in blocks and once in layers, and the layers' times add up to the whole model's", () => {
    const names = prepared.layers.map(({ name }) => name);
    expect(profile.blocks.flatMap(({ nodes }) => nodes ?? [])).toEqual(names);
    for (const { layerLatencyUs, wholeLatencyUs } of Object.values(profile.devices)) {
      const layers = layerLatencyUs?.['1']?.['2'] ?? [];
      expect(layers).toHaveLength(names.length);
      expect(total(layers) / (wholeLatencyUs?.['1']?.['2'] ?? 0)).toBeCloseTo(1, 3);
    }
  });

  test('times pairs of neighbouring blocks in one piece, and says what they predict of the whole model', () => {
    const { fast: device } = profile.devices;
    const pairs = device?.pairLatencyUs?.['1']?.['1'] ?? [];
    expect(pairs).toHaveLength(profile.blocks.length - 1);
    const blocks = device?.blockLatencyUs['1']?.['1'] ?? [];
    const [a = 0, b = 0, c = 0] = blocks.map((us) => us ?? 0);
    const [ab = 0, bc = 0] = pairs.map((us) => us ?? 0);
    const ratio = Math.max(ab + bc - b, Math.max(a, b, c) / 2) / (device?.wholeLatencyUs?.['1']?.['1'] ?? 0);
    expect(profile.measurement?.predictedOverWhole?.fast?.['1']?.['1']).toBeCloseTo(ratio, 2);
  });

  test('gives the sum of the blocks over the whole model', () => {
    const { fast: device } = profile.devices;
    const ratio =
      total(device?.blockLatencyUs['1']?.['1'] ?? []) / (device?.wholeLatencyUs?.['1']?.['1'] ?? 0);
    expect(profile.measurement?.blockSumOverWhole?.fast?.['1']?.['1']).toBeCloseTo(ratio, 2);
  });

  test('reports a missing device and continues with the others', () => {
    const gone = events.filter((event) => event.kind === 'unavailable');
    expect(gone).toMatchObject([{ className: 'gpu', missing: expect.stringMatching(/cuda/i) }]);
    const progress = events.flatMap((event) => (event.kind === 'progress' ? [event] : []));
    const groups = new Set(progress.map(({ cells }) => `${cells.className} ${cells.batch}`));
    expect(groups).toEqual(new Set(['fast 1', 'fast 2', 'slow 1', 'slow 2']));
    const done = progress.map((event) => event.done);
    expect(done).toEqual(done.toSorted((a, b) => a - b));
    expect(done[0]).toBe(0);
    expect(new Set(progress.map(({ total }) => total))).toEqual(new Set([2 * 2 * 6]));
    const begun = [...groups].map((name) =>
      progress.find(({ cells }) => `${cells.className} ${cells.batch}` === name),
    );
    expect(begun.map((event) => event?.done)).toEqual([0, 6, 12, 18]);
  });

  test('resumes an interrupted profile: it keeps the figures and measures what is missing', async () => {
    const options = { devices: [fast], batchSizes: [1, 2], partition: { blocks: 3 }, limits: QUICK };
    const abort = new AbortController();
    const part = await profileModel(prepared, {
      ...options,
      signal: abort.signal,
      onProgress: (event) => {
        if (event.kind === 'progress' && event.cells.batch === 2) abort.abort();
      },
    });
    expect(part.measurement?.complete).toBe(false);
    const before = part.devices.fast?.blockLatencyUs['1'];
    expect(before?.['1']?.every((us) => us !== null)).toBe(true);
    expect(before?.['2']).toEqual([null, null, null]);
    const batches = new Set<number>();
    const resumed = await profileModel(prepared, {
      ...options,
      resume: part,
      onProgress: (event) => {
        if (event.kind === 'progress') batches.add(event.cells.batch);
      },
    });
    expect([...batches]).toEqual([2]);
    expect(resumed.measurement?.complete).toBe(true);
    expect(resumed.devices.fast?.blockLatencyUs['1']?.['1']).toEqual(before?.['1']);
    expect(resumed.devices.fast?.layerLatencyUs?.['1']?.['2']).toHaveLength(prepared.layers.length);
  });

  test('gives a checkpoint of what was measured when an error ends the run, and resumes from it', async () => {
    const options = { devices: [fast], batchSizes: [1, 2], partition: { blocks: 3 }, limits: QUICK };
    const fault = new Error('the cable was pulled');
    const checkpoints: Profile[] = [];
    const onCheckpoint = async (kept: Profile): Promise<void> => void checkpoints.push(kept);
    const run = profileModel(prepared, {
      ...options,
      onCheckpoint,
      onProgress: (event) => {
        if (event.kind === 'progress' && event.cells.batch === 2) throw fault;
      },
    });
    await expect(run).rejects.toBe(fault);
    expect(checkpoints).toHaveLength(1);
    const kept = parseArtifact(JSON.stringify(checkpoints[0]), 'p.json', ['profile']).value as Profile;
    expect(kept.measurement).toMatchObject({ complete: false, partition: { method: 'greedy', blocks: 3 } });
    const before = kept.devices.fast?.blockLatencyUs['1'];
    expect(before?.['1']?.every((us) => us !== null)).toBe(true);
    expect(before?.['2']).toEqual([null, null, null]);
    const resumed = await profileModel(prepared, { ...options, resume: kept });
    expect(resumed.measurement?.complete).toBe(true);
    expect(resumed.devices.fast?.blockLatencyUs['1']?.['1']).toEqual(before?.['1']);
  });

  test('ends with the error of its checkpoint, but prefers to report an earlier one', async () => {
    const options = { devices: [fast], batchSizes: [1], limits: QUICK, blocksOf: profile };
    const full = new Error('the disk is full');
    const onCheckpoint = () => Promise.reject(full);
    await expect(profileModel(prepared, { ...options, onCheckpoint })).rejects.toBe(full);
    const fault = new Error('the cable was pulled');
    const run = profileModel(prepared, {
      ...options,
      onCheckpoint,
      onProgress: (event) => {
        if (event.kind === 'warning' || event.kind === 'progress') throw fault;
      },
    });
    await expect(run).rejects.toBe(fault);
  });

  test('keeps the blocks of the profile that it resumes, and refuses other blocks that are asked for', async () => {
    const options = { devices: [fast], batchSizes: [1], limits: QUICK, resume: profile };
    expect(profile.measurement?.partition).toEqual({ method: 'greedy', blocks: 3 });
    const whole = { method: 'greedy', blocks: 3 } as const;
    for (const partition of cases([undefined, whole], [undefined, {}, { blocks: 3 }, whole])) {
      const resumed = await profileModel(prepared, { ...options, ...(partition ? { partition } : {}) });
      expect(resumed.blocks).toEqual(profile.blocks);
      expect(resumed.measurement?.partition).toEqual({ method: 'greedy', blocks: 3 });
    }
    const partition = { method: 'min-transfer', blocks: 4 } as const;
    await expect(profileModel(prepared, { ...options, partition })).rejects.toThrow(
      /begun with 3 blocks, not 4[\s\S]*begun with method greedy, not min-transfer/,
    );
  });

  test('refuses to resume a profile of another model, limit or device, and names all differences', async () => {
    const resume = { ...profile, model: { ...profile.model, sha256: 'f'.repeat(64) } };
    const run = profileModel(prepared, {
      devices: [{ className: 'slow', device: CPU }],
      batchSizes: [1],
      limits: { ...QUICK, minMs: 7 },
      resume,
    });
    await expect(run).rejects.toThrow(
      /digest differs[\s\S]*minMs 1, not 7[\s\S]*class slow .* another device/,
    );
  });

  test('measures another machine’s blocks by the nodes they hold, and refuses blocks of another model', async () => {
    const blocksOf = { ...profile, blocks: profile.blocks };
    const again = await profileModel(prepared, { devices: [fast], batchSizes: [1], limits: QUICK, blocksOf });
    expect(again.blocks).toEqual(profile.blocks);
    const foreign = { ...profile, blocks: [{ nodes: ['nowhere'], cutBytes: 0 }, { cutBytes: 0 }] };
    const run = profileModel(prepared, {
      devices: [fast],
      batchSizes: [1],
      limits: QUICK,
      blocksOf: foreign,
    });
    await expect(run).rejects.toThrow(
      /block 0: node nowhere is .* here[\s\S]*block 1: it does not say which nodes/,
    );
  });

  test('refuses sizes, limits and classes that make no sense, all at once', async () => {
    const run = profileModel(prepared, {
      devices: [fast, fast, { className: 'big', device: { provider: 'cpu', threads: 512 } }],
      batchSizes: [0, 1.5],
      virtualSizes: { fast: [2] },
      limits: { minRuns: 0, minMs: 50, maxMs: 10 },
    });
    await expect(run).rejects.toThrow(/not 0, 1\.5/);
    await expect(run).rejects.toThrow(/fast is given twice/);
    await expect(run).rejects.toThrow(/512/);
    await expect(run).rejects.toThrow(/2 virtual GPUs cannot share/);
    await expect(run).rejects.toThrow(/at least 0 runs/);
    await expect(run).rejects.toThrow(/`maxMs` is 10, less than `minMs`, which is 50/);
  });

  test('throws when all of the devices are missing', async () => {
    const gpu: NamedDevice = { className: 'gpu', device: { provider: 'cuda', deviceId: 0 } };
    await expect(profileModel(prepared, { devices: [gpu], batchSizes: [1] })).rejects.toBeInstanceOf(
      MissingError,
    );
  });

  test('throws the signal’s reason when it is aborted before the blocks are known', async () => {
    const reason = new Error('enough');
    const run = profileModel(prepared, {
      devices: [fast],
      batchSizes: [1],
      signal: AbortSignal.abort(reason),
    });
    await expect(run).rejects.toBe(reason);
  });
});

test('profileModel() measures virtual GPUs at once where the host has the threads', async () => {
  const { hostThreads } = await import('../../src/execution/index.js');
  if (hostThreads() < 2) return;
  const prepared = await prepare('pair', convChain(2));
  const pair: NamedDevice = { className: 'pair', device: { provider: 'cpu', threads: 2 } };
  const profile = await profileModel(prepared, {
    devices: [pair],
    batchSizes: [1],
    virtualSizes: { pair: [2, 1] },
    partition: { blocks: 2 },
    limits: QUICK,
  });
  const { blockLatencyUs, layerLatencyUs } = profile.devices.pair!;
  expect(Object.keys(blockLatencyUs)).toEqual(['1', '2']);
  expect(blockLatencyUs['2']?.['1']?.every((us) => (us ?? 0) > 0)).toBe(true);
  expect(Object.keys(layerLatencyUs ?? {})).toEqual(['1', '2']);
});
