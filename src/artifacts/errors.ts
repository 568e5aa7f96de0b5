/** Fault is one thing wrong with an input. `path` is a JSON pointer, a line, an option or a file; it may be empty. */
export interface Fault {
  readonly path: string;
  readonly message: string;
  /** The option of the library that `path` names, where it names one. */
  readonly option?: string;
}

/**
 * InputError reports input that cannot be used: a file, an option, a request. It carries every fault found, so that all
 * can be mended at once. The command line prints `message` alone and exits with 2.
 */
export class InputError extends Error {
  override readonly name: string = 'InputError';

  /**
   * @param task what could not be done: completes "Cannot …"
   * @param advice what a person can do about it
   */
  constructor(
    readonly task: string,
    readonly faults: readonly Fault[],
    readonly advice?: string,
  ) {
    super(describe(task, faults, advice));
  }
}

/** MissingError reports a device, profile or model that is needed and missing. The command line exits with 7. */
export class MissingError extends InputError {
  override readonly name = 'MissingError';
}

/**
 * InterruptedError ends work that was interrupted and that kept a part of what it did, which its message names. The command
 * line prints the message and exits with 130.
 */
export class InterruptedError extends Error {
  override readonly name = 'AbortError';
}

/** LibraryOption is an option of the library, as the place of a fault or a part of a sentence. */
export interface LibraryOption {
  readonly option: string;
  /** What was given for it, or what of that is meant. */
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
