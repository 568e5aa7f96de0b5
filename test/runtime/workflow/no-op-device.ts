import type { OutputBytes, TensorData, Tensors } from '../../../src/execution/index.js';
import { monotonicNs, tensorBytes } from '../../../src/execution/index.js';
import type { Stream } from '../../../src/random/index.js';
import type { DrivenDevice, RanBatch, TaskToRun } from '../../../src/runtime/workflow/driven-device.js';

/** Computed gives the outputs of a component for one task. */
export type Computed = (inputs: Tensors) => Tensors;

/** NoOpOptions says what a device computes, and how it behaves. */
export interface NoOpOptions {
  /** By pool. */
  readonly components: readonly Computed[];
  /** The pools whose components it holds at the start. */
  readonly holds: readonly number[];
  /** How many turns of the event loop what it is asked takes is drawn from it; absent where it is done in the next one. */
  readonly delays?: Stream | undefined;
  /** fails says whether a batch fails. */
  readonly fails?: ((tasks: readonly TaskToRun[]) => boolean) | undefined;
  /** failsToLoad says whether a load fails. */
  readonly failsToLoad?: (() => boolean) | undefined;
  /** ended tells that it was ended by its driver. */
  readonly ended?: (why: string) => void;
}

interface Asked {
  readonly act: () => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * NoOpDevice computes in this thread, at once or some turns later. It keeps watch: a component is executed or forgotten
 * only where it is held, an output is kept once, read only where it is kept, and one batch is executed at a time. What
 * is wrong is in `broken`.
 */
export class NoOpDevice implements DrivenDevice {
  generation = 1;
  readonly broken: string[] = [];
  readonly sizes: number[] = [];
  /** How many tensors it was asked for, and how many were gone with their last use. */
  sent = 0;
  taken = 0;
  readonly kept = new Map<number, Tensors>();
  private readonly held: Set<number>;
  private queue: Asked[] = [];
  private loading: Asked | undefined;
  private isBusy = false;
  private isRunning = false;

  constructor(private readonly options: NoOpOptions) {
    this.held = new Set(options.holds);
  }

  /** isIdle says whether it has done all that it was asked. */
  get isIdle(): boolean {
    return this.queue.length === 0 && this.loading === undefined;
  }

  load(pool: number): Promise<void> {
    if (this.held.has(pool)) this.broken.push(`loads ${pool}, which it holds`);
    if (this.loading !== undefined) this.broken.push(`loads ${pool} while it loads another`);
    return new Promise((resolve, reject) => {
      const asked: Asked = { act: () => this.held.add(pool), resolve: resolve as Asked['resolve'], reject };
      this.loading = asked;
      this.after(() => {
        if (this.loading !== asked) return;
        this.loading = undefined;
        if (this.options.failsToLoad?.()) {
          reject(new Error('the load fails'));
          return;
        }
        this.held.add(pool);
        resolve();
      });
    });
  }

  release(pool: number): void {
    if (!this.held.delete(pool)) this.broken.push(`releases ${pool}, which it does not hold`);
  }

  run(pool: number, tasks: readonly TaskToRun[]): Promise<RanBatch> {
    if (!this.held.has(pool)) this.broken.push(`executes ${pool}, which it does not hold`);
    if (this.isRunning) this.broken.push('executes two batches');
    this.isRunning = true;
    this.sizes.push(tasks.length);
    return this.ask(() => {
      this.isRunning = false;
      const startedNs = monotonicNs();
      if (this.options.fails?.(tasks)) throw new Error('the batch fails');
      const outputs = tasks.map((task) => this.execute(pool, task));
      for (const { kept, tensor, isLast } of tasks.flatMap(({ inputs }) => inputs))
        if (isLast) this.take(kept, tensor);
      return { outputs, startedNs, endedNs: monotonicNs() };
    });
  }

  /** take lets a tensor be gone whose last use this was. */
  private take(kept: number, tensor: string): void {
    this.taken += 1;
    const { [tensor]: _, ...rest } = this.kept.get(kept) ?? {};
    this.kept.set(kept, rest);
  }

  private execute(pool: number, { inputs, keepAs }: TaskToRun): OutputBytes {
    const fed: Record<string, TensorData> = {};
    for (const { name, kept, tensor } of inputs) {
      const found = this.kept.get(kept)?.[tensor];
      if (found === undefined) this.broken.push(`is fed ${tensor} of ${kept}, which it does not keep`);
      fed[name] = found as TensorData;
    }
    const outputs = this.options.components[pool]!(fed);
    this.keep(keepAs, outputs);
    return Object.fromEntries(Object.entries(outputs).map(([name, tensor]) => [name, tensorBytes(tensor)]));
  }

  fetch(kept: number, names: readonly string[]): Promise<Tensors> {
    return this.ask(() => {
      const found = this.kept.get(kept) ?? {};
      for (const name of names)
        if (found[name] === undefined)
          this.broken.push(`is asked for ${name} of ${kept}, which it does not keep`);
      this.sent += names.length;
      return Object.fromEntries(names.map((name) => [name, found[name]!]));
    });
  }

  put(kept: number, tensors: Tensors): Promise<void> {
    return this.ask(() => this.keep(kept, tensors));
  }

  private keep(id: number, tensors: Tensors): void {
    if (this.kept.has(id)) this.broken.push(`keeps ${id} twice`);
    this.kept.set(id, tensors);
  }

  drop(ids: readonly number[]): void {
    void this.ask(() => {
      for (const id of ids)
        if (!this.kept.delete(id)) this.broken.push(`drops ${id}, which it does not keep`);
    }).catch(() => {});
  }

  end(why: string): void {
    this.options.ended?.(why);
  }

  /** die loses all that it holds and is asked, as a process that ends. */
  die(): void {
    this.generation += 1;
    const lost = [...this.queue, ...(this.loading === undefined ? [] : [this.loading])];
    this.queue = [];
    this.loading = undefined;
    this.isBusy = false;
    this.isRunning = false;
    this.held.clear();
    this.kept.clear();
    for (const { reject } of lost) reject(new Error('the executor has ended'));
  }

  /** rise lets it take work again, empty. */
  rise(): void {
    this.generation += 1;
  }

  private ask<T>(act: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.queue.push({ act, resolve: resolve as Asked['resolve'], reject });
      this.next();
    });
  }

  private next(): void {
    const [asked] = this.queue;
    if (this.isBusy || asked === undefined) return;
    this.isBusy = true;
    this.after(() => {
      if (this.queue[0] !== asked) return;
      this.queue.shift();
      this.isBusy = false;
      try {
        asked.resolve(asked.act());
      } catch (error) {
        asked.reject(error);
      }
      this.next();
    });
  }

  private after(act: () => void): void {
    let turns = this.options.delays?.integer(4) ?? 0;
    const wait = () => (turns-- > 0 ? setImmediate(wait) : act());
    setImmediate(wait);
  }
}
