import {
  type Fault,
  fault,
  gpuNumber,
  InputError,
  type OpenCluster,
  type PlannedPipeline,
  type PooledPlan,
  seatsOf,
} from '../artifacts/index.js';
import { type Links, linksByServer, publishedLinks } from './links.js';

export type { Links } from './links.js';

const NS_PER_US = 1e3;
const NS_PER_MS = 1e6;
/** Every virtual GPU takes some hundred bytes in a scheduler. */
const MOST_DEVICES = 1_000_000;

/**
 * Topology is a plan as a scheduler sees it: models with their SLOs, pools of virtual GPUs with their
 * latencies, and links.
 */
export interface Topology {
  models: ServedModel[];
  pools: Pool[];
  devices: VirtualDevice[];
  /**
   * `links` joins devices to the network; by our own rules, the virtual GPUs of a server share one uplink and
   * one downlink.
   */
  links: Links;
  /** `gears` says by which models requests are served at which load; absent where a plan has no gears. */
  gears?: GearTable;
}

/** GearTable holds the gears of a plan of cascades, from those of the lowest loads on. */
export interface GearTable {
  gears: readonly ServedGear[];
  /** Arrivals are counted over intervals of this length. */
  intervalNs: number;
  /** A gear for lower loads waits while the rate is below `alpha` times the length of the first queue. */
  alpha: number;
  /** The mean rate that was planned for, where an accuracy is promised over the distribution of loads, and no latency. */
  plannedRps?: number;
}

/** ServedGear is how requests are served up to a rate. */
export interface ServedGear {
  toRps: number;
  /** A batch starts too when its first task has waited so long. */
  timeoutNs: number;
  steps: readonly ServedStep[];
}

/** ServedStep is one model of a gear's cascade. */
export interface ServedStep {
  pool: number;
  /** Tasks of a lower certainty go on to the next step; −Infinity in the last step. */
  below: number;
  /** A batch starts when so many tasks wait. */
  minQueue: number;
  /** The share of the tasks that each device of the pool is to serve; absent where devices are alike. */
  shares?: Float64Array;
}

/** ServedModel is a model of the plan, with the pools at which its requests enter. */
export interface ServedModel {
  name: string;
  /** `sloNs` is the time from arrival to deadline. */
  sloNs: number;
  throughputRps: number;
  /** `entries` holds the entry of each pipeline: the pool of its first partition. */
  entries: number[];
}

/** Pool is the set of virtual GPUs that serve one partition of one pipeline. */
export interface Pool {
  model: number;
  /** `model`, `pipeline` and `partition` are indices within the plan. */
  pipeline: number;
  partition: number;
  /** `stage` is the name of the stage of a pipeline plan. */
  stage?: string;
  deviceClass: string;
  virtual: number;
  /** `batch` is the planned batch, which is the largest that the pool may execute. */
  batch: number;
  /**
   * `latencyNs` is the planned execution time, that of a batch of b at index b − 1. Where the profile lacks
   * b, it is that of the next larger batch it has.
   */
  latencyNs: Float64Array;
  /** `transferNs` is the planned time of sending b rows to the next pool over idle links, at index b − 1. */
  transferNs: Float64Array;
  /** `transferBytes` counts the bytes that one row sends to the next pool; 0 after the last partition. */
  transferBytes: number;
  /** `next` is the index of the next partition's pool; absent after the last, and where `edges` lead on. */
  next?: number;
  /**
   * `edges` lead to the next stages, where these are more than one that is always next: in a DAG. All stages of a DAG
   * lead on by edges, and `transferNs` is then the longest of all edges.
   */
  edges?: Edge[];
  /** `throughputRps` is the planned rate of the whole pipeline, in requests per second. */
  throughputRps: number;
  /** `devices` holds the indices of its devices in `Topology.devices`. */
  devices: number[];
}

/**
 * Edge leads from a stage of a DAG to a later one, whose pool has a higher index. It is taken for a task always, or by
 * the verdict of the stage's model on the task, or while that model is unsure of it. Gears may have models in different
 * orders, so that edges of a cascade lead back too; no task comes to a pool twice.
 */
export interface Edge {
  /** `to` is the pool of the stage that it leads to. */
  to: number;
  when: EdgeCondition;
  /** `transferNs` is the planned time of sending b rows over idle links, at index b − 1. */
  transferNs: Float64Array;
  transferBytes: number;
}

