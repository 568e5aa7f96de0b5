import { type Fault, InputError, type PlannedPipeline, type PooledPlan } from '../artifacts/index.js';
import { type Links, linksByServer, publishedLinks } from './links.js';

export type { Links } from './links.js';

const NS_PER_US = 1e3;
const NS_PER_MS = 1e6;

/** A plan as the scheduler sees it: pools of virtual GPUs, their latencies, what follows what, and deadlines. */
export interface Topology {
  models: ServedModel[];
  pools: Pool[];
  devices: VirtualDevice[];
  /** Links to and from the network; the virtual GPUs of a server share one of each. */
  links: Links;
}

export interface ServedModel {
  name: string;
  /** From arrival to deadline. */
  sloNs: number;
  throughputRps: number;
  /** For each pipeline the pool of its first partition. */
  entries: number[];
}

/** The virtual GPUs that serve one partition of one pipeline. */
export interface Pool {
  model: number;
  /** Indices within the plan. */
  pipeline: number;
  partition: number;
  deviceClass: string;
  virtual: number;
  /** Largest batch. */
  batch: number;
  /** Expected execution of a batch of b at index b − 1; where the profile lacks b, that of the next larger batch it has. */
  latencyNs: Float64Array;
  /** Expected time of sending b rows on, on an idle link. Index b − 1. */
  transferNs: Float64Array;
  /** Bytes one row sends on; 0 after the last partition. */
  transferBytes: number;
  /** The pool of the next partition; absent after the last. */
  next?: number;
  /** Planned rate of its pipeline, requests per second. */
  throughputRps: number;
  /** Indices into devices. */
  devices: number[];
}

/** One virtual GPU. */
export interface VirtualDevice {
  /** `<server>/gpu<g>/<k>`, k counted within the GPU. */
  name: string;
  pool: number;
  server: string;
  gpu: number;
  deviceClass: string;
  virtual: number;
}

export interface TopologyOptions {
  /** In place of every model's SLO. */
  sloMs?: number;
  /** Whether sending takes the time the cluster's links give it (bytes / link), or none (all on one machine). Default links. */
  transfers?: 'links' | 'none';
  /**
   * Default `own`: nanoseconds, devices in the order of the placement. `published`, as PPipe's published simulator has them: whole
   * microseconds, devices numbered by pool.
   */
  rules?: 'own' | 'published';
  /**
   * Who shares a link: the virtual GPUs of a server (default under our own rules), or groups of consecutive workers
   * (publishedLinks; default under the published ones).
   */
  sharing?: 'servers' | 'worker-groups';
}

/**
 * The topology of a pooled plan. Pure; cost linear in the plan. One source of truth for the live runtime and the simulator.
 * Pools are ordered by model, pipeline, partition; devices as in the plan's placement.
 * @throws InputError where the plan contradicts itself: every contradiction at once
 */
export function topologyOf(plan: PooledPlan, options: TopologyOptions = {}): Topology {
  const faults = contradictions(plan);
  if (faults.length > 0) throw new InputError('use the plan', faults, 'Solve it again, or mend the edit.');
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

/** Of each pool, the stages from it to the end of its pipeline, itself included; they are the pools that follow it. */
export function stagesFrom(pools: readonly Pool[]): Int32Array {
  const stages = new Int32Array(pools.length).fill(1);
  for (let i = pools.length - 2; i >= 0; i--)
    if (pools[i]?.next !== undefined) stages[i] = 1 + (stages[i + 1] as number);
  return stages;
}

/** Of each pool, the largest batch that fits it and those after it in its pipeline. */
export function fullBatches(pools: readonly Pool[]): Int32Array {
  const full = Int32Array.from(pools, ({ batch }) => batch);
  for (let i = pools.length - 2; i >= 0; i--)
    if (pools[i]?.next !== undefined) full[i] = Math.min(full[i] as number, full[i + 1] as number);
  return full;
}

export function mostStages(pools: readonly Pool[]): number {
  return pools.reduce((most, { partition }) => Math.max(most, partition + 1), 0);
}

function perServerOf({ cluster }: PooledPlan): (deviceClass: string) => number {
  return (deviceClass) => cluster.devices[deviceClass]?.perServer ?? 1;
}

/** Whole microseconds by the published rules; what is one but for the last bits of a double counts as one. */
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
    const gbps = nextClass === undefined ? undefined : linkGbps(plan, [part.device, nextClass]);
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

/** The slower of the links at both ends; undefined where the cluster says nothing of links. Bits per ns = Gbps. */
function linkGbps(plan: PooledPlan, classes: string[]): number | undefined {
  const rates = classes
    .map((name) => plan.cluster.devices[name]?.linkGbps ?? plan.cluster.networkGbps)
    .filter((rate) => rate !== undefined);
  return rates.length === 0 ? undefined : Math.min(...rates);
}

function filledLatencies(byBatch: (number | null)[], batch: number): Float64Array {
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
  const seats = plan.placement.map((place) => ({
    place,
    pool: poolOf.get(`${place.model}/${place.pipeline}/${place.partition}`) as number,
  }));
  if (rules === 'published') seats.sort((a, b) => a.pool - b.pool);
  return seats.map(({ place, pool }, device) => {
    pools[pool]?.devices.push(device);
    const gpu = `${place.server}/gpu${place.gpu}`;
    const k = onGpu.get(gpu) ?? 0;
    onGpu.set(gpu, k + 1);
    const { server, virtual } = place;
    return { name: `${gpu}/${k}`, pool, server, gpu: place.gpu, deviceClass: place.class, virtual };
  });
}

/** What the schema cannot say: every pool is placed as often as planned, on its class, and has a latency for its batch. */
function contradictions(plan: PooledPlan): Fault[] {
  const faults: Fault[] = [];
  const placed = new Map<string, number>();
  if (plan.placement.length === 0)
    faults.push({ path: '/placement', message: 'is empty: the plan serves nothing' });
  plan.placement.forEach((place, i) => {
    const part = plan.models[place.model]?.pipelines[place.pipeline]?.partitions[place.partition];
    const path = `/placement/${i}`;
    if (part === undefined) {
      const at = `model ${place.model}, pipeline ${place.pipeline}, partition ${place.partition}`;
      faults.push({ path, message: `names ${at}, which the plan does not have` });
      return;
    }
    const key = `${place.model}/${place.pipeline}/${place.partition}`;
    placed.set(key, (placed.get(key) ?? 0) + 1);
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
