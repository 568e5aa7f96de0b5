import { BYTES_PER_MIB, listed } from '../../../formats/index.js';
import {
  below,
  type FieldPlace,
  type FieldReader,
  type Fields,
  type FoundServer,
  UNNAMED,
} from './servers.js';

const ACCELERATOR = /^(?:accelerator_type|acceleratorType):(.+)$/;

/** The prefix that bundles for Ray Serve put before the name of a class to name its resource. */
export const CLASS_RESOURCE = 'inferplan/';

const BYTES: Readonly<Record<string, number>> = {
  B: 1,
  KiB: 1024,
  MiB: BYTES_PER_MIB,
  GiB: 1024 ** 3,
  TiB: 1024 ** 4,
};

/** gpuCount is the number of GPUs that Ray gives out on a node, which it writes as 2.0. */
export function gpuCount(
  { resources, at }: { readonly resources: Fields; readonly at: FieldPlace },
  reader: FieldReader,
): number {
  const given = resources.GPU;
  if (given === undefined) return 0;
  return reader.devices(typeof given === 'number' ? given : undefined, { given, at: below(at, 'GPU') });
}

/** acceleratorsIn gives the types of accelerators that resources name. */
export function acceleratorsIn(resources: Fields): string[] {
  return Object.keys(resources)
    .flatMap((key) => ACCELERATOR.exec(key)?.[1] ?? [])
    .sort();
}

/** classesIn gives the classes of devices that the resources of a node offer, which its operator named for a bundle. */
export function classesIn(resources: Fields): string[] {
  return Object.keys(resources)
    .flatMap((key) => (key.startsWith(CLASS_RESOURCE) ? key.slice(CLASS_RESOURCE.length) : []))
    .sort();
}

/** rayBytes reads an amount of memory: bytes, or as `ray list nodes` writes them for people, such as 16.169 GiB. */
export function rayBytes(given: unknown): number | undefined {
  if (typeof given === 'number') return given;
  const [, number, unit = ''] = /^(\d{1,15}(?:\.\d{1,9})?) ([KMGT]?i?B)$/.exec(String(given)) ?? [];
  const each = BYTES[unit];
  return number === undefined || each === undefined ? undefined : Number(number) * each;
}

/** unnamedNote says whose GPUs have no type. */
export function unnamedNote(servers: readonly FoundServer[]): string[] {
  const nodes = servers.filter(({ product, isChosen }) => product === UNNAMED && !isChosen);
  if (nodes.length === 0) return [];
  const names = listed(nodes.map(({ name }) => name).sort());
  return [
    `Ray does not know the type of the GPUs of ${names}, and their class is ${UNNAMED}: give it its name`,
  ];
}
