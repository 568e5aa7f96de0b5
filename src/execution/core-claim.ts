import type { Device } from './device.js';
import { hostThreads } from './host.js';

/**
 * The cores that a server and a client on its own host take beside the devices. Both together took 0.3 cores at 46
 * requests/s of 150 KB in the quickstart, and bursts take more.
 */
const FRONT_CORES = 0.5;

/**
 * crowdedHost says, with figures, that whole devices leave less of their host than a server and a client on it take.
 * Only CPUs are looked at. An emulated one waits for most of its time, and keeps 1/slowdown of its cores busy.
 * @param called how the text names the host
 * @returns undefined where there is room, or no CPU among the devices
 */
export function crowdedHost(
  devices: readonly { readonly device: Device; readonly count: number }[],
  hostCores: number = hostThreads(),
  called = 'this host',
): string | undefined {
  const cpus = devices.filter(({ device }) => device.provider === 'cpu');
  const busy = ({ threads = hostCores, slowdown = 1 }: Device): number => threads / slowdown;
  const deviceCores = cpus.reduce((sum, { device, count }) => sum + count * busy(device), 0);
  if (cpus.length === 0 || deviceCores + FRONT_CORES <= hostCores) return undefined;
  const cores = Number(deviceCores.toPrecision(3));
  return `the devices keep ${cores} of ${called}'s ${hostCores} CPU cores busy when all of them run, and a server and a client on it take about ${FRONT_CORES} more: requests wait for cores then, which no plan counts`;
}
