/** Links gives the numbers of the uplink and the downlink of each device, by the number of the device. */
export interface Links {
  uplinkOf: Int32Array;
  downlinkOf: Int32Array;
  uplinkCount: number;
  downlinkCount: number;
}

/** Stage holds the fields of a pool that determine its links. */
interface Stage {
  devices: readonly number[];
  deviceClass: string;
  virtual: number;
  edges: readonly { readonly to: number }[];
}

/** linksByServer gives every server one uplink and one downlink, which its virtual GPUs share. */
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
 * publishedLinks makes the links as PPipe's published simulator has them. Groups of consecutive devices of a
 * pool share an uplink. A group has max(perServer of this stage, perServer of the next stage) · v devices;
 * the last group may have fewer. A device of a last stage has a downlink to itself, and the devices of an
 * earlier stage share downlinks as they share uplinks.
 */
export function publishedLinks(pools: readonly Stage[], perServerOf: (deviceClass: string) => number): Links {
  const count = pools.reduce((sum, { devices }) => sum + devices.length, 0);
  const uplinkOf = new Int32Array(count);
  const downlinkOf = new Int32Array(count);
  let uplinkCount = 0;
  let downlinkCount = 0;
  for (const { devices, deviceClass, virtual, edges } of pools) {
    const next = edges[0]?.to;
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
