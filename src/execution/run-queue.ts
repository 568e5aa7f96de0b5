/** RunNames is what a run concerns. */
export interface RunNames {
  readonly model: number;
  /** The numbers under which it gives outputs. */
  readonly gives: ReadonlySet<number>;
  /** The numbers whose outputs it takes. */
  readonly takes: ReadonlySet<number>;
}

interface QueuedRun extends RunNames {
  readonly ended: Promise<unknown>;
}

/**
 * RunQueue is the lock of a device: runs are done one at a time, in the order in which they are asked for. A
 * request of another kind waits for the runs before it that concern it, and the runs behind it wait for that
 * request.
 */
export class RunQueue {
  private readonly runs = new Set<QueuedRun>();
  /** The ends of reads: a run or a drop that is asked for later comes after them. */
  private readonly reads = new Set<Promise<void>>();
  private last: Promise<unknown> = Promise.resolve();

  /** The runs that are done or wait. */
  get size(): number {
    return this.runs.size;
  }

  /** isAwaited says whether a run that has not ended gives outputs under a number. */
  isAwaited(id: number): boolean {
    return [...this.runs].some(({ gives }) => gives.has(id));
  }

  /** add does a run when its turn comes. */
  add<Result>(names: RunNames, work: () => Promise<Result>): Promise<Result> {
    const reads = [...this.reads];
    const done = this.last.then(() => Promise.all(reads)).then(work);
    const ended = done.catch(() => {});
    const run = { ...names, ended };
    this.last = ended;
    this.runs.add(run);
    void ended.then(() => this.runs.delete(run));
    return done;
  }

  /** read does something with outputs once the run has ended that gives them, where there is one. */
  read<Result>(id: number, work: () => Result): Promise<Result> {
    const done = this.ended(({ gives }) => gives.has(id)).then(work);
    const ended = done.then(
      () => {},
      () => {},
    );
    this.reads.add(ended);
    void ended.then(() => this.reads.delete(ended));
    return done;
  }

  /** unused waits until no run, and no read, that was asked for before needs outputs under these numbers. */
  async unused(ids: readonly number[]): Promise<void> {
    const reads = [...this.reads];
    await this.ended(({ gives, takes }) => ids.some((id) => gives.has(id) || takes.has(id)));
    await Promise.all(reads);
  }

  /** idle waits until the runs of a model have ended that were asked for before. */
  async idle(number: number): Promise<void> {
    await this.ended(({ model }) => model === number);
  }

  private async ended(concerns: (run: RunNames) => boolean): Promise<void> {
    await Promise.all([...this.runs].filter(concerns).map(({ ended }) => ended));
  }
}
