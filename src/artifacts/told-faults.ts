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

  /** Adds a file that is needed and missing. */
  missing(...faults: readonly Fault[]): void {
    for (const fault of faults) this.keep(fault);
  }

  /** Gives a MissingError where nothing is wrong but missing files. */
  error(task: string): InputError {
    return this.onlyMissing ? new MissingError(task, this.faults) : new InputError(task, this.faults);
  }

  private keep(fault: Fault): void {
    const known = this.faults.some(({ path, message }) => path === fault.path && message === fault.message);
    if (!known) this.faults.push(fault);
  }
}
