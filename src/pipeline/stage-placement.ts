import type { OpenCluster, StageClassUse, StagePlacement } from '../artifacts/index.js';
import { type DeviceSet, freeGpus } from './problem.js';

/** Up to this many like GPUs have entries of their own, which people can read. */
const MOST_LISTED = 1000;

/**
 * placeStages puts the devices of a plan on GPUs, set by set. Virtual GPUs of one set fill whole GPUs, and standby
 * devices have GPUs of their own. GPUs of a class are numbered from 0, and the last ones are those that are taken.
 */
export function placeStages(
  sets: readonly DeviceSet[],
  { cluster, names }: { readonly cluster: OpenCluster; readonly names: readonly string[] },
): StagePlacement[] {
  const next = new Map<string, number>();
  const rows = [
    ...sets.map((set) => ({ set, standby: false })),
    ...sets.map((set) => ({ set, standby: true })),
  ];
  return rows.flatMap(({ set, standby }) => {
    const { device, virtual } = set;
    const first = next.get(device) ?? 0;
    const devices = standby ? set.standby : set.replicas;
    next.set(device, first + Math.ceil(devices / virtual));
    const perServer = cluster.devices[device]?.perServer ?? 1;
    const seat: Omit<StagePlacement, 'server' | 'gpu'> = {
      class: device,
      virtual,
      stages: set.stages.map((i) => names[i] as string),
      ...(standby ? { standby: true } : {}),
    };
    return seatsFrom(first, { devices, virtual, perServer, seat });
  });
}

/** seatsFrom lists the seats of devices that fill GPUs of a class one after another, from a number on. */
export function seatsFrom(
  first: number,
  {
    devices,
    virtual,
    perServer,
    seat: { class: name, ...rest },
  }: {
    readonly devices: number;
    readonly virtual: number;
    readonly perServer: number;
    readonly seat: Omit<StagePlacement, 'server' | 'gpu'>;
  },
): StagePlacement[] {
  const at = (gpu: number, count: number): StagePlacement => ({
    server: `${name}-${Math.floor(gpu / perServer)}`,
    gpu: gpu % perServer,
    ...(count > 1 ? { count } : {}),
    class: name,
    ...rest,
  });
  const full = Math.floor(devices / virtual);
  const entries = full > MOST_LISTED ? [full] : Array.from({ length: full }, () => 1);
  const seats: StagePlacement[] = [];
  let gpu = first;
  for (const count of entries) {
    for (let k = 0; k < virtual; k++) seats.push(at(gpu, count));
    gpu += count;
  }
  for (let k = full * virtual; k < devices; k++) seats.push(at(gpu, 1));
  return seats;
}

/** classUses counts the GPUs of each class that a plan uses. */
export function classUses(
  sets: readonly DeviceSet[],
  cluster: OpenCluster,
  emulated: ReadonlySet<string>,
): Record<string, StageClassUse> {
  const uses = Object.entries(cluster.devices).map(([name, device]): [string, StageClassUse] => {
    const own = sets.filter((set) => set.device === name);
    const used = own.reduce((sum, { replicas, virtual }) => sum + Math.ceil(replicas / virtual), 0);
    const standby = own.reduce((sum, set) => sum + Math.ceil(set.standby / set.virtual), 0);
    const count = freeGpus(device);
    return [
      name,
      {
        ...(emulated.has(name) ? { emulated: true } : {}),
        used,
        ...(standby > 0 ? { standby } : {}),
        ...(count === undefined ? {} : { count }),
      },
    ];
  });
  return Object.fromEntries(uses);
}

/**
 * mostHourlyCost is the price of the GPUs that are up when all standby devices are too; undefined where there are none, or
 * a class has no price.
 */
export function mostHourlyCost(
  classes: Readonly<Record<string, StageClassUse>>,
  cluster: OpenCluster,
): number | undefined {
  const all = Object.entries(classes).map(([name, { used, standby = 0 }]) => [
    name,
    { used: used + standby },
  ]);
  const hasStandby = Object.values(classes).some(({ standby = 0 }) => standby > 0);
  return hasStandby ? hourlyCost(Object.fromEntries(all), cluster) : undefined;
}

/** hourlyCost is the price of the GPUs that are up; undefined where a class that is used has no price. */
export function hourlyCost(
  classes: Readonly<Record<string, StageClassUse>>,
  { devices }: OpenCluster,
): number | undefined {
  const used = Object.entries(classes).filter((entry) => entry[1].used > 0);
  const prices = used.map(([name, use]) => {
    const price = devices[name]?.hourlyCost;
    return price === undefined ? undefined : price * use.used;
  });
  return prices.every((price) => price !== undefined)
    ? prices.reduce((sum, price) => sum + price, 0)
    : undefined;
}
