import { readFileSync } from 'node:fs';
import type { Cluster, PooledSpec, PooledSpecModel, Profile } from '../../src/formats/index.js';
import type { ProfileFile } from '../../src/milp/index.js';

/** Instance is a published instance (../shared/data/ppipe), as that folder's README describes it. */
export interface Instance {
  readonly id: string;
  readonly maxPartitions: number;
  readonly effectiveGbps: number;
  readonly devices: Readonly<Record<string, { count: number; perServer: number; virtual: number[] }>>;
  readonly models: readonly InstanceModel[];
  readonly reference: Reference;
}

interface InstanceModel {
  readonly model: string;
  readonly sloUs: number;
  readonly sloMarginUs: number;
  readonly batchFormation: { factor: number; estimatedRps: number };
  readonly weight: number;
}

export interface Reference {
  readonly throughputRps: readonly number[];
  readonly status: { mipGap: number; seconds: number };
  readonly pipelines: readonly (readonly ReferencePipeline[])[];
  readonly noPartitioning?: Baseline;
  readonly dartR?: Baseline;
}

interface Baseline {
  readonly throughputRps: readonly number[];
  readonly pipelines: readonly (readonly ReferencePipeline[])[];
}

export interface ReferencePipeline {
  readonly throughputRps: number;
  readonly partitions: readonly {
    blocks: [number, number];
    device: string;
    virtual: number;
    batch: number;
    gpus: number;
  }[];
}

interface PublishedModel {
  readonly layers: readonly {
    name: string;
    block: number | null;
    cutBytes: number | null;
    us: Record<string, number> | null;
  }[];
  readonly blocks: readonly { cutBytes: number }[];
  readonly blockLatencyUs: Record<string, Record<string, Record<string, number[]>>>;
}

export function readInstances(folder: URL, file = 'instances.json'): Instance[] {
  return JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as Instance[];
}

export function readModelList(folder: URL): string[] {
  return readFileSync(new URL('model_list.txt', folder), 'utf8').trim().split(/\s+/);
}

/** readProfile reads a published model as a profile, with layers where asked for. */
export function readProfile(folder: URL, model: string, withLayers = false): ProfileFile {
  const path = new URL(`models/${model}.json`, folder);
  const published = JSON.parse(readFileSync(path, 'utf8')) as PublishedModel;
  const classes = Object.keys(published.blockLatencyUs);
  const profile: Profile = {
    kind: 'profile',
    version: '1.0',
    model: { name: model },
    blocks: published.blocks.map(({ cutBytes }, b) => ({
      cutBytes,
      ...(withLayers ? { nodes: published.layers.flatMap((l, i) => (l.block === b ? [`${i}`] : [])) } : {}),
    })),
    devices: Object.fromEntries(
      classes.map((name) => [
        name,
        {
          blockLatencyUs: published.blockLatencyUs[name] as Record<string, Record<string, number[]>>,
          ...(withLayers ? { layerLatencyUs: { '1': { '1': layerLatencies(published, name) } } } : {}),
        },
      ]),
    ),
  };
  if (withLayers)
    profile.layers = published.layers.map((l, i) => ({
      name: `${i}`,
      op: l.name,
      ...(l.cutBytes === null ? {} : { cutBytes: l.cutBytes }),
    }));
  return { profile, path: path.pathname.split('/').slice(-2).join('/') };
}

/**
 * layerLatencies divides each block's latency among its layers, as the profiler does. The published layers
 * were measured one by one, which takes several times as long as their block, so that only their shares are
 * used.
 */
function layerLatencies({ layers, blocks, blockLatencyUs }: PublishedModel, name: string): number[] {
  const sums = blocks.map((_, b) =>
    layers.reduce((sum, layer) => sum + (layer.block === b ? (layer.us?.[name] ?? 0) : 0), 0),
  );
  return layers.map(({ block, us }) => {
    const b = block ?? 0;
    const whole = Math.max(1, blockLatencyUs[name]?.['1']?.['1']?.[b] ?? 0);
    return ((us?.[name] ?? 0) / (sums[b] as number)) * whole;
  });
}

/** specOf turns an instance into a spec and its cluster. */
export function specOf(instance: Instance): { spec: PooledSpec; cluster: Cluster } {
  const cluster: Cluster = { devices: { ...instance.devices }, networkGbps: instance.effectiveGbps };
  const models = instance.models.map(
    ({ model, sloUs, sloMarginUs, batchFormation, weight }): PooledSpecModel => ({
      profile: model,
      sloMs: sloUs / 1000,
      sloMarginMs: sloMarginUs / 1000,
      batchFormation,
      weight,
    }),
  );
  const spec: PooledSpec = {
    kind: 'pooled',
    cluster,
    models,
    planner: { maxPartitions: instance.maxPartitions, wholeGpusPer: 'position' },
  };
  return { spec, cluster };
}
