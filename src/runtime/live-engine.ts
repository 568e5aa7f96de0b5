import { itemAt } from '../collections/index.js';
import type { StartExecutor } from '../execution/index.js';
import { streamsOf } from '../random/index.js';
import { type ChosenScheduler, makeCore, poolsServedBy, sharingFirst } from '../serving/index.js';
import { Counters } from './counters.js';
import { HangLimit } from './hang-limit.js';
import { crowdedByDevices, LiveDevice, planDevices, type UpReason } from './live-device.js';
import { LiveDriver } from './live-driver.js';
import type { OpenedBundle } from './opened-bundle.js';
import { runOf } from './run-of.js';
import { StandbyWatch } from './standby-watch.js';
import { Intake } from './submit.js';
import type { ServeEvent, ServeOptions } from './types.js';

/** The core's draws are the same in every run, so that a logged run can be replayed. */
const CORE_SEED = 1;

/** EngineOptions says how a bundle is run. */
export interface EngineOptions {
  readonly onDecision?: ServeOptions['onDecision'] | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly scheduler: ChosenScheduler;
  readonly log: (event: ServeEvent) => void;
  /** Starts the executors of devices, elsewhere than on the cores of this host; by default `startExecutor`. */
  readonly start?: StartExecutor | undefined;
}

/** LiveEngine runs a bundle whatever the protocol of its clients: its devices, the driver of them, and its counters. */
export class LiveEngine {
  /** Where fronts call in. */
  readonly intake: Intake;
  readonly counters: Counters;
  private readonly devices: LiveDevice[];
  private readonly driver: LiveDriver;
  private readonly up: Set<number> = new Set();
  private readonly hanging: Set<number> = new Set();

  constructor(
    private readonly bundle: OpenedBundle,
    private readonly options: EngineOptions,
  ) {
    const { scheduler, log, onDecision, start } = options;
    const standby = new StandbyWatch(bundle.topology, scheduler.tuner?.settings.kind);
    const watched = watchedArrivals(bundle, log);
    this.counters = new Counters(
      bundle,
      () => this.driver,
      () => {
        standby.arrived(this.driver.now());
        watched();
      },
    );
    const limits = bundle.topology.pools.map((pool) => new HangLimit(pool));
    this.devices = planDevices(bundle, start).map((plan, device) => {
      const duties = poolsServedBy(itemAt(bundle.topology.devices, device)).map((pool) => ({
        pool,
        work: itemAt(bundle.work, pool),
        largestBatch: itemAt(bundle.topology.pools, pool).batch,
        hang: itemAt(limits, pool),
      }));
      return new LiveDevice(plan, duties, {
        up: (why) => this.deviceUp(device, why),
        down: (why) => this.deviceDown(device, why),
        failed: (why) => log({ kind: 'notStarted', device: this.nameOf(device), why }),
        off: () => this.deviceOff(device),
        restarted: () => this.counters.restarted(device),
        hangs: (ms) => this.hangs(device, ms),
        hangsNoMore: (isRun) => this.hangsNoMore(device, isRun),
      });
    });
    this.driver = new LiveDriver(bundle, this.devices, {
      makeCore: (decisions) =>
        makeCore(scheduler, bundle.topology, { decisions, streams: streamsOf(CORE_SEED, 'core') }),
      observer: {
        batch: (record) => this.counters.batch(record),
        failure: (pool, device, why) => {
          this.counters.executionFailed(pool);
          log({ kind: 'batchFailed', device: this.nameOf(device), why });
        },
        activated: (device) =>
          log({ kind: 'deviceActivated', ...standby.activated(this.driver.now(), device) }),
        retired: (device) => log({ kind: 'deviceRetired', ...standby.retired(this.driver.now(), device) }),
        shifted: (gear) => this.counters.shifted(gear),
      },
      log: onDecision,
    });
    this.intake = new Intake(bundle, this.driver, this.counters);
  }

