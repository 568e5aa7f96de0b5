import {
  assignCores,
  checkThreads,
  crowdedHost,
  type Device,
  ExecutionError,
  type Executor,
  firstLine,
  type Provider,
  type RunResult,
  type StartExecutor,
  startExecutor,
  type Tensors,
  virtualThreads,
  WITH_DEVICE_ID,
} from '../../execution/index.js';
import { type BundledDevice, InputError } from '../../formats/index.js';
import type { CheckedBundle } from '../bundle/opened-bundle.js';
import type { HangLimit } from './hang-limit.js';
import { watchRun } from './run-watch.js';
import { doesNotRun, fetchesOf, type WarmedWork, warm } from './warm.js';

/** An executor that runs nothing is gone within this time, or is ended. */
export const CLOSE_MS = 500;
export const FIRST_RESTART_MS = 100;
export const LONGEST_RESTART_MS = 5000;

/** DevicePlan says how a virtual GPU of a plan is to be started. */
export interface DevicePlan {
  name: string;
  device: Device;
  virtual: number;
  cores: readonly number[] | undefined;
  /** The physical GPU of the plan that it is a part of. */
  gpu: string;
  /** Starts its executor; by default `startExecutor`. */
  start?: StartExecutor;
}

/**
 * planDevices plans the start of every virtual GPU, in the order of the topology's devices, and starts none.
 * Devices that compute on the CPU get cores of their own where the system can pin them; standby devices for
 * which none are left share those of others. The GPUs of a class of `cuda`, `tensorrt` or `dml` get
 * consecutive device ids, from the manifest's on.
 * @param start starts their executors elsewhere than on the cores of this host
 * @throws InputError where the host has fewer CPU threads than all of those in use need at once
 */
export function planDevices(
  { topology, manifest, isPart }: Pick<CheckedBundle, 'topology' | 'manifest' | 'isPart'>,
  start?: StartExecutor,
): DevicePlan[] {
  const gpusOf = new Map<string, string[]>();
  const plans = topology.devices.map((place) => {
    const gpus = gpusOf.get(place.deviceClass) ?? [];
    gpusOf.set(place.deviceClass, gpus);
    const gpu = `${place.server}/${place.gpu}`;
    if (!gpus.includes(gpu)) gpus.push(gpu);
    const bundled = manifest.value.devices[place.deviceClass]!;
    const provider = bundled.provider as Provider;
    // On one machine, every GPU of a class is a different physical one.
    const deviceId = WITH_DEVICE_ID.includes(provider)
      ? firstId(bundled, isPart) + gpus.indexOf(gpu)
      : undefined;
    const device: Device = {
      provider,
      ...(bundled.threads === undefined ? {} : { threads: bundled.threads }),
      ...(deviceId === undefined ? {} : { deviceId }),
      ...(bundled.slowdown === undefined ? {} : { slowdown: bundled.slowdown }),
    };
    const name = device.slowdown === undefined ? place.name : `${place.name} (emulated)`;
    return { name, device, virtual: place.virtual, gpu };
  });
  if (start !== undefined) return plans.map((plan) => ({ ...plan, cores: undefined, start }));
  const inUse = plans.filter((_, device) => topology.devices[device]?.standby !== true);
  const faults = checkThreads([...wholeDevices(inUse).values()]);
  if (faults.length > 0) {
    throw new InputError(
      'serve the bundle on this host',
      faults,
      'Plan for a smaller cluster, or serve on a larger host.',
    );
  }
  const threads = plans.map(({ device, virtual }) =>
    device.provider === 'cpu' ? virtualThreads(device, virtual) : 0,
  );
  const cores = assignCores(threads);
  return plans.map((plan, i) => ({ ...plan, cores: threads[i] === 0 ? undefined : cores[i] }));
}

/**
 * firstId is the device id of the first GPU of a class: that of the profile, or the first that a part of a plan is
 * given, as in a container.
 */
function firstId({ deviceId = 0 }: BundledDevice, isPart: true | undefined): number {
  return isPart ? 0 : deviceId;
}

