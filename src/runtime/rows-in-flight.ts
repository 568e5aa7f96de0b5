import type { TensorData, Tensors } from '../execution/index.js';

/** NewRow is a row of a request that came at `at`. */
interface NewRow {
  readonly request: number;
  readonly inputs: Tensors;
  readonly at: number;
}

/**
 * RowsInFlight keeps, for each row (task) in flight, the tensors that it carries and the time that it has waited. Rows
 * are known by the core's numbers. Instants (`at`) are in nanoseconds of the driver's clock.
 */
export class RowsInFlight {
  private readonly carried: (Record<string, TensorData> | undefined)[] = [];
  private readonly owner: number[] = [];
  private readonly queuedAt: number[] = [];
  private readonly queuedUs: number[] = [];

  /**
   * add begins a row, which waits in a queue from `at` on. Its tensors are a copy of the list of inputs, not of the
   * data.
   */
  add(task: number, { request, inputs, at }: NewRow): void {
    this.carried[task] = { ...inputs };
    this.owner[task] = request;
    this.queuedAt[task] = at;
    this.queuedUs[task] = 0;
  }

  /** tensors gives a row's tensors, to be read or added to. They are empty when its request has ended. */
  tensors(task: number): Record<string, TensorData> {
    return this.carried[task] ?? {};
  }

  request(task: number): number {
    return this.owner[task] as number;
  }

  /** queued tells that the row waits in a queue from `at` on. */
  queued(task: number, at: number): void {
    this.queuedAt[task] = at;
  }

  /** begun tells that the row has left its queue at `at`, and adds the time since it came to what it has waited. */
  begun(task: number, at: number): void {
    this.queuedUs[task]! += (at - this.queuedAt[task]!) / 1e3;
  }

  /** waitedUs sums the time that tasks have waited in queues, in microseconds. */
  waitedUs(tasks: readonly number[]): number {
    return tasks.reduce((sum, task) => sum + this.queuedUs[task]!, 0);
  }

  /** keepOnly drops the tensors of a row that are not named. */
  keepOnly(task: number, names: ReadonlySet<string>): void {
    const row = this.carried[task];
    for (const name of Object.keys(row ?? {})) if (!names.has(name)) delete row?.[name];
  }

  /** forget drops a row's tensors. The time that it has waited stays until its number is used again. */
  forget(task: number): void {
    this.carried[task] = undefined;
  }
}
