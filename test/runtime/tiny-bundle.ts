import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { saveArtifact, sha256OfFile } from '../../src/artifacts/index.js';
import type { TensorData, Tensors } from '../../src/execution/index.js';
import {
  type Bundle,
  type BundledDevice,
  type PlanServing,
  sha256Of,
  type TensorSpec,
} from '../../src/formats/index.js';
import { streamOf } from '../../src/random/index.js';
import { type RunningServer, type ServeOptions, startServer } from '../../src/runtime/index.js';
import { type PipelineShape, planOf } from '../serving/plans.js';

const { onnx } = createRequire(import.meta.url)('onnx-proto') as typeof import('onnx-proto');

export const WIDTH = 16;
const HIDDEN = 32;
const FLOAT = 1;
const STRING = 8;
const ELEMENT_TYPES: Readonly<Record<string, number>> = {
  float32: FLOAT,
  int64: 7,
  string: STRING,
  uint64: 13,
};

/**
 * The model is h = x·W0 + b (block 0, which also answers `early` = relu(h)), then y = h·W1 + x (block 1, with
 * inputs h and x).
 */
const W0 = matrix('w0', WIDTH * HIDDEN);
const B = matrix('b', HIDDEN);
const W1 = matrix('w1', HIDDEN * WIDTH);

function matrix(name: string, length: number): Float32Array {
  const stream = streamOf(1, name);
  return Float32Array.from({ length }, () => stream.uniform() - 0.5);
}

const row = (name: string, width: number): TensorSpec => ({
  name,
  dtype: 'float32',
  shape: [1, width],
  batchAxis: 0,
});
export const X = row('x', WIDTH);
const H = row('h', HIDDEN);
const EARLY = row('early', HIDDEN);
const Y = row('y', WIDTH);

const NODES = [
  [
    { opType: 'MatMul', input: ['x', 'w0'], output: ['m0'] },
    { opType: 'Add', input: ['m0', 'b'], output: ['h'] },
    { opType: 'Relu', input: ['h'], output: ['early'] },
  ],
  [
    { opType: 'MatMul', input: ['h', 'w1'], output: ['m1'] },
    { opType: 'Add', input: ['m1', 'x'], output: ['y'] },
  ],
];
const WEIGHTS: Record<string, { dims: number[]; data: Float32Array }> = {
  w0: { dims: [WIDTH, HIDDEN], data: W0 },
  b: { dims: [HIDDEN], data: B },
  w1: { dims: [HIDDEN, WIDTH], data: W1 },
};

/** partitionFile makes the ONNX file of blocks [from, to). */
function partitionFile(
  from: number,
  to: number,
): { bytes: Uint8Array; inputs: TensorSpec[]; outputs: TensorSpec[] } {
  const inputs = from === 0 ? [X] : [H, X];
  const outputs = [...(from === 0 ? [EARLY] : []), ...(to === 1 ? [H] : []), ...(to === 2 ? [Y] : [])];
  const nodes = NODES.slice(from, to).flat();
  const used = Object.keys(WEIGHTS).filter((name) => nodes.some((node) => node.input.includes(name)));
  const bytes = modelFile(
    nodes,
    inputs,
    outputs,
    used.map((name) => ({ name, ...WEIGHTS[name]! })),
  );
  return { bytes, inputs, outputs };
}

interface Weight {
  name: string;
  dims: number[];
  /** The numbers, or the bytes of each string. */
  data: Float32Array | readonly Uint8Array[];
}

function modelFile(
  nodes: object[],
  inputs: TensorSpec[],
  outputs: TensorSpec[],
  weights: Weight[],
): Uint8Array {
  const value = (spec: TensorSpec) => ({
    name: spec.name,
    type: {
      tensorType: {
        elemType: ELEMENT_TYPES[spec.dtype],
        shape: {
          dim: spec.shape.map((size, axis) =>
            axis === spec.batchAxis ? { dimParam: 'N' } : { dimValue: size },
          ),
        },
      },
    },
  });
  const model = onnx.ModelProto.fromObject({
    irVersion: 8,
    opsetImport: [{ domain: '', version: 13 }],
    graph: {
      name: 'g',
      node: nodes,
      input: inputs.map(value),
      output: outputs.map(value),
      initializer: weights.map(({ name, dims, data }) => ({
        name,
        dims,
        ...(data instanceof Float32Array
          ? { dataType: FLOAT, rawData: new Uint8Array(data.buffer, data.byteOffset, data.byteLength) }
          : { dataType: STRING, stringData: data }),
      })),
    },
  });
  return onnx.ModelProto.encode(model).finish();
}