/** crowdedByDevices says, with figures, that the devices leave too little of this host for the server and a client. */
export function crowdedByDevices(plans: readonly DevicePlan[]): string | undefined {
  return crowdedHost([...wholeDevices(plans).values()]);
}

/** wholeDevices gives one entry per physical GPU, because its virtual GPUs share its threads. */
function wholeDevices(plans: readonly { device: Device; virtual: number; gpu: string }[]) {
  return new Map(plans.map(({ device, virtual, gpu }) => [gpu, { device, virtual, count: 1 }]));
}

/** DeviceWork is the work that one of a device's pools has for it. */
export interface DeviceWork extends WarmedWork {
  readonly pool: number;
  /** From when on its executions are taken to hang. */
  readonly hang: HangLimit;
}

/** Loaded is an executor that is up, and its number of the model of each pool. */
interface Loaded {
  readonly executor: Executor;
  readonly models: ReadonlyMap<number, number>;
}

/** UpReason says why a device came up: with the server, since it was activated, or again after its process had ended. */
export type UpReason = 'start' | 'activation' | 'restart';

/**
 * DeviceEvents hears of a device. `up` is called after every start, with its reason, and `restarted` after those that
 * followed a `down`;
 * `failed` is called when it could not be started again, once for each reason in a row, and `off` once it has ended
 * because it was closed. `hangs` is called when an execution takes much longer than it should, with the time that it has
 * taken so far, and `hangsNoMore` when it has ended after all, by
 * a result (`isRun`) or an error.
 */
export interface DeviceEvents {
  up(why: UpReason): void;
  down(why: string): void;
  failed(why: string): void;
  off(): void;
  restarted(): void;
  hangs(ms: number): void;
  hangsNoMore(isRun: boolean): void;
}

/**
 * LiveDevice is a virtual GPU: an executor with the models of all its pools loaded and warm. It is started again when it
 * ends by itself, after 0.1 s and then, as long as starting fails, after up to 5 s.
 */
export class LiveDevice {
  private readonly killed = new AbortController();
  private loaded: Loaded | undefined;
  /** isWanted says whether it is to be up, and whether it has reported so since it was last asked to be. */
  private isWanted = true;
  private isTold = false;
  /** Why it is to come up, or has. */
  private why: UpReason = 'start';
  /** isEnding says whether it is being closed. */
  private isEnding = false;
  /** Why it did not start when it was last tried again. */
  private failure: string | undefined;
  private restart: NodeJS.Timeout | undefined;
  /** The end of all starts and ends that are under way, one after the other. */
  private changing: Promise<void> = Promise.resolve();
  /**
   * The number of times that the executor was started or has ended. A batch that began under an earlier one is lost.
   */
  generation = 0;

  constructor(
    readonly plan: DevicePlan,
    private readonly duties: readonly DeviceWork[],
    private readonly events: DeviceEvents,
  ) {}

  get pid(): number | undefined {
    return this.loaded?.executor.pid;
  }

  /**
   * start starts the executor, loads the models of all pools, and warms each with batches of 1 and of the largest size.
   * @throws the errors of starting and loading; InputError where a model does not run, or its outputs are not what the
   *   manifest says
   */
  start(): Promise<void> {
    const started = this.changing.then(() => this.open());
    this.changing = started.catch(() => {});
    return started;
  }

  /** open starts the executor, unless it is up or is not wanted any more. */
  private async open(): Promise<void> {
    if (this.loaded !== undefined || !this.isWanted) return;
    const { device, virtual, cores, name, start = startExecutor } = this.plan;
    const executor = await start(device, {
      virtual,
      name,
      signal: this.killed.signal,
      ...(cores === undefined ? {} : { cores }),
    });
    try {
      const models = await this.load(executor);
      if (!this.isWanted) {
        await executor.close({ graceMs: CLOSE_MS });
        return;
      }
      this.loaded = { executor, models };
    } catch (error) {
      await executor.close({ graceMs: CLOSE_MS });
      throw error;
    }
    this.generation += 1;
    void executor.exited.then((exit) =>
      this.ended(`its process ended by ${exit.signal ?? `exit code ${exit.code}`}`),
    );
    this.tellUp();
  }

