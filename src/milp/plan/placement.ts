import { largestOf, pushAll } from '../../collections/index.js';
import type { Cluster, DeviceClass, Placement } from '../../formats/index.js';
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

/** PlacementRules says which virtual GPUs may share a GPU, and which sizes may share a server. */
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
 * TakeGpus gives the numbers of the next GPUs of a virtual size, as rows of consecutive ones. The GPUs of a server are
 * numbered one after the other.
 */
type TakeGpus = (virtual: number, count: number) => readonly { first: number; count: number }[];

/**
 * Up to this many like GPUs have entries of their own, which people can read. Longer rows have one entry for all their
 * GPUs.
 */
const MOST_LISTED = 1000;

const ROUNDING = 1e-9;

/**
 * placeVirtualGpus puts every virtual GPU on a server and a GPU. Whole GPUs are filled per pool, position or class, as
 * `wholeGpusPer` says. GPUs are numbered class by class from 0, and the last ones are those that are taken. Within a
 * group, smaller virtual sizes come first, and virtual GPUs that fill no GPU come last. Under `virtualPer: server` the
 * GPUs of one server have one virtual size. Under `virtualPer: gpu`, `position` and `class` let unlike sizes share a
 * GPU if their parts fit; the `virtual` of an entry is then its own. There is an entry per virtual GPU, but a row of
 * more than 1,000 like GPUs has those of its first GPU only, with the row's length as `count`.
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
    const take = numbering(gpus, device, rules);
    if (take === undefined) return undefined;
    for (const { virtual, count, pools: held } of gpus) {
      const holders = held.map((p) => pools[p] as PoolToPlace);
      for (const row of take(virtual, count))
        for (const entry of entriesOf(row, holders, device.perServer ?? 1)) placed.push(entry);
    }
  }
  return placed;
}

/** canPlace says whether `placeVirtualGpus()` finds places, at a cost that does not grow with the cluster. */
export function canPlace(pools: readonly PoolToPlace[], cluster: Cluster, rules: PlacementRules): boolean {
  return Object.entries(cluster.devices).every(
    ([name, device]) => numbering(fillGpus(pools, name, rules), device, rules) !== undefined,
  );
}

/** entriesOf lists a row of GPUs that all hold virtual GPUs of these pools. */
function entriesOf(
  row: { readonly first: number; readonly count: number },
  pools: readonly PoolToPlace[],
  perServer: number,
): Placement[] {
  const listed = row.count > MOST_LISTED ? 1 : row.count;
  const repeated = row.count > MOST_LISTED ? { count: row.count } : {};
  return Array.from({ length: listed }, (_, i) => {
    const gpu = (row.first + i) % perServer;
    const number = (row.first + i - gpu) / perServer;
    return pools.map(({ class: name, virtual, model, pipeline, partition }) => ({
      server: `${name}-${number}`,
      gpu,
      ...repeated,
      class: name,
      virtual,
      model,
      pipeline,
      partition,
    }));
  }).flat();
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

/** fillGroup fills whole GPUs of one size first, and then packs the leftovers of each size. */
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
    pushAll(left, open);
  }
  return [...gpus, ...packed(pools, left)];
}

/** Leftovers are tried in every order of GPUs for up to this many tries, and after that in their given order. */
const MOST_TRIES = 20_000;

/**
 * packed puts the leftovers of each size on as few GPUs as it can find. There are fewer than v leftovers of each size
 * v.
 */
function packed(pools: readonly PoolToPlace[], left: readonly number[]): AlikeGpus[] {
  const parts = left.map((p) => 1 / (pools[p] as PoolToPlace).virtual);
  const fewest = Math.ceil(parts.reduce((sum, part) => sum + part, 0) - ROUNDING);
  for (let bins = fewest; ; bins++) {
    const seats = seated(parts, bins);
    if (seats === undefined) continue;
    const gpus = Array.from({ length: bins }, (_, bin): AlikeGpus => {
      const own = left.filter((__, i) => seats[i] === bin);
      const virtual = Math.max(1, largestOf(own.map((p) => (pools[p] as PoolToPlace).virtual)));
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

/**
 * @returns undefined if more GPUs are needed than are free
 */
function numbering(
  gpus: readonly AlikeGpus[],
  device: DeviceClass,
  { virtualPer }: PlacementRules,
): TakeGpus | undefined {
  const available = device.count - (device.taken ?? 0);
  if (virtualPer === 'server') return numberingByServer(gpus, available, device.perServer ?? 1);
  if (gpus.reduce((sum, { count }) => sum + count, 0) > available) return undefined;
  let next = 0;
  return (_virtual, count) => {
    next += count;
    return [{ first: next - count, count }];
  };
}

/**
 * Servers are given to virtual sizes. The last server, if it is smaller, goes to the first size whose remainder fits on
 * it.
 */
function numberingByServer(
  gpus: readonly AlikeGpus[],
  available: number,
  perServer: number,
): TakeGpus | undefined {
  const whole = Math.floor(available / perServer);
  const small = available % perServer;
  const counts = new Map<number, number>();
  for (const { virtual, count } of gpus) counts.set(virtual, (counts.get(virtual) ?? 0) + count);
  const sizes = [...counts].sort(([a], [b]) => a - b);
  const onSmall = sizes.find(([, count]) => count % perServer > 0 && count % perServer <= small)?.[0];
  const numbersOf = new Map<number, { next: number; left: number; small: number }>();
  let server = 0;
  for (const [virtual, count] of sizes) {
    const left = virtual === onSmall ? count - (count % perServer) : count;
    numbersOf.set(virtual, { next: server * perServer, left, small: 0 });
    server += Math.ceil(left / perServer);
  }
  if (server > whole) return undefined;
  return (virtual, count) => {
    const numbers = numbersOf.get(virtual) as { next: number; left: number; small: number };
    const first = numbers.next;
    const here = Math.min(count, numbers.left);
    numbers.next += here;
    numbers.left -= here;
    if (here === count) return [{ first, count }];
    // The remainder goes to the smaller server.
    const rest = { first: whole * perServer + numbers.small, count: count - here };
    numbers.small += rest.count;
    return [{ first, count: here }, rest];
  };
}
