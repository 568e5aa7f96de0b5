import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { GraphBuilder } from '../../examples/models/graph.js';
import { type Profile, sha256Of, type TensorSpec } from '../../src/formats/index.js';
import { plan } from './program.js';

/** WIDTH is the width of the rows that the first model takes. */
export const WIDTH = 8;
const HIDDEN = 12;
/** TABLE_ROWS is the number of rows that the second model looks up. ONNX Runtime refuses a batch with another index. */
export const TABLE_ROWS = 6;
const TABLE_WIDTH = 3;

/** Material is a folder with a valid file of every kind, all made from one another. */
export interface Material {
  readonly folder: string;
  /** Paths in the folder, by role. */
  readonly files: typeof FILES;
}

const FILES = {
  cluster: 'cluster.yaml',
  spec: 'spec.yaml',
  profiles: ['dense.profile.json', 'lookup.profile.json'],
  models: ['dense.onnx', 'lookup.onnx'],
  plan: 'plan.json',
  report: 'report.json',
  sweep: 'sweep.json',
  schedulers: 'schedulers.json',
  bundle: 'bundle',
} as const;

const CLUSTER = `kind: cluster
devices:
  fast: { count: 1, perServer: 1, virtual: [1, 2], memoryGiB: 4, hourlyCost: 0.5, powerWatts: 70 }
  slow: { count: 1, perServer: 1, virtual: [1, 2], memoryGiB: 4, hourlyCost: 0.2, powerWatts: 30 }
  spot: { as: slow, count: 0, perServer: 1, virtual: [1, 2], memoryGiB: 4, hourlyCost: 0.1, powerWatts: 30 }
networkGbps: 10
`;
const SPEC = `kind: pooled
cluster: cluster.yaml
models:
  - { profile: dense.profile.json, sloMs: 500, weight: 2 }
  - { profile: lookup.profile.json, sloMs: 500, weight: 1 }
`;

/** Emulation makes the devices hold their results back, to many times the time of the small models. */
export interface Emulation {
  /** The factor of the devices. */
  readonly slowdown: number;
  /** The latencies in the profiles are multiplied by this. */
  readonly latencyFactor: number;
}

/**
 * writeMaterial writes two small models with hand-made profiles, a spec, and by the program itself a plan, a report, a
 * sweep, a comparison of schedulers and a bundle.
 */
export async function writeMaterial(folder: string, emulation?: Emulation): Promise<Material> {
  writeModels(folder, emulation);
  writeFileSync(join(folder, FILES.cluster), CLUSTER);
  writeFileSync(join(folder, FILES.spec), SPEC);
  const commands = [
    ['solve', FILES.spec, '-o', FILES.plan],
    ['simulate', FILES.plan, '--duration', '0.2s', '--windows', '0.1s', '-o', FILES.report],
    ['simulate', FILES.plan, '--duration', '0.05s', '--sweep', 'load=0.5..1:2', '-o', FILES.sweep],
    ['simulate', FILES.plan, '--duration', '0.05s', '--schedulers', 'all', '-o', FILES.schedulers],
    ['deploy', FILES.plan, '-o', FILES.bundle],
    ['validate', FILES.plan, FILES.report, FILES.sweep, FILES.schedulers, FILES.bundle],
  ];
  for (const command of commands) {
    const { code, stdout, stderr } = await plan(command, folder);
    if (code !== 0) throw new Error(`plan ${command.join(' ')} ended with ${code}: ${stdout}${stderr}`);
  }
  return { folder, files: FILES };
}

/** writeModels writes the two models and their profiles into a new folder. */
export function writeModels(folder: string, emulation?: Emulation): void {
  mkdirSync(folder);
  for (const { name, bytes, profile } of [dense(), lookup()]) {
    if (emulation !== undefined) emulated(profile, emulation);
    writeFileSync(join(folder, `${name}.onnx`), bytes);
    writeFileSync(join(folder, `${name}.profile.json`), JSON.stringify(profile, undefined, 1));
  }
}