/**
 * EdgeCondition says when an edge is taken.
 * - always: for every task.
 * - verdict: where the verdict on the task has the edge's bit. The edges of a stage that depend on its verdict are
 *   numbered from bit 0 in their order; there are at most 31.
 * - unsure: where the verdict on the task, a certainty, is below `below`.
 */
export type EdgeCondition = { kind: 'always' } | { kind: 'verdict' } | { kind: 'unsure'; below: number };

/** VirtualDevice is one virtual GPU. */
export interface VirtualDevice {
  /** `name` is `<server>/gpu<g>/<k>`, where k counts the virtual GPUs of one GPU. */
  name: string;
  /** `pool` is its pool, or the first of its pools. */
  pool: number;
  /** `otherPools` are the pools that it serves besides. It runs one batch at a time, whichever pool it is for. */
  otherPools?: readonly number[];
  /** `standby` is true for a device that takes no work, and costs nothing, until the core activates it. */
  standby?: boolean;
  server: string;
  gpu: number;
  deviceClass: string;
  virtual: number;
}

/** TopologyOptions says how a plan becomes pools, devices and links. */
export interface TopologyOptions {
  /** `sloMs` is an SLO that replaces that of every model. */
  sloMs?: number;
  /**
   * `transfers` tells whether a transfer takes the time that the cluster's links give it (bytes / link rate),
   * or none, as on one machine. The default is `links`.
   */
  transfers?: 'links' | 'none';
  /**
   * `rules` says which rules hold. `own`, the default, counts nanoseconds and numbers devices in the order of
   * the placement. `published` follows PPipe's published simulator: whole microseconds, and devices numbered
   * by pool.
   */
  rules?: 'own' | 'published';
  /**
   * `sharing` says which devices share a link: the virtual GPUs of a server (the default by our own rules),
   * or groups of consecutive devices of a pool (publishedLinks; the default by the published rules).
   */
  sharing?: 'servers' | 'worker-groups';
}

/**
 * topologyOf makes the topology of a pooled plan, for the live runtime and the simulator alike. Pools are
 * ordered by model, pipeline and partition, and devices as in the plan's placement (by the published rules: by
 * pool). It is pure, and its cost is linear in the plan.
 * @throws InputError with every contradiction in the plan, or where it has more than a million virtual GPUs
 */
export function topologyOf(plan: PooledPlan, options: TopologyOptions = {}): Topology {
  checkPlacement(plan);
  checkDeviceCount(plan);
  const pools = plan.models.flatMap((model, m) =>
    model.pipelines.flatMap((pipeline, p) => poolsOf(plan, pipeline, m, p, options)),
  );
  pools.forEach((pool, i) => {
    const following = pools[i + 1];
    if (following?.model === pool.model && following.pipeline === pool.pipeline) pool.next = i + 1;
  });
  const devices = devicesOf(plan, pools, options);
  const models = plan.models.map((model, m) => ({
    name: model.name,
    sloNs: sloNs(options.sloMs ?? model.sloMs, options),
    throughputRps: model.throughputRps,
    entries: pools.flatMap((pool, i) => (pool.model === m && pool.partition === 0 ? [i] : [])),
  }));
  const { sharing = options.rules === 'published' ? 'worker-groups' : 'servers' } = options;
  const links =
    sharing === 'worker-groups' ? publishedLinks(pools, perServerOf(plan)) : linksByServer(devices);
  return { models, pools, devices, links };
}

/**
 * stagesFrom counts, for each pool, the stages from it to the end of its pipeline, itself included. The pools
 * of these stages have consecutive indices.
 */
export function stagesFrom(pools: readonly Pool[]): Int32Array {
  const stages = new Int32Array(pools.length).fill(1);
  for (let i = pools.length - 2; i >= 0; i--)
    if (pools[i]?.next !== undefined) stages[i] = 1 + (stages[i + 1] as number);
  return stages;
}

/** fullBatches gives, for each pool, the largest batch that fits it and all later pools of its pipeline. */
export function fullBatches(pools: readonly Pool[]): Int32Array {
  const full = Int32Array.from(pools, ({ batch }) => batch);
  for (let i = pools.length - 2; i >= 0; i--)
    for (const later of followersOf(pools[i] as Pool))
      full[i] = Math.min(full[i] as number, full[later] as number);
  return full;
}

/** followersOf lists the pools of the stages that can come right after a pool's stage. */
export function followersOf({ next, edges = [] }: Pool): readonly number[] {
  return next === undefined ? edges.map(({ to }) => to) : [next];
}

