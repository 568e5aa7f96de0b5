import { type Fault, faultInFile, InputError, MissingError, MOST_FAULTS, moreFaults } from './errors.js';

/** Faults are reported once among the first this many; later ones are counted each time that they are met. */
const MOST_KNOWN = 1000;

/**
 * ToldFaults gathers faults of one input from many places, each once, so that all are reported together. It keeps the
 * first 20 and counts the others, so that it takes no more memory for more faults.
 */
export class ToldFaults {
  private readonly faults: Fault[] = [];
  private readonly known = new Set<string>();
  private more = 0;
  private onlyMissing = true;

  get count(): number {
    return this.faults.length + this.more;
  }

  add(...faults: readonly Fault[]): void {
    this.addAll(faults);
  }

  /** addAll adds a list of faults, however long. */
  addAll(faults: Iterable<Fault>): void {
    for (const fault of faults) {
      this.onlyMissing = false;
      this.keep(fault);
    }
  }

  /** missing adds the faults of files that are needed and missing. */
  missing(faults: readonly Fault[]): void {
    for (const fault of faults) this.keep(fault);
  }

  /**
   * addOfFile adds what is wrong with a file that could not be read.
   * @throws the error where it is not about the file
   */
  addOfFile(path: string, error: unknown): void {
    if (!(error instanceof InputError)) throw error;
    const faults = error.faults.map((one) => faultInFile(path, one));
    if (error instanceof MissingError) this.missing(faults);
    else this.addAll(faults);
  }

  /**
   * error makes the error with all faults: a MissingError where every one came from `missing`, else an InputError. It
   * does not throw it. Callers ask `count` first.
   * @param task completes "Cannot …"
   */
  error(task: string): InputError {
    return this.onlyMissing ? new MissingError(task, this.all()) : new InputError(task, this.all());
  }

  /** all gives the faults that are reported, and one for those that are counted. */
  all(): Fault[] {
    return this.more === 0 ? [...this.faults] : [...this.faults, moreFaults(this.more)];
  }

  private keep(fault: Fault): void {
    if (fault.more !== undefined) {
      this.more += fault.more;
      return;
    }
    const key = `${fault.path}\n${fault.message}`;
    if (this.known.has(key)) return;
    if (this.known.size < MOST_KNOWN) this.known.add(key);
    if (this.faults.length < MOST_FAULTS) this.faults.push(fault);
    else this.more += 1;
  }
}
