import { itemAt } from '../../collections/index.js';
import {
  type BatchTask,
  type ComponentExecutor,
  ExecutionError,
  type HostCache,
  type StartComponentExecutor,
  startComponentExecutor,
  type TensorData,
  type Tensors,
} from '../../execution/index.js';
import {
  CLOSE_MS,
  type DeviceEvents,
  type DevicePlan,
  type DeviceWork,
  FIRST_RESTART_MS,
  LONGEST_RESTART_MS,
} from '../live/live-device.js';
import { watchRun } from '../live/run-watch.js';
import { toldOf } from '../live/told-of.js';
import { doesNotRun, fetchesOf, warm } from '../live/warm.js';
import type { DrivenDevice, RanBatch, TaskToRun } from './driven-device.js';

/** The task that warms a component; the driver's are counted from 0. */
const WARMING = -1;

/** ComponentDeviceParts holds what a device is started with. */
export interface ComponentDeviceParts {
  readonly plan: DevicePlan;
  /** The components that it may hold, by their pools. */
  readonly duties: readonly DeviceWork[];
  /** The pools whose components it holds at the start. */
  readonly holds: readonly number[];
  /** Where the bytes of models come from. */
  readonly cache: HostCache;
  readonly events: Omit<DeviceEvents, 'off'>;
  /** Starts its executor; by default `startComponentExecutor`. */
  readonly start?: StartComponentExecutor | undefined;
}

/** Up is an executor that is up, with its numbers of the models that it holds. */
interface Up {
  readonly executor: ComponentExecutor;
  readonly models: Map<number, number>;
}

/**
 * ComponentDevice is a device of workflows: an executor that holds some components. It starts with those of the plan,
 * warm. An executor that ends by itself, or could not do what it had to, is started again, empty: after 0.1 s and then,
 * as long as nothing could be loaded, after up to 5 s.
 */
export class ComponentDevice implements DrivenDevice {
  private readonly killed = new AbortController();
  private up: Up | undefined;
  private isWanted = true;
  /** Why it did not start when it was last tried again. */
  private failure: string | undefined;
  /** Why its driver has ended it. */
  private endedFor: string | undefined;
  private restart: NodeJS.Timeout | undefined;
  private restartMs = FIRST_RESTART_MS;
  /** The start that is under way. */
  private starting: Promise<void> = Promise.resolve();
  generation = 0;

  constructor(private readonly parts: ComponentDeviceParts) {}

  get plan(): DevicePlan {
    return this.parts.plan;
  }

  get pid(): number | undefined {
    return this.up?.executor.pid;
  }

  /**
   * start starts the executor with what it holds, each component warmed with batches of 1 and of the largest size.
   * @throws the errors of starting and loading; InputError where a model does not run, or its outputs are not what the
   *   manifest says
   */
  start(): Promise<void> {
    const { holds, events } = this.parts;
    const started = this.open(holds).then(() => events.up('start'));
    this.starting = started.catch(() => {});
    return started;
  }

  private async open(holds: readonly number[]): Promise<void> {
    const { start = startComponentExecutor } = this.parts;
    const { device, virtual, cores, name } = this.plan;
    const executor = await start(device, {
      virtual,
      name,
      signal: this.killed.signal,
      ...(cores === undefined ? {} : { cores }),
    });
    const up: Up = { executor, models: new Map() };
    try {
      for (const pool of holds) await this.loadWarm(up, pool);
    } catch (error) {
      await executor.close({ graceMs: CLOSE_MS });
      throw error;
    }
    if (!this.isWanted) {
      await executor.close({ graceMs: CLOSE_MS });
      return;
    }
    this.up = up;
    this.generation += 1;
    void executor.exited.then(({ signal, code }) =>
      this.ended(this.endedFor ?? `its process ended by ${signal ?? `exit code ${code}`}`),
    );
  }

  private async loadWarm(up: Up, pool: number): Promise<void> {
    const duty = this.dutyOf(pool);
    try {
      const model = await this.loadInto(up, pool);
      await warm((feeds, rows) => warming(up.executor, { model, duty, feeds, rows }), duty);
    } catch (error) {
      throw error instanceof ExecutionError ? doesNotRun(duty.work.file, error) : error;
    }
  }

  async load(pool: number): Promise<void> {
    await this.loadInto(this.mustBeUp(), pool);
    this.restartMs = FIRST_RESTART_MS;
  }

  private async loadInto({ executor, models }: Up, pool: number): Promise<number> {
    const { file, digests, inputs, outputs } = this.dutyOf(pool).work;
    const bytes = await this.parts.cache.get(file, digests);
    const tensors = { inputs: inputs.map(({ spec }) => spec), outputs: outputs.map(({ spec }) => spec) };
    const { model } = await executor.load(bytes, tensors);
    models.set(pool, model);
    return model;
  }

