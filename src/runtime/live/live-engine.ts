import { itemAt } from '../../collections/index.js';
import type { StartExecutor } from '../../execution/index.js';
import { streamsOf } from '../../random/index.js';
import { type ChosenScheduler, makeCore, poolsServedBy, sharingFirst } from '../../serving/index.js';
import type { OpenedBundle } from '../bundle/opened-bundle.js';
import { runOf } from '../bundle/run-of.js';
import type { ServeEvent, ServeOptions } from '../types.js';
import { Counters } from './counters.js';
import { EngineDevices } from './engine-devices.js';
import { HangLimit } from './hang-limit.js';
import { LiveDevice, planDevices } from './live-device.js';
import { LiveDriver } from './live-driver.js';
import { StandbyWatch } from './standby-watch.js';
import { Intake } from './submit.js';

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
  private readonly devices: EngineDevices<LiveDevice>;
  private readonly driver: LiveDriver;

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
    const plans = planDevices(bundle, start);
    const parts = { named: bundle.topology.devices, counters: this.counters, driver: () => this.driver, log };
    this.devices = new EngineDevices(parts, (device, events) => {
      const duties = poolsServedBy(itemAt(bundle.topology.devices, device)).map((pool) => ({
        pool,
        work: itemAt(bundle.work, pool),
        largestBatch: itemAt(bundle.topology.pools, pool).batch,
        hang: itemAt(limits, pool),
      }));
      return new LiveDevice(itemAt(plans, device), duties, events);
    });
    this.driver = new LiveDriver(bundle, this.devices.all, {
      makeCore: (decisions) =>
        makeCore(scheduler, bundle.topology, { decisions, streams: streamsOf(CORE_SEED, 'core') }),
      observer: {
        batch: (record) => this.counters.batch(record),
        failure: (pool, device, why) => {
          this.counters.executionFailed(pool);
          log({ kind: 'batchFailed', device: this.devices.nameOf(device), why });
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
    const used = this.devices.all.filter(
      (_, device) => itemAt(this.bundle.topology.devices, device).standby !== true,
    );
    await this.devices.start(used, this.options.signal);
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
    this.devices.kill();
    return count;
  }

  /** close ends the devices, of an engine that has drained or was abandoned. */
  async close(): Promise<void> {
    await this.devices.close();
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
    return pools.every((pool) => pool.devices.some((device) => this.devices.isServing(device)));
  }

  executorPids(): readonly number[] {
    return this.devices.executorPids();
  }

  coreTime(): { decideUs: number; calls: number; requests: number } {
    const { decideUs, decideCalls, requestCount } = this.driver;
    return { decideUs, calls: decideCalls, requests: requestCount };
  }
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