  private tellUp(): void {
    this.isTold = true;
    this.events.up(this.why);
  }

  /** load loads the file of every pool, once where several have the same one, and warms it. */
  private async load(executor: Executor): Promise<Map<number, number>> {
    const byFile = new Map<string, number>();
    const models = new Map<number, number>();
    for (const duty of this.duties) {
      const { file, digests } = duty.work;
      try {
        const model = byFile.get(file) ?? (await executor.load(file, { digests })).model;
        byFile.set(file, model);
        models.set(duty.pool, model);
        await warm(async (feeds) => (await executor.run(model, feeds, fetchesOf(duty.work))).outputs, duty);
      } catch (error) {
        throw error instanceof ExecutionError ? doesNotRun(file, error) : error;
      }
    }
    return models;
  }

  /**
   * run runs a batch of a pool on stacked inputs, and gives the outputs of the pool's file. It rejects where
   * the batch fails, the device is down or its executor ends. An executor whose batch takes longer than a
   * minute is ended; long before, `hangs` is called.
   */
  async run(pool: number, feeds: Tensors): Promise<RunResult> {
    if (this.loaded === undefined) throw new Error(`${this.plan.name} is down`);
    const { executor, models } = this.loaded;
    const { work, hang } = this.duties.find((duty) => duty.pool === pool) as DeviceWork;
    const fromMs = performance.now();
    const watched = watchRun(hang.ms, {
      hangs: (ms) => this.events.hangs(ms),
      hangsNoMore: (isRun) => this.events.hangsNoMore(isRun),
      kill: () => void executor.close({ graceMs: 0 }),
    });
    try {
      const result = await executor.run(models.get(pool) as number, feeds, fetchesOf(work));
      watched.end(true);
      return result;
    } catch (error) {
      watched.end(false);
      throw error;
    } finally {
      hang.ran(performance.now() - fromMs);
    }
  }

  /** kill ends the executor at once, also one that is starting, and starts none any more. */
  kill(): void {
    this.isWanted = false;
    clearTimeout(this.restart);
    this.killed.abort();
  }

  /** activate brings a device up that was on standby, once an earlier end is over. */
  activate(): void {
    this.isWanted = true;
    this.isTold = false;
    this.why = 'activation';
    this.changing = this.changing.then(async () => {
      if (this.loaded === undefined) await this.startAgain(FIRST_RESTART_MS, () => {});
      else if (this.isWanted && !this.isTold) this.tellUp();
    });
  }

  /** close ends the executor, waiting for a start that is under way. It is not started again, except by `activate`. */
  async close(): Promise<void> {
    this.isWanted = false;
    clearTimeout(this.restart);
    this.changing = this.changing.then(async () => {
      if (this.isWanted) return;
      this.isEnding = true;
      await this.loaded?.executor.close({ graceMs: CLOSE_MS });
      this.isEnding = false;
      this.loaded = undefined;
      this.events.off();
    });
    await this.changing;
  }

  private ended(why: string): void {
    this.loaded = undefined;
    this.generation += 1;
    if (!this.isWanted || this.isEnding) return;
    this.events.down(why);
    this.why = 'restart';
    this.scheduleRestart(FIRST_RESTART_MS);
  }

  private scheduleRestart(afterMs: number): void {
    this.restart = setTimeout(() => {
      this.changing = this.changing.then(() => this.startAgain(afterMs, this.events.restarted));
    }, afterMs);
  }

  private async startAgain(afterMs: number, done: () => void): Promise<void> {
    try {
      await this.open();
      if (this.loaded !== undefined) done();
      this.failure = undefined;
    } catch (error) {
      const why = firstLine(error instanceof Error ? error.message : String(error));
      if (this.isWanted && why !== this.failure) this.events.failed(why);
      this.failure = why;
      if (this.isWanted) this.scheduleRestart(Math.min(2 * afterMs, LONGEST_RESTART_MS));
    }
  }
}