/** answerOf gives the model's answer, computed without ONNX Runtime. */
export function answerOf(x: Float32Array): { early: Float32Array; y: Float32Array } {
  const rows = x.length / WIDTH;
  const h = add(multiply(x, W0, rows, WIDTH, HIDDEN), B);
  return { early: h.map((v) => Math.max(v, 0)), y: add(multiply(h, W1, rows, HIDDEN, WIDTH), x) };
}

function multiply(
  a: Float32Array,
  b: Float32Array,
  rows: number,
  inner: number,
  columns: number,
): Float32Array {
  const product = new Float32Array(rows * columns);
  for (let r = 0; r < rows; r++)
    for (let c = 0; c < columns; c++) {
      let sum = 0;
      for (let k = 0; k < inner; k++) sum += a[r * inner + k]! * b[k * columns + c]!;
      product[r * columns + c] = sum;
    }
  return product;
}

function add(a: Float32Array, b: Float32Array): Float32Array {
  return a.map((v, i) => v + b[i % b.length]!);
}

/** isRight says whether outputs are the model's own answer to the inputs. */
export function isRight(inputs: Tensors, outputs: Tensors): boolean {
  const expected = answerOf(inputs.x!.data as Float32Array);
  return (['early', 'y'] as const).every((name) => {
    const got = outputs[name]?.data as Float32Array | undefined;
    return (
      got?.length === expected[name].length && got.every((v, i) => Math.abs(v - expected[name][i]!) < 1e-4)
    );
  });
}

export function inputOf(seed: number, rows = 1): TensorData & { data: Float32Array } {
  const stream = streamOf(seed, 'x');
  const data = Float32Array.from({ length: rows * WIDTH }, () => stream.uniform() * 2 - 1);
  return { dtype: 'float32', dims: [rows, WIDTH], data };
}

export interface BundleShape {
  /**
   * The number of blocks of each partition, per pipeline: [[1, 1]] is two partitions, [[2]] the whole model.
   */
  pipelines: { shape: PipelineShape; blocks: number[] }[];
  devices: Record<string, BundledDevice>;
  sloMs: number;
  name?: string;
  /** A model that replaces the generated one. */
  model?: TestModel;
  /** The notes of the plan. */
  notes?: string[];
  /** The scheduler of the plan. */
  serving?: PlanServing;
}

export interface TestModel {
  inputs: TensorSpec[];
  outputs: TensorSpec[];
  file: (from: number, to: number) => { bytes: Uint8Array; inputs: TensorSpec[]; outputs: TensorSpec[] };
}

const TINY: TestModel = { inputs: [X], outputs: [EARLY, Y], file: partitionFile };

/**
 * lookup makes the model y = table[ids]. ONNX Runtime refuses a batch with an index past the table's eight
 * rows.
 */
export function lookup(): TestModel {
  const ids: TensorSpec = { name: 'ids', dtype: 'int64', shape: [1, 2], batchAxis: 0 };
  const y: TensorSpec = { name: 'y', dtype: 'float32', shape: [1, 2, 3], batchAxis: 0 };
  const table = { name: 'table', dims: [8, 3], data: Float32Array.from({ length: 24 }, (_, i) => i) };
  const nodes = [{ opType: 'Gather', input: ['table', 'ids'], output: ['y'] }];
  const bytes = modelFile(nodes, [ids], [y], [table]);
  return { inputs: [ids], outputs: [y], file: () => ({ bytes, inputs: [ids], outputs: [y] }) };
}

/**
 * echo makes the model y = x, of one element a row. Of strings it also gives `told`, which is the same `constant` for all
 * rows.
 */
export function echo(dtype: string, constant?: Uint8Array): TestModel {
  const x: TensorSpec = { name: 'x', dtype, shape: [1, 1], batchAxis: 0 };
  const y = { ...x, name: 'y' };
  const told: TensorSpec = { name: 'told', dtype, shape: [1] };
  const nodes = [
    { opType: 'Identity', input: ['x'], output: ['y'] },
    ...(constant === undefined ? [] : [{ opType: 'Identity', input: ['c'], output: ['told'] }]),
  ];
  const outputs = constant === undefined ? [y] : [y, told];
  const weights = constant === undefined ? [] : [{ name: 'c', dims: [1], data: [constant] }];
  const bytes = modelFile(nodes, [x], outputs, weights);
  return { inputs: [x], outputs, file: () => ({ bytes, inputs: [x], outputs }) };
}