/**
 * beyondChains finds what a topology has that only stage-local schedulers serve: reservations are made for the whole
 * path of a batch, through pools whose devices are theirs and always there.
 */
export function beyondChains({ models, pools, devices }: Topology): Fault[] {
  const names = models.flatMap(({ name, entries }) =>
    entries.some((entry) => pools[entry]?.edges !== undefined) ? [name] : [],
  );
  return [
    ...names.map((name) => fault(`${name} is a DAG of stages, but reservations are made for chains`)),
    ...(devices.some(({ otherPools }) => otherPools !== undefined)
      ? [fault('some devices serve several stages, but a reservation needs devices of one stage')]
      : []),
    ...(devices.some(({ standby }) => standby === true)
      ? [fault('some devices are on standby, but a reservation needs devices that stay')]
      : []),
  ];
}

/** poolsServedBy lists the pools that a device serves. */
export function poolsServedBy({ pool, otherPools = [] }: VirtualDevice): readonly number[] {
  return [pool, ...otherPools];
}

/** mostStages is the number of stages of the longest pipeline, 0 where there are no pools. */
export function mostStages(pools: readonly Pool[]): number {
  return pools.reduce((most, { partition }) => Math.max(most, partition + 1), 0);
}

function perServerOf({ cluster }: PooledPlan): (deviceClass: string) => number {
  return (deviceClass) => cluster.devices[deviceClass]?.perServer ?? 1;
}

/**
 * sloNs converts an SLO to nanoseconds, and by the published rules cuts it to whole microseconds. It rounds
 * before it cuts, so that a value just below a whole microsecond, by the last bits of a double, is not cut to
 * the one before.
 */
function sloNs(sloMs: number, { rules }: TopologyOptions): number {
  const ns = Math.round(sloMs * NS_PER_MS);
  return rules === 'published' ? Math.floor(ns / NS_PER_US) * NS_PER_US : ns;
}

function poolsOf(
  plan: PooledPlan,
  pipeline: PlannedPipeline,
  m: number,
  p: number,
  options: TopologyOptions,
): Pool[] {
  return pipeline.partitions.map((part, k) => {
    const nextClass = pipeline.partitions[k + 1]?.device;
    const gbps = nextClass === undefined ? undefined : linkGbps(plan.cluster, [part.device, nextClass]);
    const perRowNs = options.transfers === 'none' || gbps === undefined ? 0 : (8 * part.transferBytes) / gbps;
    const rowNs = options.rules === 'published' ? NS_PER_US * Math.round(perRowNs / NS_PER_US) : perRowNs;
    return {
      model: m,
      pipeline: p,
      partition: k,
      deviceClass: part.device,
      virtual: part.virtual,
      batch: part.batch,
      latencyNs: filledLatencies(part.latencyUsByBatch, part.batch),
      transferNs: Float64Array.from({ length: part.batch }, (_, i) => Math.round((i + 1) * rowNs)),
      transferBytes: part.transferBytes,
      throughputRps: pipeline.throughputRps,
      devices: [],
    };
  });
}

/**
 * linkGbps is the rate of the slower of the links at both ends, or undefined where the cluster names no rate.
 * One Gbps is one bit per nanosecond.
 */
export function linkGbps(
  { devices, networkGbps }: Pick<OpenCluster, 'devices' | 'networkGbps'>,
  classes: readonly string[],
): number | undefined {
  const rates = classes
    .map((name) => devices[name]?.linkGbps ?? networkGbps)
    .filter((rate) => rate !== undefined);
  return rates.length === 0 ? undefined : Math.min(...rates);
}

/**
 * filledLatencies converts latencies to nanoseconds, and gives a batch that was not profiled the latency of
 * the next larger one that was.
 * @throws RangeError where there is none for the largest batch
 */
export function filledLatencies(byBatch: readonly (number | null)[], batch: number): Float64Array {
  if (typeof byBatch[batch - 1] !== 'number')
    throw new RangeError(`Cannot tell how long batches take: there is no latency of batch ${batch}`);
  const latencies = new Float64Array(batch);
  let larger = 0;
  for (let b = batch; b >= 1; b--) {
    larger = Math.round((byBatch[b - 1] ?? larger / NS_PER_US) * NS_PER_US);
    latencies[b - 1] = larger;
  }
  return latencies;
}

