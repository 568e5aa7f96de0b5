import { itemAt } from '../../collections/index.js';
import type { ServeEvent } from '../types.js';
import type { Counters } from './counters.js';
import { crowdedByDevices, type DeviceEvents, type DevicePlan } from './live-device.js';

/** EngineDevice is a device as its engine sees it, whatever it executes. */
export interface EngineDevice {
  readonly plan: DevicePlan;
  readonly pid: number | undefined;
  start(): Promise<void>;
  /** kill ends its executor at once. */
  kill(): void;
  close(): Promise<void>;
}

/** EngineDevicesParts holds what hears of an engine's devices. */
export interface EngineDevicesParts {
  /** The devices of the topology, in its order. */
  readonly named: readonly { readonly name: string }[];
  readonly counters: Pick<Counters, 'device' | 'restarted'>;
  /** The driver is made after the devices, which it drives. */
  readonly driver: () => { deviceUp(device: number): void; deviceDown(device: number): void };
  readonly log: (event: ServeEvent) => void;
}

/**
 * EngineDevices holds the devices of an engine: it starts and ends them, and tells driver, counters and log what becomes
 * of each.
 */
export class EngineDevices<D extends EngineDevice> {
  readonly all: readonly D[];
  private readonly up = new Set<number>();
  private readonly hanging = new Set<number>();

  /** @param make makes a device of the topology, which tells what becomes of it by the events that it is handed */
  constructor(
    private readonly parts: EngineDevicesParts,
    make: (device: number, events: DeviceEvents) => D,
  ) {
    this.all = parts.named.map((_, device) => make(device, this.eventsOf(device)));
  }

  nameOf(device: number): string {
    return itemAt(this.parts.named, device).name;
  }

  /** isServing returns whether a device is up and its execution does not hang. */
  isServing(device: number): boolean {
    return this.up.has(device) && !this.hanging.has(device);
  }

  /**
   * start starts those devices, all at once. It resolves when all of them are up.
   * @throws the signal's reason on abort, which ends the executors at once; else the first error of a start, once no start
   *   goes on
   */
  async start(used: readonly D[], signal: AbortSignal | undefined): Promise<void> {
    const { log } = this.parts;
    let done = 0;
    const kill = () => this.kill();
    signal?.addEventListener('abort', kill);
    const starts = await Promise.allSettled(
      used.map(async (device) => {
        signal?.throwIfAborted();
        await device.start();
        done += 1;
        log({ kind: 'loading', device: device.plan.name, done, of: used.length });
      }),
    );
    signal?.removeEventListener('abort', kill);
    signal?.throwIfAborted();
    const failed = starts.find((one) => one.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    const crowded = crowdedByDevices(this.all.map(({ plan }) => plan));
    if (crowded !== undefined) log({ kind: 'crowded', why: crowded });
  }

  /** kill ends all executors at once. */
  kill(): void {
    for (const device of this.all) device.kill();
  }

  async close(): Promise<void> {
    await Promise.all(this.all.map((device) => device.close()));
  }

  executorPids(): readonly number[] {
    return this.all.flatMap(({ pid }) => (pid === undefined ? [] : [pid]));
  }

  private eventsOf(device: number): DeviceEvents {
    const { counters, driver, log } = this.parts;
    const name = this.nameOf(device);
    const off = () => {
      this.up.delete(device);
      this.hanging.delete(device);
      counters.device(device, false);
    };
    return {
      up: (why) => {
        this.up.add(device);
        counters.device(device, true);
        driver().deviceUp(device);
        log({ kind: 'deviceUp', device: name, why });
      },
      down: (why) => {
        off();
        driver().deviceDown(device);
        log({ kind: 'deviceDown', device: name, why });
      },
      failed: (why) => log({ kind: 'notStarted', device: name, why }),
      off,
      restarted: () => counters.restarted(device),
      hangs: (ms) => {
        this.hanging.add(device);
        counters.device(device, false);
        log({ kind: 'deviceHangs', device: name, ms });
      },
      hangsNoMore: (isRun) => {
        this.hanging.delete(device);
        counters.device(device, this.up.has(device));
        if (isRun) log({ kind: 'deviceGoesOn', device: name });
      },
    };
  }
}