  /**
   * start starts and warms the devices that are in use from the beginning. It resolves when all of them are up.
   * @throws the signal's reason on abort, which ends the executors at once, also while they load or warm a model
   */
  async start(): Promise<void> {
    const { log, signal } = this.options;
    const used = this.devices.filter(
      (_, device) => itemAt(this.bundle.topology.devices, device).standby !== true,
    );
    let done = 0;
    const kill = () => this.kill();
    signal?.addEventListener('abort', kill);
    try {
      await settleAll(
        used.map(async (device) => {
          signal?.throwIfAborted();
          await device.start();
          done += 1;
          log({ kind: 'loading', device: device.plan.name, done, of: used.length });
        }),
      );
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener('abort', kill);
    }
    signal?.throwIfAborted();
    const crowded = crowdedByDevices(this.devices.map(({ plan }) => plan));
    if (crowded !== undefined) log({ kind: 'crowded', why: crowded });
  }

  /** drain takes no more requests, and resolves when every request has its ending. */
  async drain(): Promise<void> {
    await this.driver.drain();
    this.driver.stop();
  }

  /** abandon ends every open request, and the executors at once. It gives how many requests these were. */
  abandon(): number {
    const count = this.driver.abandon();
    this.driver.stop();
    this.kill();
    return count;
  }

  private kill(): void {
    for (const device of this.devices) device.kill();
  }

  /** close ends the devices, of an engine that has drained or was abandoned. */
  async close(): Promise<void> {
    await Promise.all(this.devices.map((device) => device.close()));
  }

  /** pending counts the requests without an ending. */
  get pending(): number {
    return this.driver.pending;
  }

  /** isReady says whether each pool, of a model or of all, has a device that is up and whose execution does not hang. */
  isReady(model?: number): boolean {
    const { topology } = this.bundle;
    const owner = model === undefined ? undefined : sharingFirst(topology)[model];
    const pools = topology.pools.filter((pool) => owner === undefined || pool.model === owner);
    if (this.bundle.isPart && pools.length === 0) return false;
    return pools.every((pool) =>
      pool.devices.some((device) => this.up.has(device) && !this.hanging.has(device)),
    );
  }

  executorPids(): readonly number[] {
    return this.devices.flatMap(({ pid }) => (pid === undefined ? [] : [pid]));
  }

  coreTime(): { decideUs: number; calls: number; requests: number } {
    const { decideUs, decideCalls, requestCount } = this.driver;
    return { decideUs, calls: decideCalls, requests: requestCount };
  }

  private nameOf(device: number): string {
    return itemAt(this.bundle.topology.devices, device).name;
  }

  private deviceUp(device: number, why: UpReason): void {
    this.up.add(device);
    this.counters.device(device, true);
    this.driver.deviceUp(device);
    this.options.log({ kind: 'deviceUp', device: this.nameOf(device), why });
  }

  private hangs(device: number, ms: number): void {
    this.hanging.add(device);
    this.counters.device(device, false);
    this.options.log({ kind: 'deviceHangs', device: this.nameOf(device), ms });
  }

  private hangsNoMore(device: number, isRun: boolean): void {
    this.hanging.delete(device);
    this.counters.device(device, this.up.has(device));
    if (isRun) this.options.log({ kind: 'deviceGoesOn', device: this.nameOf(device) });
  }

  private deviceOff(device: number): void {
    this.up.delete(device);
    this.hanging.delete(device);
    this.counters.device(device, false);
  }

  private deviceDown(device: number, why: string): void {
    this.deviceOff(device);
    this.driver.deviceDown(device);
    this.options.log({ kind: 'deviceDown', device: this.nameOf(device), why });
  }
}

/** settleAll waits for all starts before it throws the first error, so that no start goes on after it. */
async function settleAll(starts: Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(starts);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

/** watchedArrivals gives what is called for each arrival: the load is compared with the planned one where there is one. */
function watchedArrivals({ plan, isPart }: OpenedBundle, log: (event: ServeEvent) => void): () => void {
  // The load that a part of the devices sees is not that of the plan.
  if (isPart) return () => {};
  const watch = runOf(plan).watch(plan, (share) => log({ kind: 'loadStrayed', share }));
  if (watch === undefined) return () => {};
  const fromMs = performance.now();
  return () => watch.arrived(performance.now() - fromMs);
}