function emulated({ devices }: Profile, { slowdown, latencyFactor }: Emulation): void {
  for (const device of Object.values(devices)) {
    Object.assign(device, { slowdown, emulated: true });
    for (const byBatch of Object.values(device.blockLatencyUs))
      for (const [batch, row] of Object.entries(byBatch))
        byBatch[batch] = row.map((us) => (us === null ? us : us * latencyFactor));
  }
}

interface MadeModel {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly profile: Profile;
}

const row = (name: string, width: number): TensorSpec => ({
  name,
  dtype: 'float32',
  shape: [1, width],
  batchAxis: 0,
});

/** dense makes y = relu(x·W0)·W1 in two blocks. */
function dense(): MadeModel {
  const graph = new GraphBuilder('dense', 1);
  const x = graph.input('x', 'float32', ['batch', WIDTH]);
  const hidden = graph.node('MatMul', [x, graph.weight('w0', [WIDTH, HIDDEN], { reach: 0.5 })], {
    name: 'first',
  });
  const positive = graph.node('Relu', [hidden], { name: 'positive' });
  graph.node('MatMul', [positive, graph.weight('w1', [HIDDEN, WIDTH], { reach: 0.5 })], {
    name: 'second',
    output: 'y',
  });
  graph.output('y', ['batch', WIDTH]);
  const blocks = [
    {
      nodes: ['first', 'positive'],
      cutBytes: 4 * HIDDEN,
      weightBytes: 4 * WIDTH * HIDDEN,
      tensors: [row('positive_out', HIDDEN)],
    },
    { nodes: ['second'], cutBytes: 4 * WIDTH, weightBytes: 4 * WIDTH * HIDDEN, tensors: [row('y', WIDTH)] },
  ];
  return made('dense', graph, [row('x', WIDTH)], [row('y', WIDTH)], blocks);
}

/** lookup makes y = table[ids], whose indices have a range that no shape tells. */
function lookup(): MadeModel {
  const graph = new GraphBuilder('lookup', 1);
  const ids = graph.input('ids', 'int64', ['batch', 2]);
  const table = graph.weight('table', [TABLE_ROWS, TABLE_WIDTH], { reach: 1 });
  graph.node('Gather', [table, ids], { name: 'find', output: 'found' });
  graph.node('Neg', ['found'], { name: 'negate', output: 'y' });
  graph.output('y', ['batch', 2, TABLE_WIDTH]);
  const shape = [1, 2, TABLE_WIDTH];
  const y = { name: 'y', dtype: 'float32', shape, batchAxis: 0 };
  const blocks = [
    {
      nodes: ['find'],
      cutBytes: 24,
      weightBytes: 4 * TABLE_ROWS * TABLE_WIDTH,
      tensors: [{ ...y, name: 'found' }],
    },
    { nodes: ['negate'], cutBytes: 24, weightBytes: 0, tensors: [y] },
  ];
  return made('lookup', graph, [{ name: 'ids', dtype: 'int64', shape: [1, 2], batchAxis: 0 }], [y], blocks);
}

function made(
  name: string,
  graph: GraphBuilder,
  inputs: TensorSpec[],
  outputs: TensorSpec[],
  blocks: Profile['blocks'],
): MadeModel {
  const bytes = graph.bytes();
  // Each class is the better one for one of the blocks, so that plans have partitions on both.
  const latencies = (us: readonly number[]) =>
    Object.fromEntries(
      [1, 2].map((virtual) => [
        virtual,
        Object.fromEntries(
          [1, 2, 4].map((batch) => [batch, us.map((one) => one * virtual * (1 + batch / 4))]),
        ),
      ]),
    );
  const device = (us: readonly number[]) => ({ provider: 'cpu', threads: 1, blockLatencyUs: latencies(us) });
  const profile: Profile = {
    kind: 'profile',
    version: '1.0',
    model: { name, file: `${name}.onnx`, sha256: sha256Of(bytes), inputs, outputs },
    blocks,
    devices: { fast: device([2000, 9000]), slow: device([12000, 4000]) },
  };
  return { name, bytes, profile };
}