/** words makes a model of two partitions: the first gives the word of each row's id, and the second gives it on as `z`. */
export function words(table: readonly string[]): TestModel {
  const ids: TensorSpec = { name: 'ids', dtype: 'int64', shape: [1, 1], batchAxis: 0 };
  const y: TensorSpec = { name: 'y', dtype: 'string', shape: [1, 1], batchAxis: 0 };
  const z: TensorSpec = { ...y, name: 'z' };
  const data = table.map((word) => new TextEncoder().encode(word));
  const weight = { name: 'table', dims: [table.length], data };
  const first = modelFile(
    [{ opType: 'Gather', input: ['table', 'ids'], output: ['y'] }],
    [ids],
    [y],
    [weight],
  );
  const second = modelFile([{ opType: 'Identity', input: ['y'], output: ['z'] }], [y], [z], []);
  return {
    inputs: [ids],
    outputs: [z],
    file: (from) =>
      from === 0
        ? { bytes: first, inputs: [ids], outputs: [y] }
        : { bytes: second, inputs: [y], outputs: [z] },
  };
}

/** onePartition serves a model whole on one device. */
export function onePartition(
  model: TestModel,
  { batch = 4, sloMs = 10_000, slowdown }: { batch?: number; sloMs?: number; slowdown?: number } = {},
): BundleShape {
  const device = { provider: 'cpu', threads: 1, ...(slowdown === undefined ? {} : { slowdown }) };
  const part = { batch, latencyUs: () => 500 };
  return {
    pipelines: [{ shape: { throughputRps: 1000, parts: [part] }, blocks: [1] }],
    devices: { cpu: device },
    sloMs,
    model,
  };
}

/** twoPartitions has two partitions with one device each. */
export function twoPartitions(batch = 4, sloMs = 200, latencyUs = 500, slowdown?: number): BundleShape {
  const part = { batch, latencyUs: () => latencyUs };
  const device = { provider: 'cpu', threads: 1, ...(slowdown === undefined ? {} : { slowdown }) };
  return {
    pipelines: [{ shape: { throughputRps: (1e6 * batch) / latencyUs, parts: [part, part] }, blocks: [1, 1] }],
    devices: { cpu: device },
    sloMs,
  };
}

/** uncut has the whole model on one device, so that its server has one executor to start. */
export function uncut(batch = 4, sloMs = 200): BundleShape {
  const part = { batch, latencyUs: () => 1000 };
  return {
    pipelines: [{ shape: { throughputRps: 1000 * batch, parts: [part] }, blocks: [2] }],
    devices: { cpu: { provider: 'cpu', threads: 1 } },
    sloMs,
  };
}

/** writeBundle writes a bundle to a fresh folder. */
export async function writeBundle(
  shape: BundleShape,
): Promise<{ folder: string; remove: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'inferplan-bundle-'));
  await mkdir(join(folder, 'partitions'));
  const plan = planOf([{ sloMs: shape.sloMs, pipelines: shape.pipelines.map((p) => p.shape) }]);
  const { name = 'tiny', model = TINY } = shape;
  plan.models[0]!.name = name;
  plan.models[0]!.blocks = shape.pipelines[0]!.blocks.reduce((sum, blocks) => sum + blocks, 0);
  if (shape.notes !== undefined) plan.notes = shape.notes;
  if (shape.serving !== undefined) plan.serving = shape.serving;
  const partitions: Bundle['partitions'] = [];
  for (const [p, { blocks }] of shape.pipelines.entries()) {
    let from = 0;
    for (const [k, count] of blocks.entries()) {
      const to = from + count;
      plan.models[0]!.pipelines[p]!.partitions[k]!.blocks = [from, to];
      const file = `partitions/${from}-${to}.onnx`;
      const { bytes, inputs, outputs } = model.file(from, to);
      if (!partitions.some((part) => part.file === file)) {
        await writeFile(join(folder, file), bytes);
        partitions.push({ file, sha256: sha256Of(bytes), model: 0, from, to, inputs, outputs });
      }
      from = to;
    }
  }
  plan.cluster.devices = Object.fromEntries(Object.keys(shape.devices).map((d) => [d, { count: 10 }]));
  await saveArtifact<'pooled-plan'>(join(folder, 'plan.json'), plan);
  await saveArtifact<'bundle'>(join(folder, 'manifest.json'), {
    kind: 'bundle',
    version: '1.0',
    target: 'local',
    plan: { path: 'plan.json', sha256: await sha256OfFile(join(folder, 'plan.json')) },
    models: [{ name, inputs: model.inputs, outputs: model.outputs }],
    partitions,
    devices: shape.devices,
  });
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}

/** serveBundle writes a bundle and serves it, until `close` ends the server and removes the bundle. */
export async function serveBundle(
  shape: BundleShape,
  options: ServeOptions = {},
): Promise<{ server: RunningServer; folder: string; close: () => Promise<void> }> {
  const { folder, remove } = await writeBundle(shape);
  const server = await startServer(folder, { port: 0, ...options });
  const close = async () => {
    await server.close();
    await remove();
  };
  return { server, folder, close };
}
