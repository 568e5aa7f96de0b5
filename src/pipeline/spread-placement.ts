import { itemAt } from '../collections/index.js';
import type { OpenCluster, StagePlacement } from '../formats/index.js';
import type { LinkUse } from './link-uses.js';
import { type DeviceSet, freeGpus } from './problem.js';

/** Unit is what one GPU holds: as many devices of a set as it is divided into, or fewer. */
interface Unit {
  readonly set: number;
  readonly standby: boolean;
  readonly devices: number;
  readonly upS: number;
  readonly downS: number;
}

/** Server is a server of a class with the GPUs of it that are left, and with how its links are used for a request. */
interface Server {
  readonly gpus: number;
  taken: number;
  upS: number;
  downS: number;
}

/**
 * spreadUnits puts the GPUs of the sets of one class on its servers, so that what is sent and received is spread over the
 * links of all: those that use links most first, each where the busier of both links is then the least busy. GPUs that use
 * no link, and those on standby, follow. A class without a limit has a server for each GPU that is needed.
 * @returns for each set, the places of its GPUs in use and on standby
 */
export function spreadUnits(
  sets: readonly DeviceSet[],
  { cluster, uses }: { readonly cluster: OpenCluster; readonly uses: readonly LinkUse[] },
): SpreadUnit[] {
  const units = sets.flatMap((set, k) => [
    ...unitsOf(set, k, { standby: false, use: uses[k] }),
    ...unitsOf(set, k, { standby: true, use: uses[k] }),
  ]);
  const servers = serversOf(cluster.devices[sets[0]?.device as string] ?? {}, units.length);
  const order = [...units.keys()].sort(
    (a, b) => rankOf(itemAt(units, b)) - rankOf(itemAt(units, a)) || a - b,
  );
  const found = new Array<SpreadUnit>(units.length);
  for (const k of order) {
    const unit = itemAt(units, k);
    const server = leastUsed(servers, unit);
    const one = itemAt(servers, server);
    found[k] = { set: unit.set, standby: unit.standby, devices: unit.devices, server, gpu: one.taken };
    one.taken++;
    one.upS += unit.upS;
    one.downS += unit.downS;
  }
  return found;
}

/** SpreadUnit is where a GPU of a set is. */
export interface SpreadUnit {
  readonly set: number;
  readonly standby: boolean;
  readonly devices: number;
  readonly server: number;
  readonly gpu: number;
}

function unitsOf(
  { replicas, standby, virtual }: DeviceSet,
  set: number,
  { standby: isStandby, use = { upS: 0, downS: 0 } }: { standby: boolean; use: LinkUse | undefined },
): Unit[] {
  const devices = isStandby ? standby : replicas;
  const each = { upS: use.upS / Math.max(1, replicas), downS: use.downS / Math.max(1, replicas) };
  return Array.from({ length: Math.ceil(devices / virtual) }, (_, k): Unit => {
    const held = Math.min(virtual, devices - k * virtual);
    return { set, standby: isStandby, devices: held, upS: held * each.upS, downS: held * each.downS };
  });
}

/** rankOf orders units: those in use by how they use links, then those on standby. */
function rankOf({ standby, upS, downS }: Unit): number {
  return standby ? -1 : Math.max(upS, downS);
}

function serversOf(device: OpenCluster['devices'][string], units: number): Server[] {
  const perServer = Math.max(1, device.perServer ?? 1);
  const free = freeGpus(device) ?? Number.POSITIVE_INFINITY;
  const servers: Server[] = [];
  // Devices that do not fit are placed too, as nobody serves by it: the plan is refused by its counts.
  for (let left = free; servers.length < units && left > 0; left -= perServer)
    servers.push({ gpus: Math.min(perServer, left), taken: 0, upS: 0, downS: 0 });
  const gpus = servers.reduce((sum, one) => sum + one.gpus, 0);
  for (let more = units - gpus; more > 0; more -= perServer)
    servers.push({ gpus: perServer, taken: 0, upS: 0, downS: 0 });
  return servers;
}

function leastUsed(servers: readonly Server[], { upS, downS }: Unit): number {
  let [best, least] = [-1, Number.POSITIVE_INFINITY];
  for (const [k, server] of servers.entries()) {
    if (server.taken >= server.gpus) continue;
    if (upS === 0 && downS === 0) return k;
    const busy = Math.max(server.upS + upS, server.downS + downS);
    if (best < 0 || busy < least) [best, least] = [k, busy];
  }
  return best;
}

/** seatsOfUnits lists the seats of a set's units, GPU by GPU. */
export function seatsOfUnits(
  units: readonly SpreadUnit[],
  seat: Omit<StagePlacement, 'server' | 'gpu'>,
): StagePlacement[] {
  const { class: name, ...rest } = seat;
  return units
    .toSorted((a, b) => a.server - b.server || a.gpu - b.gpu)
    .flatMap(({ server, gpu, devices }) =>
      Array.from({ length: devices }, () => ({ server: `${name}-${server}`, gpu, class: name, ...rest })),
    );
}
