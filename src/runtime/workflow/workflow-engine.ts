import { itemAt, NONE } from '../../collections/index.js';
import { HostCache, type StartComponentExecutor } from '../../execution/index.js';
import { stageName, stageRoute } from '../../formats/index.js';
import { streamsOf } from '../../random/index.js';
import {
  type LogEntry,
  type WorkflowPolicy,
  type WorkflowScheduler,
  workflowCore,
} from '../../serving/index.js';
import { Counters } from '../live/counters.js';
import { EngineDevices } from '../live/engine-devices.js';
import { HangLimit } from '../live/hang-limit.js';
import { planDevices } from '../live/live-device.js';
import { Intake } from '../live/submit.js';
import type { ServeEvent } from '../types.js';
import { ComponentDevice } from './component-device.js';
import { HostedPrograms } from './hosted-programs.js';
import { LiveWorkflowDriver, type WorkflowObserver } from './live-workflow-driver.js';
import type { OpenedWorkflows } from './opened-workflows.js';
import { WorkflowCounters } from './workflow-counters.js';
import { WorkflowDrops } from './workflow-drops.js';

/** The draws of the core and of programs are the same in every run, so that a logged run can be replayed. */
const CORE_SEED = 1;

/** WorkflowEngineOptions says how a bundle of workflows is run. */
export interface WorkflowEngineOptions {
  readonly scheduler: WorkflowScheduler;
  /** The choices that differ from the scheduler's own policy. */
  readonly policy?: Partial<WorkflowPolicy> | undefined;
  readonly log: (event: ServeEvent) => void;
  readonly onDecision?: ((entry: LogEntry) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Starts the executors of devices; by default `startComponentExecutor`. */
  readonly start?: StartComponentExecutor | undefined;
}

/**
 * WorkflowEngine runs a bundle of workflows whatever the protocol of its clients: its programs, its devices, the
 * driver, and its counters.
 */
export class WorkflowEngine {
  /** Where fronts call in. */
  readonly intake: Intake;
  readonly counters: Counters;
  private readonly programs = new HostedPrograms();
  private readonly devices: EngineDevices<ComponentDevice>;
  private readonly driver: LiveWorkflowDriver;
  private readonly metrics: WorkflowCounters;

  constructor(
    private readonly bundle: OpenedWorkflows,
    private readonly options: WorkflowEngineOptions,
  ) {
    const { topology, table, frequencies, models } = bundle;
    this.counters = new Counters(bundle, () => this.driver);
    this.metrics = new WorkflowCounters(this.counters.registry, () => this.driver.inUse);
    this.devices = this.madeDevices();
    this.driver = new LiveWorkflowDriver({
      models,
      components: table.components,
      pools: table.pools,
      devices: this.devices.all,
      programs: this.programs,
      drops: new WorkflowDrops(topology),
      makeCore: (decisions) =>
        workflowCore(options.scheduler, topology, {
          decisions,
          table,
          frequencies,
          policy: options.policy ?? {},
          streams: streamsOf(CORE_SEED, 'core'),
        }),
      observer: this.observer(),
      log: options.onDecision,
    });
    this.intake = new Intake(bundle, this.driver, this.counters);
  }

  private madeDevices(): EngineDevices<ComponentDevice> {
    const { topology, table, work } = this.bundle;
    const { log, start } = this.options;
    const limits = topology.pools.map((pool) => new HangLimit(pool));
    const caches = table.hosts.map(({ bytes }) => new HostCache({ limitBytes: bytes }));
    const plans = planDevices(this.bundle);
    const parts = { named: topology.devices, counters: this.counters, driver: () => this.driver, log };
    return new EngineDevices(parts, (device, events) => {
      const { host, holds } = itemAt(table.devices, device);
      const duties = topology.pools.flatMap(({ devices, batch }, pool) =>
        devices.includes(device)
          ? [{ pool, work: itemAt(work, pool), largestBatch: batch, hang: itemAt(limits, pool) }]
          : [],
      );
      const plan = itemAt(plans, device);
      return new ComponentDevice({ plan, duties, holds, start, cache: itemAt(caches, host), events });
    });
  }

  private observer(): WorkflowObserver {
    const { counters, metrics } = this;
    const { log } = this.options;
    const component = (pool: number) => stageName(itemAt(this.bundle.topology.pools, pool).stage);
    const place = (device: number) => (device === NONE ? 'front' : this.devices.nameOf(device));
    return {
      batch: (record) => counters.batch(record),
      failure: (pool, device, why) => {
        counters.executionFailed(pool);
        log({ kind: 'batchFailed', device: this.devices.nameOf(device), why });
      },
      loaded: (device, pool) => metrics.loaded(this.devices.nameOf(device), component(pool)),
      loadFailed: (device, pool, why) => {
        metrics.loadFailed(this.devices.nameOf(device), component(pool));
        log({ kind: 'loadFailed', device: this.devices.nameOf(device), component: component(pool), why });
      },
      evicted: (device, pool) => metrics.evicted(this.devices.nameOf(device), component(pool)),
      fetched: (from, to, bytes) => metrics.fetched({ from: place(from), to: place(to) }, bytes),
      spilled: (device) => metrics.spilled(this.devices.nameOf(device)),
      unneeded: () => metrics.unneeded(),
    };
  }

  /**
   * start loads the programs, and starts the devices with what they hold. It resolves when all of them are up.
   * @throws the signal's reason on abort, which ends the executors at once; what is wrong with programs, or with components
   */
  async start(): Promise<void> {
    const { log, signal } = this.options;
    await this.programs.start({
      bundle: this.bundle,
      driver: this.driver.programDriver,
      seed: CORE_SEED,
      printed: (workflow, text) => log({ kind: 'programPrinted', workflow, text }),
    });
    await this.devices.start(this.devices.all, signal);
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

  /** close ends the devices and programs, of an engine that has drained or was abandoned. */
  async close(): Promise<void> {
    await Promise.all([this.devices.close(), this.programs.close()]);
  }

  /** pending counts the requests without an ending. */
  get pending(): number {
    return this.driver.pending;
  }

  /**
   * isReady says whether each component has a device that is up and whose execution does not hang: any workflow may
   * call any of them.
   */
  isReady(): boolean {
    return this.bundle.topology.pools.every((pool) =>
      this.bundle.topology.pools.some(
        ({ stage, devices }) =>
          stageRoute(stage) === stageRoute(pool.stage) &&
          devices.some((device) => this.devices.isServing(device)),
      ),
    );
  }

  executorPids(): readonly number[] {
    return this.devices.executorPids();
  }

  coreTime(): { decideUs: number; calls: number; requests: number } {
    const { decideUs, decideCalls, requestCount } = this.driver;
    return { decideUs, calls: decideCalls, requests: requestCount };
  }
}
