import {
  type Cluster,
  type PlannedModel,
  type PlannedPartition,
  type PlannedPipeline,
  type PooledPlan,
  type Profile,
  seatsOf,
} from '../../src/formats/index.js';
import { type PoolToPlace, placeVirtualGpus } from '../../src/milp/index.js';
import { type Instance, type ReferencePipeline, readInstances, readProfile, specOf } from './instances.js';

/** PUBLISHED_PLANS lists the published plans of an instance, by their names in attainment.csv. */
export const PUBLISHED_PLANS = ['reference', 'no-partitioning', 'dart-r'] as const;
export type PublishedPlan = (typeof PUBLISHED_PLANS)[number];

const US_PER_S = 1e6;
/** Gurobi's throughputs are accurate to this relative error. */
const SOLVER_TOLERANCE = 1e-5;

/** ProfileOf gives a published model's profile. It reads each file once. */
export type ProfileOf = (model: string) => Profile;

export function profilesIn(folder: URL): ProfileOf {
  const known = new Map<string, Profile>();
  return (model) => {
    const profile = known.get(model) ?? readProfile(folder, model).profile;
    known.set(model, profile);
    return profile;
  };
}

/**
 * publishedInstances reads the 21 instances, and the one with three partitions that only a golden run has.
 */
export function publishedInstances(folder: URL): Instance[] {
  return [...readInstances(folder), ...readInstances(new URL('simulation/', folder), 'rtmdet-instance.json')];
}

/**
 * publishedRps gives the throughput per model of a published plan; it is undefined where the plan was not
 * published (DART-r of one model).
 */
export function publishedRps(instance: Instance, plan: PublishedPlan): readonly number[] | undefined {
  const { reference } = instance;
  if (plan === 'reference') return reference.throughputRps;
  return (plan === 'dart-r' ? reference.dartR : reference.noPartitioning)?.throughputRps;
}

interface PublishedPlanOptions {
  readonly profileOf: ProfileOf;
  /**
   * The index of the one model to keep, as in the published simulations; the GPUs of a plan's models are
   * disjoint.
   */
  readonly only?: number | undefined;
}

/**
 * publishedPlan turns a published plan into a plan of inferplan. Throughputs and latencies are computed again from the
 * profiles, and every virtual GPU is placed. Throughputs are those that the pipelines can serve. Where one model of
 * three limits the others, they are higher than published for those.
 * @returns undefined where the plan was not published
 */
export function publishedPlan(
  instance: Instance,
  plan: PublishedPlan,
  { profileOf, only }: PublishedPlanOptions,
): PooledPlan | undefined {
  const published = pipelinesOf(instance, plan);
  if (published === undefined) return undefined;
  const cluster = plan === 'reference' ? specOf(instance).cluster : onWholeGpus(specOf(instance).cluster);
  const wholeGpusPer = plan === 'reference' ? 'position' : 'pool';
  const models = instance.models.flatMap(({ model }, m) =>
    only === undefined || only === m
      ? [plannedModel(instance, m, profileOf(model), published[m] as ReferencePipeline[])]
      : [],
  );
  const placement = placeVirtualGpus(poolsOf(models), cluster, {
    wholeGpusPer: 'position',
    virtualPer: 'gpu',
  });
  if (placement === undefined) throw new Error(`the ${plan} plan of ${instance.id} does not fit its cluster`);
  const value = Math.min(...models.map(({ throughputRps, weight }) => throughputRps / weight));
  return {
    kind: 'pooled-plan',
    version: '1.0',
    // No bound is published. The value stands in its place, and the status is the one that follows.
    status: 'optimal',
    ...(plan === 'reference' ? {} : { baseline: plan }),
    objective: { kind: 'throughput', value, bound: value, gap: 0 },
    cluster,
    planner: { maxPartitions: instance.maxPartitions, wholeGpusPer },
    models,
    classes: Object.fromEntries(
      Object.entries(cluster.devices).map(([name, { count }]) => {
        const seats = [...seatsOf(placement, cluster.devices)].filter(({ place }) => place.class === name);
        return [name, { used: new Set(seats.map(({ server, gpu }) => `${server}/${gpu}`)).size, count }];
      }),
    ),
    placement,
  };
}

/** onWholeGpus gives the cluster that a baseline is planned for. */
function onWholeGpus(cluster: Cluster): Cluster {
  const whole = Object.entries(cluster.devices).map(([name, device]) => [name, { ...device, virtual: [1] }]);
  return { ...cluster, devices: Object.fromEntries(whole) };
}

