import { type Fault, InputError, MissingError } from './errors.js';

/** ToldFaults gathers faults of one input from many places, each once, so that all are reported together. */
export class ToldFaults {
  private readonly faults: Fault[] = [];
  private onlyMissing = true;

  get count(): number {
    return this.faults.length;
  }

  add(...faults: readonly Fault[]): void {
    for (const fault of faults) {
      this.onlyMissing = false;
      this.keep(fault);
    }
  }

  /** missing adds the faults of files that are needed and missing. */
  missing(...faults: readonly Fault[]): void {
    for (const fault of faults) this.keep(fault);
  }

  /**
   * addOfFile adds what is wrong with a file that could not be read.
   * @throws the error where it is not about the file
   */
  addOfFile(path: string, error: unknown): void {
    if (!(error instanceof InputError)) throw error;
    const faults = error.faults.map(({ path: at, message }) => ({
      path: at === '' ? path : `${path} ${at}`,
      message,
    }));
    if (error instanceof MissingError) this.missing(...faults);
    else this.add(...faults);
  }

  /**
   * error makes the error with all faults: a MissingError where every one came from `missing`, else an InputError. It
   * does not throw it. Callers ask `count` first.
   * @param task completes "Cannot …"
   */
  error(task: string): InputError {
    return this.onlyMissing ? new MissingError(task, this.faults) : new InputError(task, this.faults);
  }

  private keep(fault: Fault): void {
    const known = this.faults.some(({ path, message }) => path === fault.path && message === fault.message);
    if (!known) this.faults.push(fault);
  }
}
