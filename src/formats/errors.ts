import type { GateCheck } from './gate-check.js';

/** Fault is one thing wrong with an input. `path` is a JSON pointer, a line, an option or a file; it may be empty. */
export interface Fault {
  readonly path: string;
  readonly message: string;
  /** The option of the library that `path` names, where it names one. */
  readonly option?: string;
  /** This stands for this many faults that are counted and not reported. */
  readonly more?: number;
}

/** A person reads this many faults of one input; the others are counted. */
export const MOST_FAULTS = 20;
/** A sentence that quotes more than this is cut: it names something of a hostile size. */
const MOST_LETTERS = 4000;

/**
 * InputError reports input that cannot be used: a file, an option, a request. It carries every fault found, so that all
 * can be mended at once: the first 20, and how many more there are. The command line prints `message` alone and exits with 2.
 */
export class InputError extends Error {
  override readonly name: string = 'InputError';
  readonly faults: readonly Fault[];

  /**
   * @param task what could not be done: completes "Cannot …"
   * @param advice what a person can do about it
   */
  constructor(
    readonly task: string,
    faults: readonly Fault[],
    readonly advice?: string,
  ) {
    const told = firstFaults(faults).map(cutFault);
    super(describe(cut(task), told, advice));
    this.faults = told;
  }
}

/** firstFaults gives the first 20 faults, as many as a person reads, then one that says how many more there are. */
export function firstFaults(faults: Iterable<Fault>, path = ''): Fault[] {
  const told: Fault[] = [];
  let left = 0;
  for (const one of faults) {
    if (one.more !== undefined) left += one.more;
    else if (told.length < MOST_FAULTS) told.push(one);
    else left += 1;
  }
  return left === 0 ? told : [...told, moreFaults(left, path)];
}

/** distinctFaults gives each fault once, where it is first met. */
export function distinctFaults(faults: readonly Fault[]): Fault[] {
  return [...new Map(faults.map((one) => [`${one.path} ${one.message}`, one])).values()];
}

/** moreFaults makes the fault that stands for faults which are counted and not reported. */
export function moreFaults(more: number, path = ''): Fault {
  return { path, message: `… and ${more} more ${more === 1 ? 'fault' : 'faults'}`, more };
}

/** faultInFile gives a fault of a file with the file's path before its place, unless its place begins with it: `runs.jsonl:17`. */
export function faultInFile(file: string, one: Fault): Fault {
  if (one.path.startsWith(`${file}:`)) return one;
  return faultAt(one, one.path === '' ? file : `${file} ${one.path}`);
}

/** faultAt gives a fault at another place. */
export function faultAt({ message, more }: Fault, path: string): Fault {
  return more === undefined ? { path, message } : { path, message, more };
}

function cutFault(fault: Fault): Fault {
  const { path, message } = fault;
  if (path.length <= MOST_LETTERS && message.length <= MOST_LETTERS) return fault;
  return { ...fault, path: cut(path), message: cut(message) };
}

function cut(text: string): string {
  return text.length > MOST_LETTERS ? `${text.slice(0, MOST_LETTERS)}…` : text;
}

/** MissingError reports a device, profile or model that is needed and missing. The command line exits with 7. */
export class MissingError extends InputError {
  override readonly name = 'MissingError';
}

/**
 * CheckFailedError reports that what was asked to be checked does not hold, although the input is well formed: a plan whose
 * inputs have changed. The command line exits with 6.
 */
export class CheckFailedError extends InputError {
  override readonly name = 'CheckFailedError';

  /** The verdicts, of which one at least is not held. */
  readonly checks: readonly GateCheck[];

  constructor(
    task: string,
    faults: readonly Fault[],
    { advice, checks }: { readonly advice: string; readonly checks: readonly GateCheck[] },
  ) {
    super(task, faults, advice);
    this.checks = checks;
  }
}

/**
 * InterruptedError ends work that was interrupted and that kept a part of what it did, which its message names. The command
 * line prints the message and exits with 130.
 */
export class InterruptedError extends Error {
  override readonly name = 'AbortError';
}

/**
 * errorFields gives the fields that a caught value has as an error of the system: its message, and its code, call and
 * path where it has them. What is no object has none. It throws nothing.
 */
export function errorFields(caught: unknown): Partial<NodeJS.ErrnoException> {
  return typeof caught === 'object' && caught !== null ? caught : {};
}

/** LibraryOption is an option of the library, as the place of a fault or a part of a sentence. */
export interface LibraryOption {
  readonly option: string;
  /** The value that was given for it, or the part of it that is meant. */
  readonly given?: string;
  /** In a text it stands as `optionMark` writes it, behind which is what was given. */
  toString(): string;
}

/** option names an option of the library. */
export function option(name: string, given?: string): LibraryOption {
  const mark = optionMark(name);
  return {
    option: name,
    ...(given === undefined ? {} : { given }),
    toString: () => (given === undefined ? mark : `${mark} ${given}`),
  };
}

/** optionMark writes an option as sentences have it. The command line puts its flag in place of the mark. */
export function optionMark(name: string): string {
  return `\`${name}\``;
}

/** Place is where a fault is: a text as the `path` of a fault, or an option. */
export type FaultPlace = string | LibraryOption;

/** fault makes a fault; by default it has no place of its own. */
export function fault(message: string, place: FaultPlace = ''): Fault {
  if (typeof place === 'string') return { path: place, message };
  return { path: `${place}`, message, option: place.option };
}

function describe(task: string, faults: readonly Fault[], advice?: string): string {
  const told = faults.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  const body = told.length === 1 ? ` ${told[0]}` : told.map((line) => `\n  ${line}`).join('');
  return `Cannot ${task}:${body}${advice === undefined ? '' : `\n${advice}`}`;
}
