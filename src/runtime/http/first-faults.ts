import { type Fault, moreFaults } from '../../formats/index.js';

/** A person mends the first faults and tries again, and a request may have one for each of its bytes. */
const MOST_TOLD = 10;
/** Names of clients' choice are cut to this many characters. */
const MOST_NAME_CHARACTERS = 80;

/** FirstFaults takes the faults of a request. It keeps the first ten and counts the others, whose texts are never made. */
export class FirstFaults {
  private readonly first: Fault[] = [];
  private count = 0;

  /** tell takes a fault. @param make gives its place and message */
  tell(make: () => readonly [path: string, message: string]): void {
    this.count += 1;
    if (this.first.length >= MOST_TOLD) return;
    const [path, message] = make();
    this.first.push({ path, message });
  }

  /** take takes faults that are there already. */
  take(faults: readonly Fault[]): void {
    for (const { path, message } of faults) this.tell(() => [path, message]);
  }

  get size(): number {
    return this.count;
  }

  /** told gives the faults that were kept, and one more with the number of the others. */
  get told(): readonly Fault[] {
    const more = this.count - this.first.length;
    return more === 0 ? this.first : [...this.first, moreFaults(more)];
  }
}

/** nameText cuts a name that a client has chosen. */
export function nameText(name: string): string {
  return name.length > MOST_NAME_CHARACTERS ? `${name.slice(0, MOST_NAME_CHARACTERS)}…` : name;
}
