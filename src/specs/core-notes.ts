import { hostname } from 'node:os';
import type { Device } from '../execution/index.js';
import type { BundledDevice, OpenCluster, Profile } from '../formats/index.js';
import type { ClassUses } from '../plans/index.js';

/** MeasuredCpu is a CPU device of a profile, and the host that measured it, as far as the profile says. */
interface MeasuredCpu {
  readonly device: Device;
  readonly hostName: unknown;
  readonly hostCores: number | undefined;
}

/**
 * bundleNotes reports where this host, if it is to serve a bundle, has too few cores for the devices that the plan uses.
 * @param devices the devices of the bundle's manifest, by class
 * @param classes how many of each the plan uses
 */
export async function bundleNotes(
  devices: Readonly<Record<string, BundledDevice>>,
  classes: ClassUses,
): Promise<string[]> {
  const { crowdedHost } = await import('../execution/index.js');
  const used = Object.entries(devices).map(([name, device]) => ({
    device: device as Device,
    count: classes[name]?.used ?? 0,
  }));
  const crowded = crowdedHost(used);
  return crowded === undefined ? [] : [`if this host is to serve the bundle: ${crowded}`];
}

/**
 * serverNotes reports classes of CPUs of which the cluster has several on one server, which together take
 * more cores than the host has that measured them, beside a server and a client. The notes follow from
 * cluster and profiles alone, so that a plan that has them is the same on every machine.
 */
export async function serverNotes(cluster: OpenCluster, profiles: readonly Profile[]): Promise<string[]> {
  const claims = Object.entries(cluster.devices).flatMap(
    ([name, { count = Number.POSITIVE_INFINITY, perServer = 1 }]) => {
      const onServer = Math.min(perServer, count);
      const cpu = onServer < 2 ? undefined : busiestCpu(name, profiles);
      return cpu?.hostCores === undefined ? [] : [{ name, onServer, cpu, cores: cpu.hostCores }];
    },
  );
  if (claims.length === 0) return [];
  const { crowdedHost } = await import('../execution/index.js');
  return claims.flatMap(({ name, onServer, cpu, cores }) => {
    const crowded = crowdedHost([{ device: cpu.device, count: onServer }], cores, 'that host');
    if (crowded === undefined) return [];
    return [
      `${name}: the cluster has ${onServer} of them on one server, and if that is like the host that measured them, ${crowded}`,
    ];
  });
}

/**
 * hereNotes reports where this host has too few cores for the CPUs that a plan uses, if it measured all of them
 * and so may be the one that serves them. Its answer depends on the machine, so it is no note for a plan.
 */
export async function hereNotes(classes: ClassUses, profiles: readonly Profile[]): Promise<string[]> {
  const cpus = Object.entries(classes).flatMap(([name, { used }]) => {
    const cpu = used > 0 ? busiestCpu(name, profiles) : undefined;
    return cpu === undefined ? [] : [{ ...cpu, count: used }];
  });
  if (cpus.length === 0 || cpus.some(({ hostName }) => hostName !== hostname())) return [];
  const { crowdedHost } = await import('../execution/index.js');
  const crowded = crowdedHost(cpus);
  return crowded === undefined
    ? []
    : [`if this host, which measured the devices, is to serve the plan: ${crowded}`];
}

/** busiestCpu gives a class as the profile has it in which it keeps the most cores busy; undefined where it is no CPU. */
function busiestCpu(name: string, profiles: readonly Profile[]): MeasuredCpu | undefined {
  const found = profiles.flatMap(({ devices, measurement }): MeasuredCpu[] => {
    const { provider, threads, slowdown } = devices[name] ?? {};
    if (provider !== 'cpu') return [];
    const host = hostOf(measurement?.host, name);
    const cores = typeof host.threads === 'number' ? host.threads : undefined;
    const device = { provider, ...(threads && { threads }), ...(slowdown && { slowdown }) } as const;
    return [{ device, hostName: host.name, hostCores: cores }];
  });
  const [first, ...others] = found;
  const busy = ({ device: { threads, slowdown = 1 }, hostCores = 1 }: MeasuredCpu): number =>
    (threads ?? hostCores) / slowdown;
  return others.reduce<MeasuredCpu | undefined>(
    (most, one) => (most === undefined || busy(one) > busy(most) ? one : most),
    first,
  );
}

/** hostOf finds the host that measured a class: a merged profile lists hosts by class. */
function hostOf(host: unknown, name: string): { readonly name?: unknown; readonly threads?: unknown } {
  if (typeof host !== 'object' || host === null) return {};
  const { classes } = host as { readonly classes?: unknown };
  if (typeof classes !== 'object' || classes === null) return host;
  return hostOf((classes as Readonly<Record<string, unknown>>)[name], name);
}
