import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { InputError, MissingError } from '../../src/formats/index.js';
import { readModel } from '../../src/onnx/index.js';
import {
  externalFaults,
  type PreparedModel,
  type PrepareOptions,
  type ProfileOptions,
  prepareModel as prepareInProcesses,
  profileModel as profileInProcesses,
} from '../../src/profiler/index.js';
import { inWholeRun } from '../cases.js';
import { startInProcess } from '../execution/in-process.js';
import * as w from '../onnx/writer.js';

const CPU = { provider: 'cpu', threads: 1 } as const;
const QUICK = { warmupRuns: 0, minRuns: 1, minMs: 0, maxMs: 50 };

/**
 * The model runs in this process, except where a test is about the memory of processes or the output of ONNX Runtime.
 */
const prepareModel = (path: string, options: PrepareOptions) =>
  prepareInProcesses(path, { ...options, startExecutor: startInProcess });
const profileModel = (prepared: PreparedModel, options: ProfileOptions) =>
  profileInProcesses(prepared, { ...options, startExecutor: startInProcess });

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'profiler-made-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** made writes a model x[batch, 4] → y. */
function made(
  nodes: readonly Uint8Array[],
  initializers: readonly Uint8Array[] = [],
  output: readonly (number | string)[] = ['batch', 4],
): string {
  const path = join(folder, 'made.onnx');
  const graph = w.graph({
    nodes,
    initializers,
    inputs: [w.value('x', w.FLOAT, ['batch', 4])],
    outputs: [w.value('y', w.FLOAT, output)],
  });
  writeFileSync(path, w.model(graph));
  return path;
}

const external = {
  nodes: [
    w.node('Add', ['x', 'v'], ['a']),
    w.node('Mul', ['a', 'u'], ['b']),
    w.node('Add', ['b', 'u'], ['y']),
  ],
  initializers: ['v', 'u'].map((name, i) =>
    w.externalFloats(name, [4], { location: 'weights.bin', offset: String(64 * (i + 1)), length: '16' }),
  ),
};

test('a model with external data is profiled without touching its folder', async () => {
  const path = made(external.nodes, external.initializers);
  writeFileSync(
    join(folder, 'weights.bin'),
    new Uint8Array(Float32Array.from({ length: 64 }, (_, i) => i).buffer),
  );
  const prepared = await prepareModel(path, { device: CPU });
  expect(prepared.fixedBatch).toBeUndefined();
  const options = {
    devices: [{ className: 'cpu', device: CPU }],
    batchSizes: [1, 3],
    partition: { method: 'min-transfer', blocks: 3 },
    limits: QUICK,
  } as const;
  const profile = await profileModel(prepared, options);
  expect(profile.measurement?.complete).toBe(true);
  const digest = createHash('sha256')
    .update(readFileSync(join(folder, 'weights.bin')))
    .digest('hex');
  expect(profile.model.data).toEqual([{ path: 'weights.bin', sha256: digest }]);
  const other = {
    ...profile,
    model: { ...profile.model, data: [{ path: 'weights.bin', sha256: '0'.repeat(64) }] },
  };
  await expect(profileModel(prepared, { ...options, resume: other })).rejects.toThrow('other external data');
  expect(profile.blocks.map(({ cutBytes }) => cutBytes)).toEqual([16, 16, 16]);
  expect(readdirSync(folder).sort()).toEqual(['made.onnx', 'weights.bin']);
});

test('external data that is missing, too short or outside the folder is refused', async () => {
  const path = made(external.nodes, external.initializers);
  await expect(prepareModel(path, { device: CPU })).rejects.toBeInstanceOf(MissingError);
  writeFileSync(join(folder, 'weights.bin'), new Uint8Array(100));
  await expect(prepareModel(path, { device: CPU })).rejects.toThrow(/ends before the 16 bytes from 128 on/);
  const outside = [w.floats('v', [4], [1, 2, 3, 4]), w.externalFloats('u', [4], { location: '../secret' })];
  await expect(prepareModel(made(external.nodes, outside), { device: CPU })).rejects.toBeInstanceOf(
    InputError,
  );
});

test('external data that is missing or too short is found without being read', async () => {
  const path = made(external.nodes, external.initializers);
  const faults = () => externalFaults(readModel(readFileSync(path)), path);
  expect(await faults()).toEqual([{ path: 'weights.bin', message: 'there is no such file' }]);
  writeFileSync(join(folder, 'weights.bin'), new Uint8Array(143));
  expect((await faults())[0]?.message).toBe('it has 143 bytes, and the model needs 144');
  writeFileSync(join(folder, 'weights.bin'), new Uint8Array(144));
  expect(await faults()).toEqual([]);
});

