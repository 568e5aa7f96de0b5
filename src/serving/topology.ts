import { NONE } from '../collections/index.js';
import { type Fault, fault, NS_PER_US, type StageOf, stageIndex, stageName } from '../formats/index.js';
import type { Links } from './links.js';

export type { Links } from './links.js';

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
  /** `routes` says how tasks go on from stage to stage. */
  routes: Routes;
}

/** StageTopology is a topology whose routes are known: the only one that schedulers of stages take. */
export interface StageTopology extends Topology {
  routes: StageRoutes;
}

/**
 * Routes says how tasks go on from pool to pool: by stages, or of a workflow as its program calls components, so that
 * no pool leads to another.
 */
export type Routes = StageRoutes | { readonly kind: 'workflow' };

/**
 * StageRoutes says how tasks go on from stage to stage, along the edges of their pools.
 * - chains: every stage leads to the one after it, always and to no other. The pools of a pipeline have consecutive
 *   indices, and a task whose next pool has lost its devices may begin again elsewhere.
 * - dag: along every edge that is taken (EdgeCondition), as one task along each.
 * - cascade: to the next step of the gear by which the request is served. `gears` says by which models requests are
 *   served at which load.
 */
export type StageRoutes =
  | { readonly kind: 'chains' }
  | { readonly kind: 'dag' }
  | { readonly kind: 'cascade'; readonly gears: GearTable };

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
  /** A batch starts when this many tasks wait. */
  minQueue: number;
  /** The share of the gear's tasks that come to the step; absent where it is not known, and then all do. */
  visits?: number;
  /** The share of the tasks that each device of the pool is to serve; absent where devices are alike. */
  shares?: Float64Array;
}

/**
 * ServedModel is a model of the plan, with the pools at which its requests enter. Models with the same entries share all
 * their pools, as applications of one pipeline do; each request still has the SLO of its own.
 */
export interface ServedModel {
  name: string;
  /** `sloNs` is the time from arrival to deadline; Infinity for a workflow whose requests are never late. */
  sloNs: number;
  throughputRps: number;
  /** `entries` holds the entry of each pipeline: the pool of its first partition. */
  entries: number[];
}

/** Pool is the set of virtual GPUs that serve one partition of one pipeline: alike, or of several `classes`. */
export interface Pool {
  /** Of models that share the pool, the first. */
  model: number;
  /** `owner` names what the pool is of, where several models may share it. */
  owner?: string;
  stage: StageOf;
  deviceClass: string;
  virtual: number;
  /** `batch` is the planned batch, which is the largest that the pool may execute. */
  batch: number;
  /**
   * `latencyNs` is the planned execution time, that of a batch of b at index b − 1. Where the profile lacks
   * b, it is that of the next larger batch it has. Of devices of several classes it is the mean that `blendLatencies` gives.
   */
  latencyNs: Float64Array;
  /**
   * `classes` are those of its devices where there are several; `deviceClass` and `virtual` are then those of the first. Each
   * device says by `poolClass` which it is of, and serves no other pool.
   */
  classes?: readonly PoolClass[];
  /** `transferNs` is the planned time of sending b rows to the next pool over idle links, at index b − 1. */
  transferNs: Float64Array;
  /** `transferBytes` counts the bytes that one row sends to the next pool; 0 after the last partition. */
  transferBytes: number;
  /** `edges` lead to the next stages, and are none after the last; `transferNs` is the longest of all edges. */
  edges: Edge[];
  /** `throughputRps` is the planned rate of the whole pipeline, in requests per second. */
  throughputRps: number;
  /** `devices` holds the indices of its devices in `Topology.devices`. */
  devices: number[];
}

/** PoolClass is a class of the devices of a pool, with its planned execution times as `Pool.latencyNs` has them. */
export interface PoolClass {
  readonly deviceClass: string;
  readonly virtual: number;
  readonly latencyNs: Float64Array;
}

/**
 * Edge leads from a stage to a later one, whose pool has a higher index. It is taken for a task always, or by
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

/** TopologyRules say how times are rounded and devices numbered: by our own rules, or as PPipe's published simulator does. */
export type TopologyRules = 'own' | 'published';

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
  /** `poolClass` is the index of its class among those of its pool, where that has several. */
  poolClass?: number;
  server: string;
  gpu: number;
  deviceClass: string;
  virtual: number;
}

/**
 * stagesFrom counts, for each pool, the stages from it to the end of its pipeline, itself included. The pools
 * of these stages have consecutive indices.
 */
export function stagesFrom(topology: Routed): Int32Array {
  const next = nextInChains(topology);
  const stages = new Int32Array(next.length).fill(1);
  for (let i = next.length - 2; i >= 0; i--) if (next[i] !== NONE) stages[i] = 1 + (stages[i + 1] as number);
  return stages;
}

/** Routed is the part of a topology that says how tasks go on. */
export type Routed = Pick<Topology, 'pools' | 'routes'>;

/** nextInChains gives the next pool of each pool's pipeline: NONE after the last, and where the routes are no chains. */
export function nextInChains({ pools, routes }: Routed): Int32Array {
  return Int32Array.from(pools, ({ edges }) => (areChains(routes) ? (edges[0]?.to ?? NONE) : NONE));
}

