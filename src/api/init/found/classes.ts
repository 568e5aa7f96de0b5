import { largestOf, smallestOf } from '../../../collections/index.js';
import { counted, fault, InputError, listed } from '../../../formats/index.js';
import { type FoundServer, NODE_CLASS_LABEL } from './servers.js';

/** FoundClass is a class of a cluster, as its nodes have it. */
export interface FoundClass {
  readonly name: string;
  /** The class whose figures it has, where the nodes of one product are several classes. */
  readonly as?: string | undefined;
  readonly count: number;
  readonly perServer: number;
  /** v, where its nodes divide each device into v by MPS. */
  readonly virtual?: number | undefined;
  readonly memoryGiB?: number | undefined;
  readonly servers: readonly FoundServer[];
}

/** More classes are those of no cluster, and nobody would read them. */
const MOST_CLASSES = 250;

/** Drivers tell a few hundredths less or more of the same memory. */
const SAME_MEMORY = 1.1;

/**
 * foundClasses makes classes of the devices that nodes have, whatever order these come in. Nodes of one product are several
 * classes where they divide their devices otherwise, or have other numbers of them; one class may have one server that is
 * smaller, which is its last.
 * @throws InputError where there would be more than 250 classes
 */
export function foundClasses(servers: readonly FoundServer[]): { classes: FoundClass[]; notes: string[] } {
  const products = grouped(servers, ({ product }) => product);
  const parted = [...products.keys()]
    .sort(byCode)
    .map((product) => ({ product, parts: partsOf(products.get(product) as FoundServer[]) }));
  const count = parted.reduce((sum, { parts }) => sum + parts.length, 0);
  if (count > MOST_CLASSES)
    throw new InputError('begin a cluster', [
      fault(`the nodes have devices of ${count} classes; at most ${MOST_CLASSES} are written`),
    ]);
  const names = new Set(products.keys());
  const notes: string[] = [];
  const classes = parted.flatMap(({ product, parts }) => {
    const nameOf = namer(parts, names);
    const made = parts.map((part, i) => classOf(part, i === 0 ? product : nameOf(part)));
    if (made.length > 1) notes.push(splitNote(product, made));
    return made;
  });
  return { classes, notes: [...notes, ...classes.flatMap(memoryNotes), ...unknownMemoryNotes(classes)] };
}

/** partsOf puts servers together that one class can have, those with the most devices first. */
function partsOf(servers: readonly FoundServer[]): FoundServer[][] {
  const parts = [...grouped(servers, ({ virtual }) => virtual).values()].flatMap((alike) => {
    const most = largestOf(alike.map(({ devices }) => devices));
    const smaller = alike.filter(({ devices }) => devices < most);
    // The last server of a class may have fewer devices than the others.
    return smaller.length <= 1 ? [alike] : [...grouped(alike, ({ devices }) => devices).values()];
  });
  return parts
    .map((part) => part.sort((one, other) => byCode(one.name, other.name)))
    .sort(
      (one, other) =>
        devicesOf(other) - devicesOf(one) ||
        perServerOf(other) - perServerOf(one) ||
        (one[0]?.virtual ?? 1) - (other[0]?.virtual ?? 1),
    );
}

function classOf(servers: readonly FoundServer[], name: string): FoundClass {
  const [first] = servers as [FoundServer];
  const memories = memoriesOf(servers);
  return {
    name,
    ...(name === first.product ? {} : { as: first.product }),
    count: devicesOf(servers),
    perServer: perServerOf(servers),
    virtual: first.virtual,
    memoryGiB: memories.length === 0 ? undefined : smallestOf(memories),
    servers,
  };
}

/** namer names the parts of a product's nodes by what sets them apart: `-x4` by devices in a server, `-mps2` by sizes. */
function namer(
  parts: readonly FoundServer[][],
  taken: Set<string>,
): (part: readonly FoundServer[]) => string {
  const differs = (of: (servers: readonly FoundServer[]) => unknown) => new Set(parts.map(of)).size > 1;
  const [sizesDiffer, sharesDiffer] = [differs(perServerOf), differs(([one]) => one?.virtual)];
  return (part) => {
    const [{ product, virtual }] = part as [FoundServer];
    const size = sizesDiffer ? `-x${perServerOf(part)}` : '';
    const share = virtual === undefined ? '-whole' : `-mps${virtual}`;
    const plain = `${product}${size}${sharesDiffer ? share : ''}`;
    let name = plain;
    for (let i = 2; taken.has(name); i++) name = `${plain}-${i}`;
    taken.add(name);
    return name;
  };
}

function splitNote(product: string, classes: readonly FoundClass[]): string {
  const said = classes.map(({ name, perServer, virtual, servers }) => {
    const shares = virtual === undefined ? '' : `, each divided into ${virtual} by MPS`;
    return `${name} (${counted(servers.length, 'node')} of ${perServer}${shares})`;
  });
  const label = classes.some(({ servers }) => servers.some(({ isChosen }) => isChosen))
    ? `; label their nodes ${NODE_CLASS_LABEL} by these names`
    : '';
  return `the nodes of ${product} are not alike, and are ${classes.length} classes with the same figures: ${listed(said)}${label}`;
}

function memoryNotes({ name, servers }: FoundClass): string[] {
  const memories = memoriesOf(servers);
  if (memories.length === 0) return [];
  const [least, most] = [smallestOf(memories), largestOf(memories)];
  if (most <= SAME_MEMORY * least) return [];
  return [`the devices of ${name} have ${least} to ${most} GiB of memory; the least is planned with`];
}

function unknownMemoryNotes(classes: readonly FoundClass[]): string[] {
  const unknown = classes.filter(({ memoryGiB }) => memoryGiB === undefined).map(({ name }) => name);
  if (unknown.length === 0) return [];
  return [
    `the memory of ${listed(unknown)} is not told: put in memoryGiB, so that no weights are planned that do not fit`,
  ];
}

function memoriesOf(servers: readonly FoundServer[]): number[] {
  return servers.flatMap(({ memoryGiB }) => (memoryGiB === undefined ? [] : [memoryGiB]));
}

function devicesOf(servers: readonly FoundServer[]): number {
  return servers.reduce((sum, { devices }) => sum + devices, 0);
}

function perServerOf(servers: readonly FoundServer[]): number {
  return largestOf(servers.map(({ devices }) => devices));
}

function grouped<K>(servers: readonly FoundServer[], by: (server: FoundServer) => K): Map<K, FoundServer[]> {
  const groups = new Map<K, FoundServer[]>();
  for (const server of servers) {
    const group = groups.get(by(server));
    if (group === undefined) groups.set(by(server), [server]);
    else group.push(server);
  }
  return groups;
}

/** byCode orders texts by their code units, on every machine alike. */
function byCode(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}
