import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { resnet18, unet } from '../../examples/models/index.js';
import { partitionModelFile } from '../../src/api/index.js';
import { emittedHead, inputFile, saveArtifact, sha256OfFile } from '../../src/artifacts/index.js';
import { type DeviceProfile, type PooledPlan, type Profile, servingMarks } from '../../src/formats/index.js';
import { solveSpec } from '../../src/specs/index.js';

const PIXELS = 16;
const BATCHES = [1, 2, 4];
const LAYER_US = 100;

/** How the class is run: a GPU, or processor cores. */
const RUNS: Record<'gpu' | 'cpu', Pick<DeviceProfile, 'provider' | 'threads' | 'deviceId'>> = {
  gpu: { provider: 'cuda', deviceId: 0 },
  cpu: { provider: 'cpu', threads: 1 },
};

export type DeviceKind = keyof typeof RUNS;

/**
 * profiled writes a small model and its profile, with times that are made up: so many ms a block, and a tenth more for
 * each row.
 */
export async function profiled(
  folder: string,
  name: string,
  {
    on,
    blocks = 1,
    ms = 2,
    seed = 1,
    virtual = [1],
    makesImage = false,
  }: {
    on: DeviceKind;
    blocks?: number;
    ms?: number;
    seed?: number;
    virtual?: number[];
    makesImage?: boolean;
  },
): Promise<Profile> {
  const at = (file: string) => join(folder, file);
  const options = { image: PIXELS, classes: 3, widthMultiplier: 0.125, seed };
  await writeFile(at(`${name}.onnx`), makesImage ? unet(options) : resnet18(options));
  const output = at(`${name}.json`);
  const asked = { method: 'greedy', boundary: 'exact', output } as const;
  await partitionModelFile(at(`${name}.onnx`), { ...asked, devices: ['cpu:1'], blocks: 1 });
  const read = async () => JSON.parse(await readFile(output, 'utf8')) as Profile;
  if (blocks > 1) {
    // Layers that take the same time are cut at the same places on every machine.
    const equal = at(`${name}-layers.json`);
    await writeFile(equal, JSON.stringify(withEqualLayers(await read())));
    await partitionModelFile(at(`${name}.onnx`), { ...asked, devices: [], profile: equal, blocks });
  }
  const profile = await read();
  const times = (v: number) =>
    Object.fromEntries(BATCHES.map((b) => [b, profile.blocks.map(() => v * ms * (1000 + 100 * (b - 1)))]));
  profile.devices = {
    [on]: { ...RUNS[on], blockLatencyUs: Object.fromEntries(virtual.map((v) => [v, times(v)])) },
  };
  await writeFile(output, JSON.stringify(profile));
  return profile;
}

