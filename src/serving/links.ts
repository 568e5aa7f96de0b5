/** Links to and from the network, by number, of each device. */
export interface Links {
  uplinkOf: Int32Array;
  downlinkOf: Int32Array;
  uplinkCount: number;
  downlinkCount: number;
}

/** What of a pool its links follow from. */
interface Stage {
  devices: readonly number[];
  deviceClass: string;
  virtual: number;
  next?: number;
}

/** The virtual GPUs of a server share one link of each direction. */
export function linksByServer(devices: readonly { server: string }[]): Links {
  const servers = new Map<string, number>();
  const linkOf = Int32Array.from(devices, ({ server }) => {
    const known = servers.get(server);
    if (known !== undefined) return known;
    servers.set(server, servers.size);
    return servers.size - 1;
  });
  return { uplinkOf: linkOf, downlinkOf: linkOf, uplinkCount: servers.size, downlinkCount: servers.size };
}

/**
 * Links as PPipe's published simulator has them. Consecutive workers of a pool share an uplink, max(perServer here, perServer of
 * the next stage) · v of them, the last group maybe fewer. A worker of a last stage has a downlink to itself; those of a middle stage
 * share one as they share their uplink.
 */
export function publishedLinks(pools: readonly Stage[], perServerOf: (deviceClass: string) => number): Links {
  const count = pools.reduce((sum, { devices }) => sum + devices.length, 0);
  const uplinkOf = new Int32Array(count);
  const downlinkOf = new Int32Array(count);
  let uplinkCount = 0;
  let downlinkCount = 0;
  for (const { devices, deviceClass, virtual, next } of pools) {
    const there = next === undefined ? 0 : perServerOf(pools[next]?.deviceClass as string);
    const sharing = Math.max(perServerOf(deviceClass), there) * virtual;
    devices.forEach((device, i) => {
      uplinkOf[device] = uplinkCount + Math.floor(i / sharing);
      downlinkOf[device] = downlinkCount + (next === undefined ? i : Math.floor(i / sharing));
    });
    const groups = Math.ceil(devices.length / sharing);
    uplinkCount += groups;
    downlinkCount += next === undefined ? devices.length : groups;
  }
  return { uplinkOf, downlinkOf, uplinkCount, downlinkCount };
}
