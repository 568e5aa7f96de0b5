import type { Cluster, DeviceClass, Placement } from '../../artifacts/index.js';
import type { WholeGpusPer } from '../problem.js';

/** PoolToPlace is the virtual GPUs of one partition of one pipeline. */
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

/** AlikeGpus are whole GPUs with the same content: pools by index, with one entry per virtual GPU. */
interface AlikeGpus {
  readonly virtual: number;
  readonly pools: readonly number[];
  readonly count: number;
}

/**
 * NextGpu gives the number of the next GPU of a virtual size. The GPUs of a server are numbered one after the other.
 */
type NextGpu = (virtual: number) => number;

const ROUNDING = 1e-9;

/**
 * placeVirtualGpus puts every virtual GPU on a server and a GPU. Whole GPUs are filled per pool, position or class,
 * as `wholeGpusPer` says. GPUs are numbered class by class from 0, and those already taken are the last ones. Within
 * a group smaller virtual sizes come first, and what fills no GPU comes last. Under `virtualPer: server` the GPUs of one server have one virtual size.
 * Under `virtualPer: gpu`, `position` and `class` let unlike sizes share a GPU if their parts fit; the
 * `virtual` of an entry is then its own.
 * @returns undefined if the pools do not fit
 */
export function placeVirtualGpus(
  pools: readonly PoolToPlace[],
  cluster: Cluster,
  rules: PlacementRules,
): Placement[] | undefined {
  const placed: Placement[] = [];
  for (const [name, device] of Object.entries(cluster.devices)) {
    const gpus = fillGpus(pools, name, rules);
    const next = numbering(gpus, device, rules);
    if (next === undefined) return undefined;
    for (const alike of gpus) placeAlike(alike, pools, name, device.perServer ?? 1, next, placed);
  }
  return placed;
}

/** canPlace says whether `placeVirtualGpus()` would place them, at a cost that does not grow with the cluster. */
export function canPlace(pools: readonly PoolToPlace[], cluster: Cluster, rules: PlacementRules): boolean {
  return Object.entries(cluster.devices).every(
    ([name, device]) => numbering(fillGpus(pools, name, rules), device, rules) !== undefined,
  );
}

/**
 * placeAlike adds the entries of GPUs that are alike. Large clusters have hundreds of thousands of entries, so equal
 * ones share one object.
 */
function placeAlike(
  { virtual, pools: on, count }: AlikeGpus,
  pools: readonly PoolToPlace[],
  name: string,
  perServer: number,
  next: NextGpu,
  placed: Placement[],
): void {
  let last = -1;
  let server = '';
  for (let i = 0; i < count; i++) {
    const number = next(virtual);
    const gpu = number % perServer;
    const of = (number - gpu) / perServer;
    if (of !== last) [last, server] = [of, `${name}-${of}`];
    let entry: Placement | undefined;
    for (let k = 0; k < on.length; k++) {
      // The entries of one pool on one GPU are equal.
      if (entry === undefined || on[k] !== on[k - 1]) {
        const { model, pipeline, partition, virtual: own } = pools[on[k] as number] as PoolToPlace;
        entry = { server, gpu, class: name, virtual: own, model, pipeline, partition };
      }
      placed.push(entry);
    }
  }
}

/** fillGpus fills the whole GPUs of one class, group by group. */
function fillGpus(pools: readonly PoolToPlace[], name: string, rules: PlacementRules): AlikeGpus[] {
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

/** fillGroup fills whole GPUs of one size first, and then packs what is left over of each size. */
function fillGroup(pools: readonly PoolToPlace[], members: readonly number[]): AlikeGpus[] {
  const gpus: AlikeGpus[] = [];
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
        gpus.push({ virtual, pools: open, count: 1 });
        open = [];
      }
      const count = Math.floor(units / virtual);
      if (count > 0) gpus.push({ virtual, pools: new Array<number>(virtual).fill(p), count });
      for (units -= count * virtual; units > 0; units--) open.push(p);
    }
    left.push(...open);
  }
  return [...gpus, ...packed(pools, left)];
}

/** Leftovers are tried in every order of GPUs up to this many tries; then they are taken as they come. */
const MOST_TRIES = 20_000;

/**
 * packed puts what is left over of each size on as few GPUs as can be found. Leftovers are few: fewer than v of each
 * size v.
 */
function packed(pools: readonly PoolToPlace[], left: readonly number[]): AlikeGpus[] {
  const parts = left.map((p) => 1 / (pools[p] as PoolToPlace).virtual);
  const fewest = Math.ceil(parts.reduce((sum, part) => sum + part, 0) - ROUNDING);
  for (let bins = fewest; ; bins++) {
    const seats = seated(parts, bins);
    if (seats === undefined) continue;
    const gpus = Array.from({ length: bins }, (_, bin): AlikeGpus => {
      const own = left.filter((__, i) => seats[i] === bin);
      const virtual = Math.max(1, ...own.map((p) => (pools[p] as PoolToPlace).virtual));
      return { virtual, pools: own, count: 1 };
    });
    return gpus.filter((gpu) => gpu.pools.length > 0);
  }
}

/** seated gives a GPU for every part, or undefined if none was found within the tries. */
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

/** @returns undefined if there are more GPUs than are free */
function numbering(
  gpus: readonly AlikeGpus[],
  device: DeviceClass,
  { virtualPer }: PlacementRules,
): NextGpu | undefined {
  const available = device.count - (device.taken ?? 0);
  if (virtualPer === 'server') return numberingByServer(gpus, available, device.perServer ?? 1);
  if (gpus.reduce((sum, { count }) => sum + count, 0) > available) return undefined;
  let next = 0;
  return () => next++;
}

/** Servers are given to virtual sizes. A last, smaller server goes to the first size whose remainder fits on it. */
function numberingByServer(
  gpus: readonly AlikeGpus[],
  available: number,
  perServer: number,
): NextGpu | undefined {
  const whole = Math.floor(available / perServer);
  const small = available % perServer;
  const counts = new Map<number, number>();
  for (const { virtual, count } of gpus) counts.set(virtual, (counts.get(virtual) ?? 0) + count);
  const sizes = [...counts].sort(([a], [b]) => a - b);
  const onSmall = sizes.find(([, count]) => count % perServer > 0 && count % perServer <= small)?.[0];
  const numbers = new Map<number, { next: number; left: number }>();
  let server = 0;
  for (const [virtual, count] of sizes) {
    const left = virtual === onSmall ? count - (count % perServer) : count;
    numbers.set(virtual, { next: server * perServer, left });
    server += Math.ceil(left / perServer);
  }
  if (server > whole) return undefined;
  return (virtual) => {
    const number = numbers.get(virtual) as { next: number; left: number };
    if (number.left-- === 0) number.next = whole * perServer;
    return number.next++;
  };
}
