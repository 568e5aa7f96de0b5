import type { Cluster, DeviceClass, Placement } from '../artifacts/index.js';
import type { WholeGpusPer } from './problem.js';

/** The virtual GPUs of one partition of one pipeline. */
export interface PoolToPlace {
  readonly model: number;
  readonly pipeline: number;
  readonly partition: number;
  readonly class: string;
  readonly virtual: number;
  readonly virtualGpus: number;
}

export interface PlacementRules {
  readonly wholeGpusPer: WholeGpusPer;
  readonly virtualPer: 'gpu' | 'server';
}

/** A whole GPU and what is on it: pools by index, one entry per virtual GPU. */
interface Gpu {
  readonly virtual: number;
  readonly pools: readonly number[];
}

const ROUNDING = 1e-9;

/**
 * Puts every virtual GPU on a server and a GPU. Whole GPUs are filled per pool, position or class as the rule says; pools
 * lie in the order of models, pipelines and partitions, each on consecutive GPUs; GPUs already taken are the last ones.
 * Under `virtualPer: server` the GPUs of one server have one virtual size. Under `position` and `class` unlike sizes may
 * share a GPU where their parts fit; a GPU's `virtual` is then each entry's own.
 * @returns undefined where the pools do not fit
 */
export function placeVirtualGpus(
  pools: readonly PoolToPlace[],
  cluster: Cluster,
  rules: PlacementRules,
): Placement[] | undefined {
  const placed: Placement[] = [];
  for (const [name, device] of Object.entries(cluster.devices)) {
    const gpus = fillGpus(pools, name, rules);
    const seats = seatGpus(gpus, device, rules);
    if (seats === undefined) return undefined;
    gpus.forEach((gpu, i) => {
      const [server, index] = seats[i] as [number, number];
      for (const p of gpu.pools) {
        const { model, pipeline, partition, virtual } = pools[p] as PoolToPlace;
        placed.push({
          server: `${name}-${server}`,
          gpu: index,
          class: name,
          virtual,
          model,
          pipeline,
          partition,
        });
      }
    });
  }
  return placed;
}

/** The whole GPUs of one class, filled group by group. */
function fillGpus(pools: readonly PoolToPlace[], name: string, rules: PlacementRules): Gpu[] {
  const groups = new Map<string, number[]>();
  pools.forEach((pool, p) => {
    if (pool.class !== name) return;
    const key = groupKey(pool, p, rules);
    groups.set(key, [...(groups.get(key) ?? []), p]);
  });
  return [...groups.values()].flatMap((members) => fillGroup(pools, members));
}

function groupKey(pool: PoolToPlace, p: number, { wholeGpusPer, virtualPer }: PlacementRules): string {
  const size = virtualPer === 'server' ? `/${pool.virtual}` : '';
  switch (wholeGpusPer) {
    case 'pool':
      return `${p}`;
    case 'position':
      return `${pool.model}/${pool.partition}${size}`;
    case 'class':
      return size;
  }
}

/** First whole GPUs of one size, then what is left over of each. */
function fillGroup(pools: readonly PoolToPlace[], members: readonly number[]): Gpu[] {
  const gpus: Gpu[] = [];
  const sizes = [...new Set(members.map((p) => (pools[p] as PoolToPlace).virtual))].sort((a, b) => a - b);
  const left: number[] = [];
  for (const virtual of sizes) {
    const units = members
      .filter((p) => (pools[p] as PoolToPlace).virtual === virtual)
      .flatMap((p) => new Array<number>((pools[p] as PoolToPlace).virtualGpus).fill(p));
    const whole = units.length - (units.length % virtual);
    for (let i = 0; i < whole; i += virtual) gpus.push({ virtual, pools: units.slice(i, i + virtual) });
    left.push(...units.slice(whole));
  }
  return [...gpus, ...packed(pools, left)];
}

/** Leftovers tried in every order of GPUs at most; past it they are taken as they come. */
const MOST_TRIES = 20_000;

/** What is left over of each size, on as few GPUs as can be found: they are few, less than v of each size. */
function packed(pools: readonly PoolToPlace[], left: readonly number[]): Gpu[] {
  const parts = left.map((p) => 1 / (pools[p] as PoolToPlace).virtual);
  const fewest = Math.ceil(parts.reduce((sum, part) => sum + part, 0) - ROUNDING);
  for (let bins = fewest; ; bins++) {
    const seats = seated(parts, bins);
    if (seats === undefined) continue;
    const gpus = Array.from({ length: bins }, (_, bin): Gpu => {
      const own = left.filter((__, i) => seats[i] === bin);
      return { virtual: Math.max(1, ...own.map((p) => (pools[p] as PoolToPlace).virtual)), pools: own };
    });
    return gpus.filter((gpu) => gpu.pools.length > 0);
  }
}

/** A GPU for every part, or undefined where none was found within the tries. */
function seated(parts: readonly number[], bins: number): number[] | undefined {
  const load = new Array<number>(bins).fill(0);
  const seats: number[] = [];
  let tries = 0;
  const place = (i: number): boolean => {
    if (i === parts.length) return true;
    if (++tries > MOST_TRIES) return false;
    const part = parts[i] as number;
    const seen = new Set<number>();
    for (let bin = 0; bin < bins; bin++) {
      const so = load[bin] as number;
      if (seen.has(so) || so + part > 1 + ROUNDING) continue;
      seen.add(so);
      seats[i] = bin;
      load[bin] = so + part;
      if (place(i + 1)) return true;
      load[bin] = so;
    }
    return false;
  };
  return place(0) ? seats : undefined;
}

/** A server and a place on it for every GPU, in order. */
function seatGpus(
  gpus: readonly Gpu[],
  device: DeviceClass,
  { virtualPer }: PlacementRules,
): [server: number, gpu: number][] | undefined {
  const available = device.count - (device.taken ?? 0);
  const perServer = device.perServer ?? 1;
  if (gpus.length > available) return undefined;
  if (virtualPer === 'gpu') return gpus.map((_, i) => [Math.floor(i / perServer), i % perServer]);
  return seatByServer(gpus, available, perServer);
}

/** Servers are given to virtual sizes; a last, smaller server goes to the first size whose remainder fits it. */
function seatByServer(
  gpus: readonly Gpu[],
  available: number,
  perServer: number,
): [number, number][] | undefined {
  const whole = Math.floor(available / perServer);
  const small = available % perServer;
  const sizes = [...new Set(gpus.map((gpu) => gpu.virtual))].sort((a, b) => a - b);
  const countOf = (v: number) => gpus.filter((gpu) => gpu.virtual === v).length;
  const onSmall = sizes.find((v) => countOf(v) % perServer > 0 && countOf(v) % perServer <= small);
  const seats = new Map<number, [number, number][]>();
  let next = 0;
  for (const v of sizes) {
    const list: [number, number][] = [];
    for (let i = 0; i < countOf(v); i++) {
      if (i % perServer === 0 && !(v === onSmall && i + perServer > countOf(v))) next++;
      const last = v === onSmall && i - (i % perServer) + perServer > countOf(v);
      list.push([last ? whole : next - 1, i % perServer]);
    }
    seats.set(v, list);
  }
  if (next > whole) return undefined;
  return gpus.map((gpu) => seats.get(gpu.virtual)?.shift() as [number, number]);
}