  release(pool: number): void {
    const { executor, models } = this.up ?? {};
    const model = models?.get(pool);
    if (executor === undefined || model === undefined) return;
    models?.delete(pool);
    this.mustBeDone(executor.release(model));
  }

  async run(pool: number, tasks: readonly TaskToRun[]): Promise<RanBatch> {
    const { executor, models } = this.mustBeUp();
    const duty = this.dutyOf(pool);
    const fromMs = performance.now();
    const watched = watchRun(duty.hang.ms, {
      hangs: (ms) => this.parts.events.hangs(ms),
      hangsNoMore: (isRun) => this.parts.events.hangsNoMore(isRun),
      kill: () => void executor.close({ graceMs: 0 }),
    });
    try {
      const ran = await executor.run(models.get(pool)!, tasks.map(batchTask));
      watched.end(true);
      const outputs = ran.tasks.map(({ bytes }) => bytes);
      return { outputs, startedNs: ran.startedNs, endedNs: ran.endedNs };
    } catch (error) {
      watched.end(false);
      throw error;
    } finally {
      duty.hang.ran(performance.now() - fromMs);
    }
  }

  async fetch(id: number, names: readonly string[]): Promise<Tensors> {
    return await this.mustBeUp().executor.fetch(id, names);
  }

  async put(id: number, tensors: Tensors): Promise<void> {
    await this.mustBeUp().executor.put(id, tensors);
  }

  drop(ids: readonly number[]): void {
    if (this.up !== undefined) this.mustBeDone(this.up.executor.drop(ids));
  }

  end(why: string): void {
    const { executor } = this.up ?? {};
    if (executor === undefined || this.endedFor !== undefined) return;
    this.endedFor = why;
    this.restartMs = Math.min(2 * this.restartMs, LONGEST_RESTART_MS);
    void executor.close({ graceMs: 0 });
  }

  /** kill ends the executor at once, also one that is starting, and starts none any more. */
  kill(): void {
    this.isWanted = false;
    clearTimeout(this.restart);
    this.killed.abort();
  }

  /** close ends the executor, waiting for a start that is under way. */
  async close(): Promise<void> {
    this.isWanted = false;
    clearTimeout(this.restart);
    await this.starting;
    await this.up?.executor.close({ graceMs: CLOSE_MS });
  }

  /** mustBeDone ends an executor that is well and cannot do what never fails. */
  private mustBeDone(asked: Promise<unknown>): void {
    const { generation } = this;
    asked.catch((error: unknown) =>
      setImmediate(() => {
        if (this.generation === generation) this.end(toldOf(error));
      }),
    );
  }

  private mustBeUp(): Up {
    if (this.up === undefined) throw new Error(`${this.plan.name} is down`);
    return this.up;
  }

  private dutyOf(pool: number): DeviceWork {
    return this.parts.duties.find((duty) => duty.pool === pool)!;
  }

  private ended(why: string): void {
    this.up = undefined;
    this.endedFor = undefined;
    this.generation += 1;
    if (!this.isWanted) return;
    this.parts.events.down(why);
    this.scheduleRestart();
  }

  private scheduleRestart(): void {
    this.restart = setTimeout(() => {
      this.starting = this.startAgain();
    }, this.restartMs);
  }

  private async startAgain(): Promise<void> {
    const { events } = this.parts;
    try {
      await this.open([]);
      this.failure = undefined;
      if (this.up === undefined) return;
      events.up('restart');
      events.restarted();
    } catch (error) {
      const why = toldOf(error);
      if (!this.isWanted) return;
      if (why !== this.failure) events.failed(why);
      this.failure = why;
      this.restartMs = Math.min(2 * this.restartMs, LONGEST_RESTART_MS);
      this.scheduleRestart();
    }
  }
}

function batchTask({ rows, inputs, keepAs }: TaskToRun): BatchTask {
  const kept = inputs.map(({ name, kept, tensor, isLast }) => [name, { kept, name: tensor, isLast }]);
  return { id: keepAs, rows, inputs: Object.fromEntries(kept) };
}

/** warming runs a component on tensors of a given number of rows, and keeps nothing of it. */
async function warming(
  executor: ComponentExecutor,
  {
    model,
    duty,
    feeds,
    rows,
  }: { readonly model: number; readonly duty: DeviceWork; readonly feeds: Tensors; readonly rows: number },
): Promise<Tensors> {
  const inputs: Readonly<Record<string, TensorData>> = feeds;
  const ran = await executor.run(model, [{ id: WARMING, rows, inputs }], fetchesOf(duty.work));
  await executor.drop([WARMING]);
  return itemAt(ran.tasks, 0).outputs;
}
