import type { Task } from './work.js';

/**
 * SealedTasks puts the tasks of a replica into batches as their inputs come, whether its device is busy or not, as Ray
 * Serve does. A batch is sealed when it is as large as it may be, when the next task does not fit into it, or when
 * `waitNs` have passed since its first task; one that comes at that very instant is still taken. Sealed batches are
 * executed in their order.
 */
export class SealedTasks {
  private readonly sealed: Task[][] = [];
  private open: Task[] = [];
  private openSinceNs = 0;

  /** @param mostRows how many rows a batch has at most */
  constructor(
    private readonly mostRows: number,
    private readonly waitNs: number,
  ) {}

  /** tasks lists those that no device has begun. */
  get tasks(): readonly Task[] {
    return [...this.sealed.flat(), ...this.open];
  }

  /** dueNs is when the open batch is sealed at the latest, infinite where it has no task. */
  get dueNs(): number {
    return this.open.length === 0 ? Number.POSITIVE_INFINITY : this.openSinceNs + this.waitNs;
  }

  /** hasNext returns whether a batch is sealed. */
  get hasNext(): boolean {
    return this.sealed.length > 0;
  }

  add(at: number, task: Task): void {
    if (task.isAlone || rowsOf(this.open) + task.rows > this.mostRows) this.seal();
    if (this.open.length === 0) this.openSinceNs = at;
    this.open.push(task);
    if (task.isAlone || rowsOf(this.open) === this.mostRows) this.seal();
  }

  /** sealDue seals the open batch where it has waited long enough. */
  sealDue(at: number): void {
    if (at >= this.dueNs) this.seal();
  }

  seal(): void {
    if (this.open.length > 0) this.sealed.push(this.open);
    this.open = [];
  }

  /** take takes the next batch, of which there is one. */
  take(): readonly Task[] {
    return this.sealed.shift() as Task[];
  }

  /** leave takes a task out of its batch, if it is in any. */
  leave(task: Task): void {
    for (const batch of [this.open, ...this.sealed]) {
      const i = batch.indexOf(task);
      if (i !== -1) batch.splice(i, 1);
    }
    const first = this.sealed.findIndex(({ length }) => length === 0);
    if (first !== -1) this.sealed.splice(first, 1);
  }
}

function rowsOf(tasks: readonly Task[]): number {
  return tasks.reduce((sum, { rows }) => sum + rows, 0);
}
