import type { Fault } from '../../artifacts/index.js';
import { WireError } from './wire.js';

/** A file can be wrong in as many places as it has tensors; a person reads this many. */
const MOST_FAULTS = 50;

/** The faults of one file, gathered while reading goes on past each. */
export class Problems {
  readonly #faults: Fault[] = [];
  #more = 0;

  /** @param message what the thing at `path` has or is; with no path, the file */
  add(path: string, message: string): void {
    if (path === '') this.#keep('', `the file ${message}`);
    else this.#keep(path, message);
  }

  #keep(path: string, message: string): void {
    if (this.#faults.length < MOST_FAULTS) this.#faults.push({ path, message });
    else this.#more++;
  }

  get faults(): readonly Fault[] {
    if (this.#more === 0) return this.#faults;
    return [...this.#faults, { path: '', message: `… and ${this.#more} more faults` }];
  }

  /** What `read` gives, or undefined with a fault at `path` where the bytes are not the message they should be. */
  reading<T>(path: string, read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      this.add(path, error.message);
      return undefined;
    }
  }
}

/** A text from a file, short enough for a message. */
export function quoted(text: string): string {
  return JSON.stringify(short(text));
}

export function short(text: string): string {
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}

/** Shapes are told by their first axes. */
const MOST_TOLD_AXES = 8;

/** A shape, short enough for a message. */
export function shapeText(dims: readonly (number | string | undefined)[]): string {
  const told = dims.slice(0, MOST_TOLD_AXES).map((dim) => dim ?? '?');
  return `[${[...told, ...(dims.length > MOST_TOLD_AXES ? ['…'] : [])].join(', ')}]`;
}
