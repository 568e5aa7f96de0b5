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
    seatPools(pools, name, gpus, seats, placed);
  }
  return placed;
}

/** The entries of one class; large clusters have hundreds of thousands, so that each costs no more than itself. */
function seatPools(
  pools: readonly PoolToPlace[],
  name: string,
  gpus: readonly Gpu[],
  { servers, places }: Seats,
  placed: Placement[],
): void {
  let last = -1;
  let server = '';
  for (let i = 0; i < gpus.length; i++) {
    const number = servers[i] as number;
    if (number !== last) [last, server] = [number, `${name}-${number}`];
    const gpu = places[i] as number;
    let pool = -1;
    for (const p of (gpus[i] as Gpu).pools) {
      // Entries of one pool on one GPU are the same.
      if (p === pool) placed.push(placed.at(-1) as Placement);
      else {
        const { model, pipeline, partition, virtual } = pools[p] as PoolToPlace;
        placed.push({ server, gpu, class: name, virtual, model, pipeline, partition });
      }
      pool = p;
    }
  }
}

/** The whole GPUs of one class, filled group by group. */
function fillGpus(pools: readonly PoolToPlace[], name: string, rules: PlacementRules): Gpu[] {
  const groups = new Map<string, number[]>();
  pools.forEach((pool, p) => {
    if (pool.class !== name) return;
    const key = groupKey(pool, p, rules);
    const known = groups.get(key);
    if (known === undefined) groups.set(key, [p]);
    else known.push(p);
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
    let open: number[] = [];
    for (const p of members) {
      const pool = pools[p] as PoolToPlace;
      if (pool.virtual !== virtual) continue;
      let units = pool.virtualGpus;
      for (; open.length > 0 && open.length < virtual && units > 0; units--) open.push(p);
      if (open.length === virtual) {
        gpus.push({ virtual, pools: open });
        open = [];
      }
      // Whole GPUs of one pool are alike, and share what they hold.
      const alike: Gpu = { virtual, pools: new Array<number>(virtual).fill(p) };
      for (; units >= virtual; units -= virtual) gpus.push(alike);
      for (; units > 0; units--) open.push(p);
    }
    left.push(...open);
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
interface Seats {
  readonly servers: Int32Array;
  readonly places: Int32Array;
}

function seatGpus(
  gpus: readonly Gpu[],
  device: DeviceClass,
  { virtualPer }: PlacementRules,
): Seats | undefined {
  const available = device.count - (device.taken ?? 0);
  const perServer = device.perServer ?? 1;
  if (gpus.length > available) return undefined;
  if (virtualPer === 'server') return seatByServer(gpus, available, perServer);
  const servers = new Int32Array(gpus.length);
  const places = new Int32Array(gpus.length);
  for (let i = 0; i < gpus.length; i++) {
    servers[i] = Math.floor(i / perServer);
    places[i] = i % perServer;
  }
  return { servers, places };
}

/** Servers are given to virtual sizes; a last, smaller server goes to the first size whose remainder fits it. */
function seatByServer(gpus: readonly Gpu[], available: number, perServer: number): Seats | undefined {
  const whole = Math.floor(available / perServer);
  const small = available % perServer;
  const counts = new Map<number, number>();
  for (const { virtual } of gpus) counts.set(virtual, (counts.get(virtual) ?? 0) + 1);
  const sizes = [...counts].sort(([a], [b]) => a - b);
  const onSmall = sizes.find(([, count]) => count % perServer > 0 && count % perServer <= small)?.[0];
  const firsts = new Map<number, number>();
  let next = 0;
  for (const [v, count] of sizes) {
    firsts.set(v, next);
    next += v === onSmall ? Math.floor(count / perServer) : Math.ceil(count / perServer);
  }
  if (next > whole) return undefined;
  const servers = new Int32Array(gpus.length);
  const places = new Int32Array(gpus.length);
  const seated = new Map<number, number>();
  gpus.forEach(({ virtual }, g) => {
    const i = seated.get(virtual) ?? 0;
    seated.set(virtual, i + 1);
    const last = virtual === onSmall && i - (i % perServer) + perServer > (counts.get(virtual) as number);
    servers[g] = last ? whole : (firsts.get(virtual) as number) + Math.floor(i / perServer);
    places[g] = i % perServer;
  });
  return { servers, places };
}
