import { pushAll } from '../collections/index.js';
import {
  type Cluster,
  type CompareRow,
  type DeviceClass,
  type Fault,
  fault,
  type OpenCluster,
  shown,
} from '../formats/index.js';

/** MOST_IN_MIX is how many GPUs of a class a mix has at most. */
export const MOST_IN_MIX = 9_999_999;

/** Mix is a number of GPUs by class. */
export type Mix = Readonly<Record<string, number>>;

/** mixText writes a mix as people do: `L4=25,T4=75`. */
export function mixText(mix: Mix): string {
  return Object.entries(mix)
    .map(([name, count]) => `${name}=${count}`)
    .join(',');
}

/** WrittenMix is a mix as a person wrote it. `at` is the option, or the file and line, that errors name. */
export interface WrittenMix {
  readonly text: string;
  readonly at: string;
}

/**
 * parseMix reads a mix such as `L4=25,T4=75`: classes of the cluster, each once, and at least one GPU in all.
 * @param cluster undefined where it is not known, so that any class is taken
 * @returns a list of the one mix, or an empty list where it added faults to `told`
 */
export function parseMix({ text, at }: WrittenMix, cluster: OpenCluster | undefined, told: Fault[]): Mix[] {
  const mix: Record<string, number> = {};
  const wrong: string[] = [];
  for (const part of text.split(',').map((one) => one.trim())) {
    const [, name = '', count = ''] = /^(.+?)\s*=\s*(\d{1,7})$/.exec(part) ?? [];
    if (name === '') wrong.push(`${shown(part)} is not class=count, such as L4=25`);
    else if (cluster !== undefined && !Object.hasOwn(cluster.devices, name))
      wrong.push(`the cluster has no class ${name}; it has ${Object.keys(cluster.devices).join(', ')}`);
    else if (Object.hasOwn(mix, name)) wrong.push(`names ${name} twice`);
    else mix[name] = Number(count);
  }
  if (wrong.length === 0 && Object.values(mix).every((count) => count === 0)) wrong.push('has no device');
  pushAll(
    told,
    wrong.map((message) => fault(message, at)),
  );
  return wrong.length === 0 ? [mix] : [];
}

/** OpenMix is what a plan may use of a cluster whose classes may have no limit. */
export interface OpenMix {
  /** The number of GPUs of the classes that have a limit. */
  readonly mix: Mix;
  /** The classes without a limit. */
  readonly unlimited: readonly string[];
}

/** openMix says what of a cluster is free. */
export function openMix({ devices }: OpenCluster): OpenMix {
  const mix: Record<string, number> = {};
  const unlimited: string[] = [];
  for (const [name, { count, taken = 0 }] of Object.entries(devices))
    if (count === undefined) unlimited.push(name);
    else mix[name] = Math.max(0, count - taken);
  return { mix, unlimited };
}

/** mixedClusters gives a cluster with each of the mixes. Equal mixes count once. */
export function mixedClusters(cluster: OpenCluster, mixes: readonly Mix[]): Cluster[] {
  const distinct = new Map(mixes.map((mix) => [mixText(mix), mix]));
  return [...distinct.values()].map((mix) => withMix(cluster, mix));
}

/**
 * withMix gives a copy of a cluster with the GPUs of a mix. Classes that the mix leaves out have none, and no GPU
 * counts as taken.
 */
export function withMix(cluster: OpenCluster, mix: Mix): Cluster {
  const devices = Object.entries(cluster.devices).map(([name, { taken: _, ...device }]) => {
    const changed: DeviceClass = { ...device, count: mix[name] ?? 0 };
    return [name, changed] as const;
  });
  return { ...cluster, devices: Object.fromEntries(devices) };
}

/** mixFigures gives the part of a row that says which mix a case has. */
export function mixFigures({ mix, unlimited }: OpenMix): Pick<CompareRow, 'mix' | 'unlimited'> {
  return { mix, ...(unlimited.length === 0 ? {} : { unlimited }) };
}
