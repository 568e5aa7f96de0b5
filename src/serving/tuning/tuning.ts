import { itemAt } from '../../collections/index.js';
import { withinClasses } from './class-limits.js';
import { LoadMeter } from './load-meter.js';
import { type TunedPlan, tunerOf } from './tuned-plan.js';
import type { Tuner } from './tuner.js';

/** TuningHooks carries out what a tuner decides. */
export interface TuningHooks {
  /** scale says how many devices a pool should have from now on. */
  scale(pool: number, devices: number): void;
}

/**
 * Tuning tells a tuner what happens in a core, and has its decisions carried out as far as there are GPUs. Pools that
 * share their devices are one set.
 */
export class Tuning {
  private readonly tuner: Tuner;
  private readonly meter: LoadMeter;
  private readonly setOf: Int32Array;
  private readonly granted: Int32Array;
  private readonly isReady: Uint8Array;
  private readonly setOfDevice: Int32Array;
  private isWanted = false;

  constructor(
    private readonly plan: TunedPlan,
    {
      pools,
      devices,
    }: { readonly pools: ArrayLike<unknown>; readonly devices: ArrayLike<{ readonly pool: number }> },
    private readonly hooks: TuningHooks,
  ) {
    const { sets } = plan;
    this.tuner = tunerOf(plan);
    this.meter = new LoadMeter(sets.length);
    this.setOf = new Int32Array(pools.length);
    sets.forEach((set, i) => {
      for (const pool of set.pools) this.setOf[pool] = i;
    });
    this.granted = this.tuner.wanted.slice();
    this.isReady = new Uint8Array(devices.length);
    this.setOfDevice = Int32Array.from(devices, ({ pool }) => itemAt(this.setOf, pool));
  }

  /** nextAt is when `decide` is to be called at the latest. */
  get nextAt(): number {
    return this.tuner.nextAt;
  }

  /** isDue returns whether `decide` is to be called now. */
  isDue(at: number): boolean {
    return this.isWanted || this.tuner.nextAt <= at;
  }

  /** arrived reports the rows of a request, each of which counts as one. */
  arrived(at: number, rows: number): void {
    for (let row = 0; row < rows; row++) if (this.tuner.arrived(at)) this.isWanted = true;
  }

  /** came reports that a task came to a pool. */
  came(at: number, pool: number): void {
    this.meter.came(at, this.setOf[pool] as number, 1);
  }

  /** left reports that tasks left a pool. */
  left(at: number, pool: number, tasks: number): void {
    this.meter.left(at, this.setOf[pool] as number, tasks);
  }

  /** leftSince reports that a task left a pool some time after what was last reported of it (see `LoadMeter.leftSince`). */
  leftSince(pool: number): void {
    this.meter.leftSince(this.setOf[pool] as number, 1);
  }

  /** executed reports that a device of a pool has executed tasks, which are reported to have left besides. */
  executed(pool: number, tasks: number, tookNs: number): void {
    this.meter.executed(this.setOf[pool] as number, tasks, tookNs);
  }

  /** ready hears whether a device takes work. */
  ready(at: number, device: number, isReady: boolean): void {
    const now = Number(isReady);
    if (this.isReady[device] === now) return;
    this.isReady[device] = now;
    this.meter.ready(at, this.setOfDevice[device] as number, isReady ? 1 : -1);
  }

  decide(at: number): void {
    this.isWanted = false;
    this.tuner.decide(at, this.meter);
    const { sets, gpus } = this.plan;
    withinClasses(this.tuner.wanted, sets, gpus).forEach((devices, i) => {
      if (devices === this.granted[i]) return;
      this.granted[i] = devices;
      this.hooks.scale((sets[i] as TunedPlan['sets'][number]).pools[0] as number, devices);
    });
  }
}
