import type { Steps } from '../../../collections/index.js';
import { type Fault, fault, shown, ToldFaults } from '../../../formats/index.js';

/** FoundServer is the devices of one kind in a node of Kubernetes or Ray. */
export interface FoundServer {
  /** The node's name. */
  readonly name: string;
  /** The class as labels name it: that of a person, or the product. */
  readonly product: string;
  /** isChosen says whether a person chose the class by a label. */
  readonly isChosen: boolean;
  /** Whole devices that can be used. */
  readonly devices: number;
  /** v, where the node divides each device into v by MPS. */
  readonly virtual?: number | undefined;
  readonly memoryGiB?: number | undefined;
  /** The type of machine, by which prices are found. */
  readonly machine?: string | undefined;
}

/** FoundDevices is what the nodes of a cluster have, and what their person should know. */
export interface FoundDevices {
  readonly servers: readonly FoundServer[];
  readonly notes: readonly string[];
}

/** The label by which a person, and what deploy targets write, says which class a node is of. */
export const NODE_CLASS_LABEL = 'inferplan/class';

/** The class of GPUs whose product nobody tells. */
export const UNNAMED = 'gpu';

/** A server that says it has more devices is not believed. */
const MOST_DEVICES = 10_000;

/** Kubernetes' names of nodes have at most this many letters. */
const MOST_NAME_LETTERS = 253;

/** Kubernetes' labels have 63 letters at most, and names in clusters are read by people. */
const MOST_CLASS_LETTERS = 200;

/** No tool writes these into names and labels, and terminals obey them. */
const OBEYED = /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}\ufeff]/u;

export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** FieldPlace is where something lies: a JSON pointer, or a key below another place, whose pointer is only written for a fault. */
export type FieldPlace = string | { readonly within: FieldPlace; readonly key: string | number };

/** below is the place of a key in what lies at another. */
export function below(at: FieldPlace, ...keys: readonly (string | number)[]): FieldPlace {
  let place = at;
  for (const key of keys) place = { within: place, key };
  return place;
}

function pointerOf(place: FieldPlace): string {
  if (typeof place === 'string') return place;
  const key = String(place.key).replaceAll('~', '~0').replaceAll('/', '~1');
  return `${pointerOf(place.within)}/${key}`;
}

/** FieldReader reads the fields of a file of another tool, and gathers what is wrong with them. */
export class FieldReader {
  constructor(readonly told = new ToldFaults()) {}

  /** fields gives a map, which is empty where it is absent or wrong. */
  fields(value: unknown, at: FieldPlace): Fields {
    if (isFields(value)) return value;
    if (value !== undefined && value !== null) this.wrong(`is ${shown(value)}, not a map`, at);
    return {};
  }

  list(value: unknown, at: FieldPlace): readonly unknown[] {
    if (Array.isArray(value)) return value;
    if (value !== undefined && value !== null) this.wrong(`is ${shown(value)}, not a list`, at);
    return [];
  }

  /** text gives a text that is not empty; undefined where it is absent or wrong. */
  text(value: unknown, at: FieldPlace, most = MOST_CLASS_LETTERS): string | undefined {
    if (value === undefined || value === null || value === '') return undefined;
    if (typeof value !== 'string') return this.wrong(`is ${shown(value)}, not a text`, at);
    if (OBEYED.test(value)) return this.wrong(`is ${shown(value)}, which no name or label holds`, at);
    if (value.length <= most) return value;
    return this.wrong(`has ${value.length} letters; at most ${most} are read`, at);
  }

  /** className gives a text that a class may be called. */
  className(value: unknown, at: FieldPlace): string | undefined {
    const name = this.text(value, at);
    if (name === undefined || !(name in Object.prototype)) return name;
    return this.wrong(`is ${name}, which no class may be called`, at);
  }

  nodeName(value: unknown, at: FieldPlace): string {
    const name = this.text(value, at, MOST_NAME_LETTERS);
    if (name === undefined && (value === undefined || value === null || value === ''))
      this.wrong('is absent: a node has a name', at);
    return name ?? '';
  }

  /** devices checks a number of devices. */
  devices(
    count: number | undefined,
    { given, at }: { readonly given: unknown; readonly at: FieldPlace },
  ): number {
    if (count === undefined || !Number.isInteger(count) || count < 0)
      return this.wrong(`is ${shown(given)}, not a whole number of devices`, at) ?? 0;
    if (count > MOST_DEVICES)
      return this.wrong(`is ${shown(given)}; of one server at most ${MOST_DEVICES} are read`, at) ?? 0;
    return count;
  }

  wrong(message: string, at: FieldPlace): undefined {
    this.told.add(fault(message, pointerOf(at)));
    return undefined;
  }

  faults(): Fault[] {
    return this.told.all();
  }
}

/** gibOf rounds bytes down to hundredths of a GiB, so that no weights are planned where there is no room. */
export function gibOf(bytes: number): number | undefined {
  const gib = Math.floor((100 * bytes) / 1024 ** 3) / 100;
  return gib > 0 && Number.isFinite(gib) ? gib : undefined;
}

/** cpuName is the class of machines without GPUs: one device each, with a given number of cores. */
export function cpuName(cores: number): string {
  return `cpu-${Math.max(1, Math.floor(cores))}`;
}

/** Between two pieces of work this many nodes are read, which takes some milliseconds. */
const MOST_IN_A_PIECE = 512;

/** inPieces makes something of each entry of a list, piece by piece, so that signals are heard between. */
export function* inPieces<From, To>(
  entries: readonly From[],
  make: (entry: From, i: number) => To,
): Steps<To[]> {
  const made: To[] = [];
  for (const [i, entry] of entries.entries()) {
    made.push(make(entry, i));
    if (i % MOST_IN_A_PIECE === MOST_IN_A_PIECE - 1) yield;
  }
  return made;
}
