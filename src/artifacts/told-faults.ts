import { type Fault, InputError, MissingError } from './errors.js';

/** Faults of one input gathered from many places, so that they are told all at once; each once. */
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

  /** A file that is needed and not there. */
  missing(...faults: readonly Fault[]): void {
    for (const fault of faults) this.keep(fault);
  }

  /** MissingError where nothing is wrong but that files are missing. */
  error(task: string): InputError {
    return this.onlyMissing ? new MissingError(task, this.faults) : new InputError(task, this.faults);
  }

  private keep(fault: Fault): void {
    const known = this.faults.some(({ path, message }) => path === fault.path && message === fault.message);
    if (!known) this.faults.push(fault);
  }
}
