import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { saveArtifact, sha256OfFile } from '../../../src/artifacts/index.js';
import { type Bundle, sha256Of, type TensorSpec, type WorkflowPlan } from '../../../src/formats/index.js';
import { tinyModel } from '../../execution/tiny-models.js';
import { madeDevices, madePlan } from '../../plans/workflow/made-workflows.js';

const row = (name: string): TensorSpec => ({ name, dtype: 'float32', shape: [1, 2], batchAxis: 0 });
const rows = (...names: string[]) =>
  Object.fromEntries(names.map((name) => [name, ['float32', ['rows', 2]] as [string, (number | string)[]]]));

const node = (op: string, ...inputs: string[]) => ({ op, inputs, outputs: ['y'] });

/** COMPONENTS compute with two numbers a row, which are whole where those that they are given are. */
export const COMPONENTS = {
  double: { inputs: ['x'], node: node('Add', 'x', 'x') },
  add: { inputs: ['a', 'b'], node: node('Add', 'a', 'b') },
  square: { inputs: ['x'], node: node('Mul', 'x', 'x') },
};

/** PROGRAM doubles until the first number is above 100, and then adds or squares. What it adds is in `z` besides. */
export const PROGRAM = `
import { LIMIT } from './limit.mjs';
const pair = (name) => ({ name, datatype: 'FP32', shape: [-1, 2] });
export const inputs = [pair('x')];
export const outputs = [pair('y'), pair('z')];
export default async function (request, { call }) {
  const { data } = await request.read('x', 'FP32');
  if (data[0] === 13) throw new Error('thirteen');
  let last = request.in('x');
  for (let first = data[0]; first > 0 && first <= LIMIT; ) {
    const doubled = call('double', { x: last });
    last = doubled.out('y');
    first = (await doubled.read('y', 'FP32')).data[0];
  }
  if (data[1] % 2 === 0) return { y: call('square', { x: last }).out('y') };
  const sum = call('add', { a: last, b: request.in('x') });
  return { y: sum.out('y'), z: last };
}
`;

/** byHand gives what the program answers for a row. */
export function byHand(x: readonly [number, number]): { readonly y: number[]; readonly z?: number[] } {
  let last: readonly [number, number] = x;
  while (last[0] > 0 && last[0] <= 100) last = [2 * last[0], 2 * last[1]];
  if (x[1] % 2 === 0) return { y: [last[0] ** 2, last[1] ** 2] };
  return { y: [last[0] + x[0], last[1] + x[1]], z: [...last] };
}

/** tinyPlan has devices of which each holds one of the three components at a time, unless they have more memory. */
export function tinyPlan({
  devices = 2,
  memoryGiB = 1,
}: {
  readonly devices?: number;
  readonly memoryGiB?: number;
} = {}): WorkflowPlan {
  const plan = madePlan();
  const names = Object.keys(COMPONENTS);
  return {
    ...plan,
    cluster: {
      networkGbps: 80,
      devices: { cpu: { count: devices, perServer: devices, memoryGiB, hostMemoryGiB: 8, gpuLinkGbps: 80 } },
    },
    components: names.map((name) => ({
      name,
      model: name,
      memoryBytes: 600 * 2 ** 20,
      classes: [
        { device: 'cpu', batch: 4, latencyUsByBatch: [500, 600, 700, 800], loadUs: 2000, diskUs: 2000 },
      ],
    })),
    workflows: [
      {
        name: 'loop',
        share: 1,
        program: 'loop.mjs',
        chain: {
          requestBytes: 8,
          start: 'double',
          steps: [{ name: 'double', calls: [{ component: 'double', inputs: ['request'], outputBytes: 8 }] }],
        },
        frequencies: [
          { after: [], component: 'double', inputs: [0], rows: 1, count: 52, outputBytes: 8 },
          { after: ['double'], count: 52 },
        ],
      },
    ],
    placement: madeDevices('cpu-0', devices, { class: 'cpu', holds: [] }).map((device, d) => ({
      ...device,
      holds: [names[d % names.length]!],
    })),
    sample: {
      ...plan.sample,
      workflows: [{ name: 'loop', requests: 52, meanMs: 30, p50Ms: 20, p95Ms: 80, p99Ms: 90 }],
    },
  };
}

/** modelOf gives the ONNX file of a component. */
export function modelOf(name: string): Uint8Array {
  const { inputs, node } = COMPONENTS[name as keyof typeof COMPONENTS];
  return tinyModel({ nodes: [node], inputs: rows(...inputs), outputs: rows('y') });
}

/**
 * writeWorkflowBundle writes the bundle of a workflow plan of these components to a fresh folder.
 * @param change changes the manifest before it is written
 */
export async function writeWorkflowBundle(
  plan: WorkflowPlan,
  {
    program = PROGRAM,
    change,
  }: { readonly program?: string; readonly change?: (manifest: Bundle) => void } = {},
): Promise<{ folder: string; remove: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'inferplan-workflow-bundle-'));
  for (const name of ['models', 'programs']) await mkdir(join(folder, name));
  await saveArtifact<'workflow-plan'>(join(folder, 'plan.json'), plan);
  const components = plan.components.map(({ name }) => ({
    name,
    file: `models/${name}.onnx`,
    sha256: sha256Of(modelOf(name)),
    inputs: COMPONENTS[name as keyof typeof COMPONENTS].inputs.map(row),
    outputs: [row('y')],
  }));
  for (const { name, file } of components) await writeFile(join(folder, file), modelOf(name));
  const limit = 'export const LIMIT = 100;\n';
  await writeFile(join(folder, 'programs/loop.mjs'), program);
  await writeFile(join(folder, 'programs/limit.mjs'), limit);
  const manifest: Bundle = {
    kind: 'bundle',
    version: '1.3',
    target: 'local',
    plan: { path: 'plan.json', sha256: await sha256OfFile(join(folder, 'plan.json')) },
    models: [{ name: 'loop', inputs: [row('x')], outputs: [row('y'), row('z')] }],
    partitions: [],
    components,
    programs: [
      {
        workflow: 'loop',
        file: 'programs/loop.mjs',
        sha256: sha256Of(program),
        modules: [{ path: 'programs/limit.mjs', sha256: sha256Of(limit) }],
      },
    ],
    devices: { cpu: { provider: 'cpu', threads: 1 } },
  };
  change?.(manifest);
  await saveArtifact<'bundle'>(join(folder, 'manifest.json'), manifest);
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}
