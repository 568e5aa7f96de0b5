import { type Fault, MOST_FAULTS, moreFaults, shownPath } from '../../formats/index.js';
import { WireError } from './wire.js';

/** Problems gathers the faults of one file while reading goes on past each. It keeps 20 and counts the others. */
export class Problems {
  private readonly kept: Fault[] = [];
  private more = 0;
  /** isDoubled says whether the graph has an initializer several times, which can be mended. */
  isDoubled = false;

  /**
   * @param message the fault at `path`, as in "has no name"; without a path, the fault of the file
   */
  add(path: string, message: string): void {
    if (path === '') this.keep('', `the file ${message}`);
    else this.keep(path, message);
  }

  private keep(path: string, message: string): void {
    if (this.kept.length < MOST_FAULTS) this.kept.push({ path: shownPath(path), message });
    else this.more++;
  }

  get faults(): readonly Fault[] {
    if (this.more === 0) return this.kept;
    return [...this.kept, moreFaults(this.more)];
  }

  /** reading gives what `read` gives. Where the bytes are not the expected message, it adds a fault at `path`. */
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

/** quoted gives a text from a file, short enough for a message. */
export function quoted(text: string): string {
  return JSON.stringify(short(text));
}

/** short cuts a text to 58 characters, the last of them an ellipsis, where it has more than 60. */
export function short(text: string): string {
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}

/** A shape is described by its first axes. */
const MOST_TOLD_AXES = 8;

/** shapeText gives a shape, short enough for a message. */
export function shapeText(dims: readonly (number | string | undefined)[]): string {
  const told = dims.slice(0, MOST_TOLD_AXES).map((dim) => dim ?? '?');
  return `[${[...told, ...(dims.length > MOST_TOLD_AXES ? ['…'] : [])].join(', ')}]`;
}
