import { readFileSync } from 'node:fs';
import { type EngineGraph, engineGraphOf } from '../../../../src/deploy/engine-graph.js';
import { BundleTexts, lintBundle } from '../../../../src/deploy/lint/lint.js';
import type { Engine, EngineBundle } from '../../../../src/deploy/targets/engine-target.js';
import type {
  Bundle,
  BundledDevice,
  DeployTarget,
  GearPlan,
  PipelinePlan,
  PooledPlan,
  TensorSpec,
} from '../../../../src/formats/index.js';
import type { StagePlan } from '../../../../src/plans/index.js';

const row = (name: string): TensorSpec => ({ name, dtype: 'float32', shape: [1, 16], batchAxis: 0 });
const X = [row('x')];
const Y = [row('y')];
export const CUDA: BundledDevice = { provider: 'cuda', deviceId: 0 };
export const EMULATED: BundledDevice = { provider: 'cpu', threads: 2, slowdown: 3, emulated: true };

type Parts = Pick<Bundle, 'models' | 'partitions' | 'stages' | 'devices'>;

/** made makes the bundle of a plan as an engine's files are made from it, with a manifest by hand. */
export function made(
  plan: StagePlan,
  devices: Record<string, BundledDevice>,
): EngineBundle & { parts: Parts } {
  const parts = { ...manifestOf(plan), devices };
  const graph: EngineGraph = engineGraphOf(plan, parts);
  return { plan, planSha256: 'ab'.repeat(32), graph, parts };
}

function manifestOf(plan: StagePlan): Omit<Parts, 'devices'> {
  if ('models' in plan) return pooledManifest(plan);
  const name = plan.name as string;
  return {
    models: [{ name, inputs: X, outputs: Y }],
    partitions: [],
    stages: plan.stages.map((stage) => ({
      name: stage.name,
      file: `models/${stage.name}.onnx`,
      sha256: 'cd'.repeat(32),
      inputs: 'inputs' in stage ? ((stage.inputs ?? X) as NonNullable<Bundle['stages']>[0]['inputs']) : X,
      outputs: 'outputs' in stage ? ((stage.outputs ?? Y) as TensorSpec[]) : Y,
    })) as NonNullable<Bundle['stages']>,
  };
}

function pooledManifest(plan: PooledPlan): Omit<Parts, 'devices'> {
  const ranges = plan.models.map(
    ({ pipelines }) =>
      new Map(
        pipelines.flatMap(({ partitions }) => partitions.map(({ blocks }) => [String(blocks), blocks])),
      ),
  );
  return {
    models: plan.models.map(({ name }) => ({ name, inputs: X, outputs: Y })),
    partitions: ranges.flatMap((own, model) =>
      [...own.values()].map(([from, to] = [0, 1]) => ({
        file: `models/${model}_${from}_${to}.onnx`,
        sha256: 'cd'.repeat(32),
        model,
        from,
        to,
        inputs: X,
        outputs: Y,
      })),
    ),
  };
}

/** PoolAt is a pool of whole models, or of a partition, with the GPUs that it has. */
export interface PoolAt {
  readonly device: string;
  readonly virtual?: number;
  /** The server and GPU of each virtual GPU. */
  readonly seats: readonly (readonly [server: number, gpu: number])[];
}

/** pooledAt makes a pooled plan: for each model its pipelines, and for each of these its pools. */
export function pooledAt(
  models: readonly (readonly (readonly PoolAt[])[])[],
  devices: PooledPlan['cluster']['devices'],
): PooledPlan {
  const topologyPartOf = ({ device, virtual = 1, seats }: PoolAt, k: number) => ({
    blocks: [k, k + 1] as [number, number],
    device,
    virtual,
    virtualGpus: seats.length,
    gpus: seats.length / virtual,
    batch: 4,
    latencyUsByBatch: [1000, 2000, 3000, 4000].map((us) => us * virtual),
    throughputRps: (1000 * seats.length) / virtual,
    transferBytes: 100,
  });
  const planned = models.map((pipelines, m) => ({
    name: `net${m}`,
    sloMs: 100,
    sloMarginMs: 0,
    weight: 1,
    throughputRps: 1000,
    inputs: X,
    outputs: Y,
    blocks: pipelines[0]?.length ?? 1,
    pipelines: pipelines.map((parts) => {
      const partitions = parts.map(topologyPartOf);
      const throughputRps = Math.min(...partitions.map((part) => part.throughputRps));
      return { throughputRps, batch: 4, latencyUs: 4000 * parts.length, partitions };
    }),
  }));
  const placement = models.flatMap((pipelines, model) =>
    pipelines.flatMap((parts, pipeline) =>
      parts.flatMap(({ device, virtual = 1, seats }, partition) =>
        seats.map(([server, gpu]) => ({
          server: `${device}-${server}`,
          gpu,
          class: device,
          virtual,
          model,
          pipeline,
          partition,
        })),
      ),
    ),
  );
  const used = (name: string) =>
    new Set(placement.flatMap((one) => (one.class === name ? [`${one.server}/${one.gpu}`] : []))).size;
  return {
    kind: 'pooled-plan',
    version: '1.0',
    status: 'optimal',
    objective: { kind: 'throughput', value: 1000, bound: 1000, gap: 0 },
    cluster: { devices },
    planner: { maxPartitions: 5, unifiedBatch: false, linkThroughput: false },
    models: planned,
    classes: Object.fromEntries(
      Object.entries(devices).map(([name, { count }]) => [name, { used: used(name), count }]),
    ),
    placement,
  } as PooledPlan;
}

/** examplePlan reads the plan of an example. */
export function examplePlan<P extends PipelinePlan | GearPlan | PooledPlan>(name: string): P {
  const file = new URL(`../../../../examples/${name}/expected-plan.json`, import.meta.url);
  return JSON.parse(readFileSync(file, 'utf8')) as P;
}

/** Edit changes a file of a bundle. */
export type Edit = readonly [file: string, from: string | RegExp, to: string];

/** lintOf lints the files that an engine writes of a bundle, after edits. */
export function lintOf<T extends DeployTarget>(
  engine: Engine<T>,
  bundle: EngineBundle,
  edits: readonly Edit[] = [],
) {
  const texts = new Map(engine.files(bundle));
  for (const [file, from, to] of edits) {
    const text = texts.get(file) ?? '';
    const edited = text.replace(from, to);
    if (edited === text) throw new Error(`there is no ${from} in ${file}:\n${text}`);
    texts.set(file, edited);
  }
  return {
    report: lintBundle(engine.target, engine.rules, { ...bundle, files: new BundleTexts(texts) }),
    texts,
  };
}
