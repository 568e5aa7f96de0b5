import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { resnet18 } from '../../../../examples/models/resnet18.js';
import { partitionModelFile } from '../../../../src/api/index.js';
import {
  type DeviceProfile,
  emittedHead,
  inputFile,
  type PooledPlan,
  type Profile,
  saveArtifact,
  servingMarks,
  sha256OfFile,
} from '../../../../src/artifacts/index.js';
import { solveSpec } from '../../../../src/specs/index.js';

const PIXELS = 16;
const BATCHES = [1, 2, 4];

/** How the class is run: a GPU, or processor cores. */
const RUNS: Record<'gpu' | 'cpu', Pick<DeviceProfile, 'provider' | 'threads' | 'deviceId'>> = {
  gpu: { provider: 'cuda', deviceId: 0 },
  cpu: { provider: 'cpu', threads: 1 },
};

export type DeviceKind = keyof typeof RUNS;

/** profiled writes a small model and its profile, with times that are made up: so many ms a block, and a tenth more for each row. */
export async function profiled(
  folder: string,
  name: string,
  {
    on,
    blocks = 1,
    ms = 2,
    seed = 1,
    virtual = [1],
  }: { on: DeviceKind; blocks?: number; ms?: number; seed?: number; virtual?: number[] },
): Promise<Profile> {
  const at = (file: string) => join(folder, file);
  await writeFile(at(`${name}.onnx`), resnet18({ image: PIXELS, classes: 3, widthMultiplier: 0.125, seed }));
  const output = at(`${name}.json`);
  await partitionModelFile(at(`${name}.onnx`), {
    ...{ devices: ['cpu:1'], blocks, method: 'greedy', boundary: 'exact', output },
  });
  const profile = JSON.parse(await readFile(output, 'utf8')) as Profile;
  const times = (v: number) =>
    Object.fromEntries(BATCHES.map((b) => [b, profile.blocks.map(() => v * ms * (1000 + 100 * (b - 1)))]));
  profile.devices = {
    [on]: { ...RUNS[on], blockLatencyUs: Object.fromEntries(virtual.map((v) => [v, times(v)])) },
  };
  await writeFile(output, JSON.stringify(profile));
  return profile;
}

/** GivenPart is a partition of a given plan, and on which virtual GPUs it is. */
interface GivenPart {
  readonly blocks: [number, number];
  readonly batch: number;
  readonly virtual: number;
  readonly on: readonly { readonly server: string; readonly gpu: number }[];
}

/** givenPooled writes a plan of one model with the given pipelines, and gives its path. */
export async function givenPooled(
  folder: string,
  {
    on,
    pipelines,
    sloMs = 60,
  }: { on: DeviceKind; pipelines: readonly (readonly GivenPart[])[]; sloMs?: number },
): Promise<string> {
  const profile = await profiled(folder, 'eye', { on, blocks: 3, virtual: [1, 2] });
  const path = join(folder, 'plan.json');
  const latencies = ({ blocks: [from, to], batch, virtual }: GivenPart): (number | null)[] =>
    Array.from({ length: batch }, (_, i) => {
      const us = profile.devices[on]?.blockLatencyUs?.[virtual]?.[i + 1]?.slice(from, to) as
        | number[]
        | undefined;
      return us === undefined ? null : us.reduce((sum, one) => sum + one, 0);
    });
  const rate = (part: GivenPart) => (1e6 * part.on.length * part.batch) / (latencies(part).at(-1) as number);
  const planned = pipelines.map((parts) => ({
    throughputRps: Math.min(...parts.map(rate)),
    batch: (parts[0] as GivenPart).batch,
    latencyUs: parts.reduce((sum, part) => sum + (latencies(part).at(-1) as number), 0),
    partitions: parts.map((part, k) => ({
      ...{ blocks: part.blocks, device: on, virtual: part.virtual, virtualGpus: part.on.length },
      ...{ gpus: part.on.length / part.virtual, batch: part.batch, latencyUsByBatch: latencies(part) },
      ...{
        throughputRps: rate(part),
        transferBytes: k === parts.length - 1 ? 0 : (profile.blocks[part.blocks[1] - 1]?.cutBytes ?? 0),
      },
      ...(k === parts.length - 1 ? {} : { tensors: profile.blocks[part.blocks[1] - 1]?.tensors ?? [] }),
    })),
  }));
  const throughputRps = planned.reduce((sum, one) => sum + one.throughputRps, 0);
  const used = planned.reduce(
    (sum, { partitions }) => sum + partitions.reduce((all, one) => all + one.gpus, 0),
    0,
  );
  const sha256 = await sha256OfFile(join(folder, 'eye.json'));
  const plan: PooledPlan = {
    ...emittedHead('pooled-plan', [inputFile('profile', { path: join(folder, 'eye.json'), sha256 }, path)]),
    status: 'optimal',
    objective: { kind: 'throughput', value: throughputRps, bound: throughputRps, gap: 0 },
    cluster: { devices: { [on]: { count: 8, perServer: 4, virtual: [1, 2] } } },
    planner: { maxPartitions: 3, unifiedBatch: false, linkThroughput: false },
    models: [
      {
        ...{
          name: 'eye',
          sloMs,
          sloMarginMs: 0,
          weight: 1,
          throughputRps,
          blocks: 3,
          ...servingMarks(profile.model),
        },
        ...{ boundary: 'exact', inputBytes: 4 * 3 * PIXELS ** 2 },
        ...{ inputs: profile.model.inputs ?? [], outputs: profile.model.outputs ?? [], pipelines: planned },
      },
    ],
    classes: { [on]: { used, count: 8 } },
    placement: pipelines.flatMap((parts, pipeline) =>
      parts.flatMap(({ on: places, virtual }, partition) =>
        places.map(({ server, gpu }) => ({ server, gpu, class: on, virtual, model: 0, pipeline, partition })),
      ),
    ),
  };
  await saveArtifact<'pooled-plan'>(path, plan);
  return path;
}

/** Places on servers of the class `gpu` or `cpu` with four devices each. */
export const place = (server: string, ...gpus: number[]) => gpus.map((gpu) => ({ server, gpu }));

/** twoPipelines are one of two stages on the first server, the first of which halves a GPU, and a whole model on both. */
export function twoPipelines(on: DeviceKind): readonly (readonly GivenPart[])[] {
  return [
    [
      { blocks: [0, 1], batch: 2, virtual: 2, on: place(`${on}-0`, 0, 0) },
      { blocks: [1, 3], batch: 2, virtual: 1, on: place(`${on}-0`, 1, 2) },
    ],
    [{ blocks: [0, 3], batch: 4, virtual: 1, on: [...place(`${on}-0`, 3), ...place(`${on}-1`, 0, 1, 2, 3)] }],
  ];
}

/** solved solves a spec that names profiles beside it, and gives the path of its plan. */
export async function solved(folder: string, spec: string): Promise<string> {
  await writeFile(join(folder, 'spec.yaml'), spec);
  const path = join(folder, 'plan.json');
  const result = await solveSpec(join(folder, 'spec.yaml'), { output: path });
  if (!('plan' in result)) throw new Error(JSON.stringify(result));
  return path;
}
