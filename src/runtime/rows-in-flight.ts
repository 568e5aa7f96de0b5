import type { TensorData, Tensors } from '../execution/index.js';

/** What the driver keeps of each row (task) in flight, by the core's numbers: the tensors it carries, the time it has waited. */
export class RowsInFlight {
  private readonly carried: (Record<string, TensorData> | undefined)[] = [];
  private readonly owner: number[] = [];
  private readonly queuedAt: number[] = [];
  private readonly queuedUs: number[] = [];

  add(task: number, request: number, inputs: Tensors, at: number): void {
    this.carried[task] = { ...inputs };
    this.owner[task] = request;
    this.queuedAt[task] = at;
    this.queuedUs[task] = 0;
  }

  /** The row's tensors, to read or add to; an empty one where its request has ended. */
  tensors(task: number): Record<string, TensorData> {
    return this.carried[task] ?? {};
  }

  request(task: number): number {
    return this.owner[task] as number;
  }

  /** It stands in a queue from now on. */
  queued(task: number, at: number): void {
    this.queuedAt[task] = at;
  }

  /** It has left its queue. */
  begun(task: number, at: number): void {
    this.queuedUs[task]! += (at - this.queuedAt[task]!) / 1e3;
  }

  /** Time the tasks have stood in queues, together. */
  waitedUs(tasks: readonly number[]): number {
    return tasks.reduce((sum, task) => sum + this.queuedUs[task]!, 0);
  }

  /** Lets go of tensors that are not named. */
  keepOnly(task: number, names: ReadonlySet<string>): void {
    const row = this.carried[task];
    for (const name of Object.keys(row ?? {})) if (!names.has(name)) delete row?.[name];
  }

  forget(task: number): void {
    this.carried[task] = undefined;
  }
}