inWholeRun(
  'a model that ONNX Runtime does not load, or does not run on such inputs, is reported by its own path',
  async () => {
    const unknown = made([w.node('Fancy', ['x'], ['y'])]);
    const told = `Cannot load ${unknown}: This is an invalid model. In Node, ("Fancy_0", Fancy`;
    await expect(prepareInProcesses(unknown, { device: CPU })).rejects.toThrow(told);
    await expect(prepareInProcesses(unknown, { device: CPU })).rejects.toBeInstanceOf(InputError);
    const toIndex = { attributes: [w.attribute.int('to', w.INT64)] };
    const outside = [
      w.node('Mul', ['x', 'far'], ['f']),
      w.node('Cast', ['f'], ['i'], toIndex),
      w.node('Gather', ['x', 'i'], ['y']),
    ];
    const path = made(outside, [w.floats('far', [1], [1e6])]);
    await expect(prepareInProcesses(path, { device: CPU })).rejects.toThrow(
      /^Cannot run .*made\.onnx: .*indices element out of data bounds.*\n.*`fill` <input>=<number>/s,
    );
  },
);

test('a model that mixes the rows of a batch is profiled at batch 1, with the reason', async () => {
  const mean = w.node('ReduceMean', ['x'], ['m'], { attributes: [w.attribute.ints('axes', [0])] });
  const prepared = await prepareModel(made([mean, w.node('Sub', ['x', 'm'], ['y'])]), { device: CPU });
  expect(prepared.fixedBatch).toBe(1);
  expect(prepared.fixedBatchReason).toMatch(
    /output y: at batch 2 .* is not the two requests' tensors in a row/,
  );
  const profile = await profileModel(prepared, {
    devices: [{ className: 'cpu', device: CPU }],
    batchSizes: [1, 2, 4],
    limits: QUICK,
  });
  expect(profile.model.fixedBatch).toBe(1);
  expect(Object.keys(profile.devices.cpu?.blockLatencyUs['1'] ?? {})).toEqual(['1']);
  expect(profile.measurement?.warnings?.join()).toMatch(/runs at batch 1 only/);
});

test('a batch with a given size keeps it, and a request counts for its share of the bytes', async () => {
  const path = made([w.node('Relu', ['x'], ['a']), w.node('Neg', ['a'], ['y'])]);
  const prepared = await prepareModel(path, { device: CPU, dims: { batch: 2 } });
  expect(prepared.fixedBatch).toBe(2);
  expect(prepared.fixedBatchReason).toMatch(/batch was given the size 2/);
  expect(prepared.inputs).toEqual([{ name: 'x', dtype: 'float32', shape: [2, 4] }]);
  expect(prepared.layers.map(({ cutBytes }) => cutBytes)).toEqual([16, 16]);
  const free = await prepareModel(path, { device: CPU });
  expect(free.fixedBatch).toBeUndefined();
  expect(free.layers.map(({ cutBytes }) => cutBytes)).toEqual([16, 16]);
});

test('a cut is refused where the size of a crossing tensor depends on the data', async () => {
  const nodes = [
    w.node('Greater', ['x', 'half'], ['big']),
    w.node('NonZero', ['big'], ['where']),
    w.node('Cast', ['where'], ['real'], { attributes: [w.attribute.int('to', w.FLOAT)] }),
    w.node('ReduceSum', ['real'], ['sum'], { attributes: [w.attribute.int('keepdims', 0)] }),
    w.node('Sub', ['sum', 'sum'], ['zero']),
    w.node('Add', ['x', 'zero'], ['y']),
  ];
  const path = made(nodes, [w.floats('half', [1], [0.5])]);
  const prepared = await prepareModel(path, { device: CPU, trustBatch: true });
  expect(prepared.fixedBatch).toBeUndefined();
  const why = prepared.layers.map(({ noCut }) => noCut ?? '');
  expect(why[0]).toBe('');
  expect(why[1]).toMatch(
    /"where", made by NonZero_1 and last used by Cast_2, cannot be sent: its size depends on the data/,
  );
  expect(why[3]).toMatch(/"sum", made by .*: it has no batch axis/);
  // It is 0 for any request, which no rule knows.
  expect(why[4]).toMatch(/"zero", made by Sub_4 .*: it is made of the rows of a batch and has no batch axis/);
  expect(codesOf(prepared.layers)).toEqual([[], ['size'], ['size'], ['batch'], ['batch'], []]);
  const alone = await prepareModel(path, { device: CPU });
  expect(alone.fixedBatch).toBe(1);
  expect(codesOf(alone.layers)).toEqual([[], ['size'], ['size'], [], [], []]);
});

