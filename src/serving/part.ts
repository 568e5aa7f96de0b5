import { smallestOf } from '../collections/index.js';
import { linksByServer } from './links.js';
import {
  type GearTable,
  gearsOf,
  type Pool,
  poolsServedBy,
  type ServedGear,
  type StageRoutes,
  type StageTopology,
  type VirtualDevice,
} from './topology.js';

/** TopologyPart is what some devices of a topology serve by themselves. */
export interface TopologyPart {
  /** All models stay, so that their numbers do; those that are not served here have no entries. */
  readonly topology: StageTopology;
  /** The pools of the whole topology that it has, in its order. */
  readonly pools: readonly number[];
}

/**
 * topologyPartOf gives what the devices for which `isHere` holds serve by themselves: the routes all of whose pools
 * have one of them in use, and of gears all or nothing. Rates are those of the pools' devices that are here. Its cost
 * is linear in the topology.
 * @param isHere says of a device by its place in the topology
 */
export function topologyPartOf(
  topology: StageTopology,
  isHere: (device: VirtualDevice, index: number) => boolean,
): TopologyPart {
  const here = topology.devices.map(isHere);
  const isServed = topology.pools.map((pool) =>
    pool.devices.some((device) => here[device] && topology.devices[device]?.standby !== true),
  );
  const entries = entriesHere(topology, isServed);
  const pools = [...reached(topology, new Set(entries.flat()))].sort((a, b) => a - b);
  const poolAt = new Map(pools.map((pool, i) => [pool, i]));
  const kept = topology.devices.flatMap((device, i) =>
    here[i] && poolsServedBy(device).some((pool) => poolAt.has(pool)) ? [i] : [],
  );
  const deviceAt = new Map(kept.map((device, i) => [device, i]));
  const devices = kept.map((i) => movedDevice(topology.devices[i] as VirtualDevice, poolAt));
  const own = pools.map((pool) => movedPool(topology.pools[pool] as Pool, poolAt, deviceAt));
  const part = { ...topology, pools: own };
  const partFrom = (entry: number) =>
    smallestOf([...reached(part, new Set([entry]))].map((pool) => partOfPool(pools[pool] as number)));
  const partOfPool = (pool: number) => {
    const { devices: all } = topology.pools[pool] as Pool;
    return all.filter((device) => deviceAt.has(device)).length / all.length;
  };
  const models = topology.models.map((model, m) => {
    const rateOf = (pool: number) => (topology.pools[pool] as Pool).throughputRps;
    const all = model.entries.reduce((sum, pool) => sum + rateOf(pool), 0);
    const first = (entries[m] as number[]).map((pool) => poolAt.get(pool) as number);
    const rate = first.reduce((sum, pool) => sum + rateOf(pools[pool] as number) * partFrom(pool), 0);
    return { ...model, throughputRps: all > 0 ? (model.throughputRps * rate) / all : 0, entries: first };
  });
  const routes = movedRoutes(topology, poolAt, deviceAt);
  return { topology: { models, pools: own, devices, links: linksByServer(devices), routes }, pools };
}

/** entriesHere gives the entries of each model from which every way has devices here. */
function entriesHere(topology: StageTopology, isServed: readonly boolean[]): number[][] {
  const isWhole = gearsOf(topology.routes) === undefined || isServed.every((served) => served);
  return topology.models.map(({ entries }) =>
    entries.filter(
      (entry) => isWhole && [...reached(topology, new Set([entry]))].every((pool) => isServed[pool]),
    ),
  );
}

/** reached adds to pools all that can come after them; with gears, all pools. */
function reached({ pools, routes }: StageTopology, from: Set<number>): Set<number> {
  if (gearsOf(routes) !== undefined) return from.size === 0 ? from : new Set(pools.keys());
  for (const pool of from) for (const { to } of (pools[pool] as Pool).edges) from.add(to);
  return from;
}

function movedDevice(device: VirtualDevice, poolAt: ReadonlyMap<number, number>): VirtualDevice {
  const { pool: _, otherPools: __, ...rest } = device;
  const [first, ...others] = poolsServedBy(device).flatMap((pool) => poolAt.get(pool) ?? []);
  return {
    ...rest,
    pool: first as number,
    ...(others.length === 0 ? {} : { otherPools: others }),
  };
}

function movedPool(
  pool: Pool,
  poolAt: ReadonlyMap<number, number>,
  deviceAt: ReadonlyMap<number, number>,
): Pool {
  const devices = pool.devices.flatMap((device) => deviceAt.get(device) ?? []);
  return {
    ...pool,
    devices,
    edges: pool.edges.map((edge) => ({ ...edge, to: poolAt.get(edge.to) as number })),
    throughputRps: (pool.throughputRps * devices.length) / pool.devices.length,
  };
}

function movedRoutes(
  topology: StageTopology,
  poolAt: ReadonlyMap<number, number>,
  deviceAt: ReadonlyMap<number, number>,
): StageRoutes {
  const table = gearsOf(topology.routes);
  if (table === undefined || poolAt.size === 0) return topology.routes;
  const part = deviceAt.size / topology.devices.length;
  const { plannedRps } = table;
  const gears: GearTable = {
    ...table,
    ...(plannedRps === undefined ? {} : { plannedRps: plannedRps * part }),
    gears: table.gears.map((gear) =>
      movedGear(gear, part, (pool, shares) => sharesHere(topology.pools[pool] as Pool, shares, deviceAt)),
    ),
  };
  return { kind: 'cascade', gears };
}

function movedGear(
  { toRps, steps, ...gear }: ServedGear,
  part: number,
  sharesOf: (pool: number, shares: Float64Array) => Float64Array,
): ServedGear {
  return {
    ...gear,
    toRps: toRps * part,
    steps: steps.map(({ shares, ...step }) => ({
      ...step,
      ...(shares === undefined ? {} : { shares: sharesOf(step.pool, shares) }),
    })),
  };
}

/** sharesHere gives the shares of the devices that are here, which sum to 1; equal ones where all of them are 0. */
function sharesHere(
  { devices }: Pool,
  shares: Float64Array,
  deviceAt: ReadonlyMap<number, number>,
): Float64Array {
  const own = shares.filter((_, i) => deviceAt.has(devices[i] as number));
  const sum = own.reduce((all, share) => all + share, 0);
  return own.map((share) => (sum > 0 ? share / sum : 1 / own.length));
}