const ARE_CHAINS: { readonly [K in Routes['kind']]: boolean } = {
  chains: true,
  dag: false,
  cascade: false,
  workflow: false,
};

/** areChains returns whether each stage has at most one next, which is known beforehand. */
export function areChains({ kind }: Routes): boolean {
  return ARE_CHAINS[kind];
}

/** gearsOf gives the gears by which requests are served, undefined where there are none. */
export function gearsOf(routes: Routes): GearTable | undefined {
  switch (routes.kind) {
    case 'chains':
    case 'dag':
    case 'workflow':
      return undefined;
    case 'cascade':
      return routes.gears;
  }
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
export function followersOf({ edges }: Pool): readonly number[] {
  return edges.map(({ to }) => to);
}

/** Entered is the part of a topology that says at which pools the requests of each model enter. */
export type Entered = Pick<Topology, 'models'>;

/** sharingFirst gives, for each model, the first of those that share its pools: itself where it shares none. */
export function sharingFirst({ models }: Entered): Int32Array {
  const first = new Map<number, number>();
  models.forEach(({ entries: [entry] }, model) => {
    if (entry !== undefined && !first.has(entry)) first.set(entry, model);
  });
  return Int32Array.from(models, ({ entries: [entry = NONE] }, model) => first.get(entry) ?? model);
}

/** slosSharing gives, for each model, the least and the longest SLO of those that share its pools. */
export function slosSharing({ models }: Entered): {
  readonly leastNs: Float64Array;
  readonly mostNs: Float64Array;
} {
  const first = sharingFirst({ models });
  const leastNs = Float64Array.from(models, ({ sloNs }) => sloNs);
  const mostNs = leastNs.slice();
  models.forEach(({ sloNs }, model) => {
    const group = first[model] as number;
    leastNs[group] = Math.min(leastNs[group] as number, sloNs);
    mostNs[group] = Math.max(mostNs[group] as number, sloNs);
  });
  const ofGroup = (slosNs: Float64Array) =>
    slosNs.map((_, model) => slosNs[first[model] as number] as number);
  return { leastNs: ofGroup(leastNs), mostNs: ofGroup(mostNs) };
}

/** ownerOf names what a pool is of: its model, or what the models that share it have in common. */
export function ownerOf({ models }: Entered, { owner, model }: Pick<Pool, 'owner' | 'model'>): string {
  return owner ?? (models[model] as ServedModel).name;
}

/**
 * beyondChains finds what a topology has that only stage-local schedulers serve: reservations are made for the whole
 * path of a batch, through pools whose devices are theirs and always there.
 */
export function beyondChains({ models, pools, devices, routes }: Topology): Fault[] {
  const names = areChains(routes) ? [] : models.map(({ name }) => name);
  return [
    ...names.map((name) => fault(`${name} is a DAG of stages, but reservations are made for chains`)),
    ...(devices.some(({ otherPools }) => otherPools !== undefined)
      ? [fault('some devices serve several stages, but a reservation needs devices of one stage')]
      : []),
    ...(devices.some(({ standby }) => standby === true)
      ? [fault('some devices are on standby, but a reservation needs devices that stay')]
      : []),
    ...pools
      .filter(({ classes }) => classes !== undefined)
      .map(({ stage }) =>
        fault(
          `${stageName(stage)} has devices of several classes, but a reservation needs devices that are alike`,
        ),
      ),
  ];
}

/** poolsServedBy lists the pools that a device serves. */
export function poolsServedBy({ pool, otherPools = [] }: VirtualDevice): readonly number[] {
  return [pool, ...otherPools];
}

/** mostStages is the number of stages of the longest pipeline, 0 where there are no pools. */
export function mostStages(pools: readonly Pool[]): number {
  return pools.reduce((most, { stage }) => Math.max(most, stageIndex(stage) + 1), 0);
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

/** Blended is how many devices of a class count, and how long they take for each size of batch. */
export interface Blended {
  readonly devices: number;
  readonly latencyNs: ArrayLike<number>;
}

/**
 * blendLatencies computes how long a batch is expected to take on devices of several classes: the mean over the classes,
 * each weighted by its share of the throughput with full batches. So the devices together serve as many full batches in a
 * time as if each took the mean. Where no device counts, nothing is changed.
 * @param into where the means are written, by the size of the batch; it is as long as the latencies of each class
 */
export function blendLatencies(into: Float64Array, classes: readonly Blended[]): void {
  const last = into.length - 1;
  const rateOf = ({ devices, latencyNs }: Blended): number => devices / (latencyNs[last] as number);
  let rate = 0;
  for (const one of classes) rate += rateOf(one);
  if (!(rate > 0)) return;
  const first = (classes[0] as Blended).latencyNs;
  for (let i = 0; i <= last; i++) {
    // Of equal latencies the mean is the same to the last bit.
    let mean = first[i] as number;
    for (let k = 1; k < classes.length; k++) {
      const one = classes[k] as Blended;
      mean += (rateOf(one) / rate) * ((one.latencyNs[i] as number) - (first[i] as number));
    }
    into[i] = mean;
  }
}