/** codesOf gives what stands in the way of each tensor that cannot cross, by layer. */
function codesOf({ cutFaults }: PreparedModel['layers']): string[][] {
  return cutFaults.map((fault) => (fault?.kind === 'tensors' ? fault.tensors.map(({ code }) => code) : []));
}

test('an abort ends the preparation with the signal’s reason', async () => {
  const reason = new Error('enough');
  const path = made([w.node('Relu', ['x'], ['y'])]);
  await expect(prepareModel(path, { device: CPU, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
});

test('blocks are fed the model’s own values: indices stay in range', async () => {
  // The index is always −1, which is valid in a table of one row. A random 1 is not.
  const nodes = [
    w.node('Cast', ['x'], ['i'], { attributes: [w.attribute.int('to', w.INT64)] }),
    w.node('Sub', ['i', 'back'], ['index']),
    w.node('Gather', ['table', 'index'], ['y']),
  ];
  const constants = [w.int64s('back', [1], [1]), w.floats('table', [1], [5])];
  const prepared = await prepareModel(made(nodes, constants), { device: CPU });
  const profile = await profileModel(prepared, {
    devices: [{ className: 'cpu', device: CPU }],
    batchSizes: [1, 2],
    partition: { method: 'min-transfer', blocks: 3 },
    limits: QUICK,
  });
  expect(profile.blocks).toHaveLength(3);
  expect(profile.blocks[1]?.tensors).toMatchObject([{ name: 'index', dtype: 'int64', batchAxis: 0 }]);
  expect(profile.measurement?.complete).toBe(true);
});

test('an input that exceeds any memory is refused before it is made', async () => {
  const path = join(folder, 'large.onnx');
  const large = ['batch', 200_000, 100_000];
  const graph = w.graph({
    nodes: [w.node('Relu', ['x'], ['y'])],
    inputs: [w.value('x', w.FLOAT, large)],
    outputs: [w.value('y', w.FLOAT, large)],
  });
  writeFileSync(path, w.model(graph));
  await expect(prepareModel(path, { device: CPU })).rejects.toThrow(
    /input x float32\[1, 200000, 100000\] is 74\.5 GiB for one request; at most 1 GiB/,
  );
});

test('a model that ONNX Runtime does not load is refused by its own path, without advice about inputs', async () => {
  const path = made([w.node('Frobnicate', ['x'], ['y'])]);
  const refused = await prepareModel(path, { device: CPU }).catch((error: Error) => error.message);
  expect(refused).toMatch(/Frobnicate/);
  expect(refused).not.toMatch(/inferplan-profile-|`fill`/);
});

/** tiled writes a model x[batch, 4] → tiles of `times` × 16 bytes for each request → y[batch, 1]. */
function tiled(times: number): string {
  const nodes = [
    w.node('Tile', ['x', 'repeats'], ['large'], { name: 'enlarge' }),
    w.node('ReduceMax', ['large'], ['y'], { attributes: [w.attribute.ints('axes', [1])] }),
  ];
  return made(nodes, [w.int64s('repeats', [2], [1, times])], ['batch', 1]);
}

test('a model that does not fit in memory is refused before it runs, with that reason', async () => {
  const path = tiled(2 ** 23);
  const refused = await prepareModel(path, { device: CPU, memoryLimitBytes: 2 ** 26 }).catch(
    (error: unknown) => error,
  );
  expect(refused).toBeInstanceOf(InputError);
  const { message } = refused as InputError;
  expect(message).toMatch(
    /^Cannot run .*made\.onnx: the tensors that are needed after node enlarge \(large, 128 MiB\) take 128 MiB for one request, and 64 MiB are allowed\n.*`dim`.*`batch`/,
  );
  expect(message).not.toMatch(/does not take/);
});

test.runIf(process.platform === 'linux')(
  'a model that takes more memory than its shapes show is stopped, with that reason',
  async () => {
    // The model computes the number of tiles in a way that ONNX Runtime cannot follow while it loads the model.
    const nodes = [
      w.node('ReduceMax', ['x'], ['most'], { attributes: [w.attribute.int('keepdims', 0)] }),
      w.node('Sub', ['most', 'most'], ['zero']),
      w.node('Cast', ['zero'], ['whole'], { attributes: [w.attribute.int('to', w.INT64)] }),
      w.node('Add', ['whole', 'repeats'], ['count']),
      w.node('Tile', ['x', 'count'], ['large']),
      w.node('ReduceMax', ['large'], ['y'], { attributes: [w.attribute.ints('axes', [1])] }),
    ];
    const path = made(nodes, [w.int64s('repeats', [2], [1, 2 ** 24])], ['batch', 1]);
    await expect(prepareInProcesses(path, { device: CPU, memoryLimitBytes: 150 * 2 ** 20 })).rejects.toThrow(
      /^Cannot run .*made\.onnx: memory ran out: its process took .*, and 150 MiB are allowed\n.*`dim`/,
    );
  },
);

test('a model that fits in memory with one request but not with two is profiled at batch 1, with the reason', async () => {
  // One request takes 128 MiB.
  const prepared = await prepareModel(tiled(2 ** 23), { device: CPU, memoryLimitBytes: 250 * 2 ** 20 });
  expect(prepared.fixedBatch).toBe(1);
  expect(prepared.fixedBatchReason).toMatch(
    /^it does not run at batch 2: the tensors that are needed .* take 256 MiB for 2 requests at once, and 250 MiB are allowed$/,
  );
});

inWholeRun('batch sizes that do not fit in memory are left out, with a warning', async () => {
  const prepared = await prepareModel(tiled(2 ** 18), { device: CPU });
  const options = {
    devices: [{ className: 'cpu', device: CPU }],
    partition: { method: 'min-transfer', blocks: 2 },
    limits: QUICK,
    memoryLimitBytes: 400 * 2 ** 20,
  } as const;
  const profile = await profileInProcesses(prepared, { ...options, batchSizes: [1, 128, 256] });
  const rows = profile.devices.cpu?.blockLatencyUs['1'] ?? {};
  expect(rows['1']).not.toContain(null);
  expect(rows['128']).toEqual([null, null]);
  expect(profile.measurement?.complete).toBe(false);
  const told = profile.measurement?.warnings?.filter((warning) => warning.includes('not measured'));
  expect(told).toHaveLength(2);
  for (const warning of told!)
    expect(warning).toMatch(
      /^cpu 1\/1 batch (128|256): not measured: .* for \1 requests at once, and 400 MiB are allowed$/,
    );
  await expect(profileInProcesses(prepared, { ...options, batchSizes: [128] })).rejects.toThrow(
    /Cannot time the layers of made: .*memory ran out[\s\S]*`batch`/,
  );
});

test('a model that draws random numbers is reported as such, not only as one that cannot be batched', async () => {
  const draw = w.node('RandomUniformLike', ['x'], ['noise'], { name: 'draw' });
  const prepared = await prepareModel(made([draw, w.node('Add', ['x', 'noise'], ['y'])]), { device: CPU });
  expect(prepared.fixedBatch).toBe(1);
  expect(prepared.fixedBatchReason).toMatch(
    /^output y: its values are random, drawn by RandomUniformLike draw/,
  );
  const devices = [{ className: 'cpu', device: CPU }];
  const profile = await profileModel(prepared, { devices, batchSizes: [1], limits: QUICK });
  expect(profile.measurement?.warnings?.join('\n')).toMatch(
    /the model draws random numbers \(RandomUniformLike draw\)/,
  );
});

test('the temporary folder of a killed process is removed, and that of a living process is kept', async () => {
  const { pid: gone } = spawnSync(process.execPath, ['-e', '']);
  const [left, living, others] = [`${gone}-abcdef`, `${process.ppid}-abcdef`, 'results'].map((name) =>
    join(tmpdir(), `inferplan-profile-${name}`),
  ) as [string, string, string];
  for (const path of [left, living, others]) mkdirSync(path, { recursive: true });
  await prepareModel(made([w.node('Relu', ['x'], ['y'])]), { device: CPU });
  expect([left, living, others].map(existsSync)).toEqual([false, true, true]);
  for (const path of [living, others]) rmSync(path, { recursive: true });
});
