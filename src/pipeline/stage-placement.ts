import { itemAt } from '../collections/index.js';
import type { OpenCluster, StageClassUse, StagePlacement } from '../formats/index.js';
import { MOST_LISTED, seatsFrom } from '../plans/index.js';
import type { LinkUse } from './link-uses.js';
import { type DeviceSet, freeGpus } from './problem.js';
import { seatsOfUnits, spreadUnits } from './spread-placement.js';

/** PlacedIn is the cluster in which devices are placed, with what their stages are called and how sets use links. */
interface PlacedIn {
  readonly cluster: OpenCluster;
  readonly names: readonly string[];
  readonly uses: readonly LinkUse[];
}

/**
 * placeStages puts the devices of a plan on GPUs, set by set. Virtual GPUs of one set fill whole GPUs, and standby
 * devices have GPUs of their own. GPUs of a class are numbered from 0, and the last ones are those that are taken. Where
 * links are used, the sets of a class are spread over its servers, unless they have more GPUs than people can read.
 */
export function placeStages(sets: readonly DeviceSet[], placed: PlacedIn): StagePlacement[] {
  const classes = [...new Set(sets.map(({ device }) => device))];
  const seats = new Map(classes.map((device) => [device, classSeats(sets, device, placed)]));
  return [false, true].flatMap((standby) =>
    sets.flatMap((set, k) => seats.get(set.device)?.get(`${k} ${standby}`) ?? []),
  );
}

/** classSeats lists the seats of each set of a class, those in use and those on standby. */
function classSeats(
  sets: readonly DeviceSet[],
  device: string,
  { cluster, names, uses }: PlacedIn,
): Map<string, StagePlacement[]> {
  const own = [...sets.keys()].filter((k) => sets[k]?.device === device);
  const ownSets = own.map((k) => itemAt(sets, k));
  const seatOf = ({ virtual, stages }: DeviceSet, standby: boolean) => ({
    class: device,
    virtual,
    stages: stages.map((i) => itemAt(names, i)),
    ...(standby ? { standby: true as const } : {}),
  });
  const gpus = ownSets.reduce(
    (sum, { replicas, standby, virtual }) =>
      sum + Math.ceil(replicas / virtual) + Math.ceil(standby / virtual),
    0,
  );
  const ownUses = own.map((k) => itemAt(uses, k));
  const isSpread = gpus <= MOST_LISTED && ownUses.some(({ upS, downS }) => upS > 0 || downS > 0);
  const units = isSpread ? spreadUnits(ownSets, { cluster, uses: ownUses }) : [];
  const perServer = cluster.devices[device]?.perServer ?? 1;
  const seats = new Map<string, StagePlacement[]>();
  let first = 0;
  for (const standby of [false, true])
    for (const [at, set] of ownSets.entries()) {
      const seat = seatOf(set, standby);
      const devices = standby ? set.standby : set.replicas;
      const key = `${own[at]} ${standby}`;
      const held = units.filter((unit) => unit.set === at && unit.standby === standby);
      const { virtual } = set;
      seats.set(
        key,
        isSpread ? seatsOfUnits(held, seat) : seatsFrom(first, { devices, virtual, perServer, seat }),
      );
      first += Math.ceil(devices / virtual);
    }
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