function devicesOf(plan: PooledPlan, pools: Pool[], { rules }: TopologyOptions): VirtualDevice[] {
  const poolOf = new Map(pools.map((pool, i) => [`${pool.model}/${pool.pipeline}/${pool.partition}`, i]));
  const onGpu = new Map<string, number>();
  const seats = Array.from(seatsOf(plan.placement, plan.cluster.devices), (seat) => ({
    ...seat,
    pool: poolOf.get(`${seat.place.model}/${seat.place.pipeline}/${seat.place.partition}`) as number,
  }));
  if (rules === 'published') seats.sort((a, b) => a.pool - b.pool);
  return seats.map(({ place, server, gpu, pool }, device) => {
    pools[pool]?.devices.push(device);
    const name = `${server}/gpu${gpu}`;
    const k = onGpu.get(name) ?? 0;
    onGpu.set(name, k + 1);
    return { name: `${name}/${k}`, pool, server, gpu, deviceClass: place.class, virtual: place.virtual };
  });
}

/**
 * checkPlacement checks that a plan's placement, partitions and names agree, as `topologyOf` needs them to. It takes
 * time by the entries of the placement, not by their counts. It does not check the number of virtual GPUs.
 * @throws InputError with every contradiction in the plan
 */
export function checkPlacement(plan: PooledPlan): void {
  const faults = contradictions(plan);
  if (faults.length > 0) throw new InputError('use the plan', faults, 'Solve it again, or mend the edit.');
}

/**
 * checkDeviceCount checks that a plan has few enough virtual GPUs to be simulated or served.
 * @throws InputError where it has more than a million
 */
export function checkDeviceCount({
  placement,
}: {
  readonly placement: readonly { readonly count?: number }[];
}): void {
  const devices = placement.reduce((sum, { count = 1 }) => sum + count, 0);
  if (devices <= MOST_DEVICES) return;
  const message = `has ${devices} virtual GPUs; at most ${MOST_DEVICES} can be simulated or served`;
  throw new InputError(
    'use the plan',
    [{ path: '/placement', message }],
    'Solve it for fewer GPUs or lower rates.',
  );
}

/**
 * contradictions finds the faults that the schema cannot: every model must have a name of its own, by which
 * requests and options find it, and every pool must be placed as often as planned, on its class, and must have
 * a latency for its batch.
 */
function contradictions(plan: PooledPlan): Fault[] {
  const faults: Fault[] = [];
  const placed = new Map<string, number>();
  if (plan.placement.length === 0)
    faults.push({ path: '/placement', message: 'is empty: the plan serves nothing' });
  const names = plan.models.map(({ name }) => name);
  names.forEach((name, m) => {
    if (names.indexOf(name) !== m)
      faults.push({ path: `/models/${m}/name`, message: `${name} is the name of another model too` });
  });
  plan.placement.forEach((place, i) => {
    const part = plan.models[place.model]?.pipelines[place.pipeline]?.partitions[place.partition];
    const path = `/placement/${i}`;
    if (part === undefined) {
      const at = `model ${place.model}, pipeline ${place.pipeline}, partition ${place.partition}`;
      faults.push({ path, message: `names ${at}, which the plan does not have` });
      return;
    }
    if (place.count !== undefined && Number.isNaN(gpuNumber(place, 1)))
      faults.push({
        path,
        message: `counts GPUs from ${place.server} on, which is no ${place.class}-<number>`,
      });
    const key = `${place.model}/${place.pipeline}/${place.partition}`;
    placed.set(key, (placed.get(key) ?? 0) + (place.count ?? 1));
    if (place.class !== part.device || place.virtual !== part.virtual) {
      const is = `${place.class} in ${place.virtual}`;
      faults.push({
        path,
        message: `is ${is}; its partition is planned for ${part.device} in ${part.virtual}`,
      });
    }
  });
  plan.models.forEach((model, m) => {
    model.pipelines.forEach((pipeline, p) => {
      pipeline.partitions.forEach((part, k) => {
        const path = `/models/${m}/pipelines/${p}/partitions/${k}`;
        const count = placed.get(`${m}/${p}/${k}`) ?? 0;
        if (count !== part.virtualGpus) {
          faults.push({ path, message: `has ${part.virtualGpus} virtual GPUs, but ${count} are placed` });
        }
        if (typeof part.latencyUsByBatch[part.batch - 1] !== 'number') {
          faults.push({
            path: `${path}/latencyUsByBatch`,
            message: `has no latency at its batch ${part.batch}`,
          });
        }
      });
    });
  });
  return faults;
}
