import { type Decisions, Decision as SharedDecision } from '../../decisions.js';
import type { Pool, Topology } from '../../topology.js';
import type { ScalingRule } from '../policy.js';
import { GpusInUse } from './gpus-in-use.js';

const Decision = SharedDecision;

const NEVER = Number.POSITIVE_INFINITY;

/** A device is off, asked to come up, or up. */
const State = { off: 0, asked: 1, up: 2 } as const;

/** ScalerParts holds what a Scaler decides over, and where its decisions go. */
export interface ScalerParts {
  readonly topology: Topology;
  readonly decisions: Decisions;
  /** The GPUs that may be in use at once, by class; a class without an entry has no limit. */
  readonly gpus?: Readonly<Record<string, number>>;
}

/** ScalerHooks is what a Scaler asks of the scheduler. */
export interface ScalerHooks {
  /** retire puts a device on standby, and queues elsewhere what it has not begun. */
  retire(at: number, device: number): void;
  /** isRunning returns whether a device still runs a batch. */
  isRunning(device: number): boolean;
}

type Changes = Extract<ScalingRule, { kind: 'schedule' }>['changes'];

function changesOf(rule: ScalingRule): Changes {
  switch (rule.kind) {
    case 'none':
      return [];
    case 'schedule':
      return rule.changes;
  }
}

/**
 * Scaler activates and retires devices, so that each pool has as many as its ScalingRule or a tuner wants. The devices with the
 * lowest numbers are activated first and retired last. A device of several pools counts for the first of them. Where a class
 * has too few GPUs for a device more, it waits until one is free: a device that is retired keeps its GPU until its batch ends.
 */
export class Scaler {
  private readonly states: Uint8Array;
  private readonly pools: readonly Pool[];
  /** `wanted` is the number of devices that each pool should have. */
  private readonly wanted: Int32Array;
  private readonly changes: Changes;
  private done = 0;
  /** `nextAt` is the time of the next change, Infinity where there is none. */
  nextAt: number;
  /**
   * isShort says whether a pool has other devices than it should: one may still run a batch from before it
   * was retired.
   */
  private isShort = false;

  private readonly decisions: Decisions;
  private readonly inUse: GpusInUse;

  constructor(
    rule: ScalingRule,
    { topology, decisions, gpus = {} }: ScalerParts,
    private readonly hooks: ScalerHooks,
  ) {
    const { pools, devices } = topology;
    this.decisions = decisions;
    this.inUse = new GpusInUse(devices, gpus, hooks.isRunning);
    this.pools = pools.map((pool, index) => ({
      ...pool,
      devices: pool.devices.filter((device) => devices[device]?.pool === index),
    }));
    this.states = Uint8Array.from(devices, ({ standby }) => (standby === true ? State.off : State.asked));
    this.wanted = Int32Array.from(this.pools, (_, pool) => this.active(pool));
    this.changes = changesOf(rule).toSorted((a, b) => a.atNs - b.atNs);
    this.nextAt = this.changes[0]?.atNs ?? NEVER;
  }

  /** isDue returns whether devices are to be activated or retired now. */
  isDue(at: number): boolean {
    return this.isShort || this.nextAt <= at;
  }

  /** scale says how many devices a pool should have from now on; the next `decide` sees to it. */
  scale(pool: number, devices: number): void {
    this.wanted[pool] = devices;
    this.isShort = true;
  }

  deviceUp(device: number): void {
    this.states[device] = State.up;
  }

  /** deviceDown reports that a device was lost. Its driver brings it up again, unless it was retired. */
  deviceDown(device: number): void {
    if (this.states[device] === State.up) this.states[device] = State.asked;
  }

  /** decide carries out the changes whose time has come. */
  decide(at: number): void {
    while (this.nextAt <= at) {
      const { pool, devices } = this.changes[this.done] as Changes[number];
      this.wanted[pool] = devices;
      this.done += 1;
      this.nextAt = this.changes[this.done]?.atNs ?? NEVER;
    }
    this.isShort = false;
    this.inUse.settle();
    this.pools.forEach((_, pool) => {
      this.retireFrom(at, pool);
    });
    this.pools.forEach((_, pool) => {
      this.activateFor(pool);
    });
  }

  private active(pool: number): number {
    const { devices } = this.pools[pool] as Pool;
    return devices.filter((device) => this.states[device] !== State.off).length;
  }

  /** retireFrom retires devices of a pool until it has no more than it should. */
  private retireFrom(at: number, pool: number): void {
    const { devices } = this.pools[pool] as Pool;
    let over = this.active(pool) - (this.wanted[pool] as number);
    for (let i = devices.length - 1; i >= 0 && over > 0; i--) {
      const device = devices[i] as number;
      if (this.states[device] === State.off) continue;
      this.states[device] = State.off;
      this.inUse.retired(device);
      this.hooks.retire(at, device);
      over -= 1;
    }
  }

  /** activateFor activates devices of a pool until it has as many as it should, as far as that is possible now. */
  private activateFor(pool: number): void {
    const { devices } = this.pools[pool] as Pool;
    let more = (this.wanted[pool] as number) - this.active(pool);
    for (let i = 0; i < devices.length && more > 0; i++) {
      const device = devices[i] as number;
      if (this.states[device] !== State.off) continue;
      if (this.hooks.isRunning(device) || !this.inUse.mayActivate(device)) {
        this.isShort = true;
        continue;
      }
      this.states[device] = State.asked;
      this.inUse.activated(device);
      this.decisions.push(Decision.activate, device);
      more -= 1;
    }
  }
}