function withEqualLayers(profile: Profile): Profile {
  const us = profile.layers?.map(() => LAYER_US) ?? [];
  const whole = LAYER_US * us.length;
  const cpu = {
    provider: 'cpu',
    threads: 1,
    layerLatencyUs: { 1: { 1: us } },
    blockLatencyUs: { 1: { 1: [whole] } },
  };
  return { ...profile, devices: { cpu } };
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
  const planned = plannedPipelines(profile, on, pipelines);
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
        name: 'eye',
        sloMs,
        sloMarginMs: 0,
        weight: 1,
        throughputRps,
        blocks: 3,
        ...servingMarks(profile.model),
        boundary: 'exact',
        inputBytes: 4 * 3 * PIXELS ** 2,
        inputs: profile.model.inputs ?? [],
        outputs: profile.model.outputs ?? [],
        pipelines: planned,
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

/** plannedPipelines gives pipelines as plans have them, with the rates that follow from a profile. */
function plannedPipelines(profile: Profile, on: DeviceKind, pipelines: readonly (readonly GivenPart[])[]) {
  const latencies = ({ blocks: [from, to], batch, virtual }: GivenPart): (number | null)[] =>
    Array.from({ length: batch }, (_, i) => {
      const us = profile.devices[on]?.blockLatencyUs?.[virtual]?.[i + 1]?.slice(from, to) as
        | number[]
        | undefined;
      return us === undefined ? null : us.reduce((sum, one) => sum + one, 0);
    });
  const rate = (part: GivenPart) => (1e6 * part.on.length * part.batch) / (latencies(part).at(-1) as number);
  return pipelines.map((parts) => ({
    throughputRps: Math.min(...parts.map(rate)),
    batch: (parts[0] as GivenPart).batch,
    latencyUs: parts.reduce((sum, part) => sum + (latencies(part).at(-1) as number), 0),
    partitions: parts.map((part, k) => ({
      blocks: part.blocks,
      device: on,
      virtual: part.virtual,
      virtualGpus: part.on.length,
      gpus: part.on.length / part.virtual,
      batch: part.batch,
      latencyUsByBatch: latencies(part),
      throughputRps: rate(part),
      transferBytes: k === parts.length - 1 ? 0 : (profile.blocks[part.blocks[1] - 1]?.cutBytes ?? 0),
      ...(k === parts.length - 1 ? {} : { tensors: profile.blocks[part.blocks[1] - 1]?.tensors ?? [] }),
    })),
  }));
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

const STAGES = ['detect', 'left', 'right', 'count'];

/** branchingPipeline solves a pipeline whose first model chooses one of two, and whether a third runs too; all on one server. */
export async function branchingPipeline(folder: string, on: DeviceKind, sloMs = 100): Promise<string> {
  for (const [i, name] of STAGES.entries()) await profiled(folder, name, { on, seed: 1 + i });
  const stage = (name: string) =>
    `  - { name: ${name}, profile: ${name}.json, batch: 4, inputs: { image: request.image }`;
  return await solved(
    folder,
    `kind: pipeline
name: looks
cluster: { devices: { ${on}: { count: 4, perServer: 4 } } }
stages:
${stage('detect')},
      next: [ { to: left, probability: 0.5, when: { output: logits, index: 0, atLeast: -1 } }, { to: right, probability: 0.5 },
              { to: count, probability: 0.5, when: { output: logits, index: 1, atLeast: 0 } } ] }
${stage('left')} }
${stage('right')} }
${stage('count')} }
exclusive: [[left, right]]
shared: [{ device: ${on}, stages: [left, right], replicas: 1 }, { device: ${on}, stages: [detect, count], replicas: 2 }]
sloMs: ${sloMs}
rps: 30
planner: { method: given }
`,
  );
}

/** straightPipeline solves a pipeline whose first model makes an image for two others, which always run. */
export async function straightPipeline(
  folder: string,
  on: DeviceKind,
  { sloMs = 100, perServer = 4 } = {},
): Promise<string> {
  const names = ['clean', 'left', 'right'];
  for (const [i, name] of names.entries())
    await profiled(folder, name, { on, seed: 1 + i, makesImage: i === 0 });
  const stage = (name: string, from: string) =>
    `  - { name: ${name}, profile: ${name}.json, batch: 4, device: ${on}, replicas: 1, inputs: { image: ${from} }`;
  return await solved(
    folder,
    `kind: pipeline
name: looks
cluster: { devices: { ${on}: { count: 4, perServer: ${perServer} } } }
stages:
${stage('clean', 'request.image')}, next: [left, right] }
${stage('left', 'clean.mask_logits')} }
${stage('right', 'clean.mask_logits')} }
sloMs: ${sloMs}
rps: 30
planner: { method: given }
`,
  );
}

/** twoGears solves a cascade of two models with made-up records, on servers of four devices each. */
export async function twoGears(folder: string, on: DeviceKind, sloMs = 100): Promise<string> {
  for (const [i, name] of ['small', 'large'].entries())
    await profiled(folder, name, { on, seed: 1 + i, ms: 2 * 6 ** i });
  const lines = Array.from({ length: 40 }, (_, sample) => [
    `${sample},small,${sample % 4 === 0 ? 1 : 0},0,${sample / 40}`,
    `${sample},large,${sample % 20 === 0 ? 1 : 0},0,0.9`,
  ]);
  await writeFile(
    join(folder, 'records.csv'),
    ['sample,model,prediction,label,certainty', ...lines.flat(), ''].join('\n'),
  );
  return await solved(
    folder,
    `kind: cascade
name: looks
cluster: { devices: { ${on}: { count: 4, perServer: 4, memoryGiB: 1 } } }
models: [{ name: small, profile: small.json }, { name: large, profile: large.json }]
records: records.csv
slo: { latencyMs: ${sloMs} }
load: { maxRps: 1200, ranges: 3 }
planner: { method: gears, thresholds: 3 }
`,
  );
}