function pipelinesOf({ reference }: Instance, plan: PublishedPlan) {
  switch (plan) {
    case 'reference':
      return reference.pipelines;
    case 'no-partitioning':
      return reference.noPartitioning?.pipelines;
    case 'dart-r':
      return reference.dartR?.pipelines;
  }
}

function plannedModel(
  instance: Instance,
  m: number,
  profile: Profile,
  published: readonly ReferencePipeline[],
): PlannedModel {
  const model = instance.models[m] as Instance['models'][number];
  const { factor, estimatedRps } = model.batchFormation;
  const pipelines = published.map((pipeline) => plannedPipeline(instance, profile, pipeline));
  return {
    name: model.model,
    sloMs: model.sloUs / 1000,
    sloMarginMs: model.sloMarginUs / 1000,
    weight: model.weight,
    throughputRps: pipelines.reduce((sum, { throughputRps }) => sum + throughputRps, 0),
    batchFormationUsPerRequest: (factor * US_PER_S) / estimatedRps,
    blocks: profile.blocks.length,
    pipelines,
  };
}

function plannedPipeline(
  instance: Instance,
  profile: Profile,
  published: ReferencePipeline,
): PlannedPipeline {
  const partitions = published.partitions.map((_, d) => plannedPartition(instance, profile, published, d));
  const batch = partitions[0]?.batch as number;
  const throughputRps = Math.min(...partitions.map((partition) => partition.throughputRps));
  if (throughputRps < published.throughputRps * (1 - SOLVER_TOLERANCE)) {
    const { throughputRps: theirs } = published;
    throw new Error(
      `a pipeline of ${instance.id} is published at ${theirs} and comes to ${throughputRps} rps`,
    );
  }
  const latencyUs = partitions.reduce(
    (sum, { latencyUsByBatch, transferBytes }) =>
      sum + (latencyUsByBatch[batch - 1] as number) + batch * transferUs(instance, transferBytes),
    0,
  );
  return { throughputRps, batch, latencyUs, partitions };
}

function plannedPartition(
  instance: Instance,
  profile: Profile,
  { partitions }: ReferencePipeline,
  d: number,
): PlannedPartition {
  const { blocks, device, virtual, batch, gpus } = partitions[d] as ReferencePipeline['partitions'][number];
  const virtualGpus = Math.round(gpus * virtual);
  const latencyUsByBatch = Array.from({ length: batch }, (_, i) =>
    latencyUs(profile, device, virtual, i + 1, blocks),
  );
  const sharing = virtual * (instance.devices[device]?.perServer ?? 1);
  const [inUs, outUs] = [blocks[0], blocks[1]].map((cut) =>
    transferUs(instance, cut < profile.blocks.length ? cutBytes(profile, cut) : 0),
  ) as [number, number];
  const rps = Math.min(
    (US_PER_S * batch) / (latencyUsByBatch[batch - 1] as number),
    US_PER_S / (inUs * sharing),
    US_PER_S / (outUs * sharing),
  );
  return {
    blocks,
    device,
    virtual,
    virtualGpus,
    gpus: virtualGpus / virtual,
    batch,
    latencyUsByBatch,
    throughputRps: rps * virtualGpus,
    transferBytes: blocks[1] < profile.blocks.length ? cutBytes(profile, blocks[1]) : 0,
  };
}

/** cutBytes gives the bytes of one request that cross before block `cut`; none cross before the first. */
function cutBytes(profile: Profile, cut: number): number {
  return cut === 0 ? 0 : (profile.blocks[cut - 1]?.cutBytes as number);
}

function transferUs({ effectiveGbps }: Instance, bytes: number): number {
  return (8 * bytes) / (effectiveGbps * 1000);
}

function latencyUs(
  profile: Profile,
  device: string,
  virtual: number,
  batch: number,
  [first, end]: readonly [number, number],
): number {
  const rows = profile.devices[device]?.blockLatencyUs[virtual]?.[batch];
  if (rows === undefined) throw new Error(`no latencies of ${device} in ${virtual} at batch ${batch}`);
  return rows.slice(first, end).reduce<number>((sum, us) => sum + Math.max(1, us ?? 0), 0);
}

function poolsOf(models: readonly PlannedModel[]): PoolToPlace[] {
  return models.flatMap(({ pipelines }, model) =>
    pipelines.flatMap(({ partitions }, pipeline) =>
      partitions.map(({ device, virtual, virtualGpus }, partition) => ({
        model,
        pipeline,
        partition,
        class: device,
        virtual,
        virtualGpus,
      })),
    ),
  );
}
