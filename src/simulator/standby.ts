import { DeviceState } from './observer.js';
import type { Watchers } from './watchers.js';

/** A device is on standby, comes up, is in use, or ends its last batch before it is on standby again. */
const State = { standby: 0, comesUp: 1, inUse: 2, retires: 3 } as const;

/**
 * StandbyDevices follows which devices of a simulation are in use. A device is paid for from its activation until it is
 * on standby again: a device that is retired while it runs a batch, until the end of that batch.
 */
export class StandbyDevices {
  private readonly states: Uint8Array;
  /** `since` is when each device that is not on standby was activated; `used` is its time in use before that. */
  private readonly since: Float64Array;
  private readonly used: Float64Array;
  private readonly upAt: Float64Array;

  constructor(
    devices: readonly { readonly standby?: boolean }[],
    private readonly activationDelayNs: number,
    private readonly watchers: Pick<Watchers, 'scaled'>,
  ) {
    this.states = Uint8Array.from(devices, ({ standby }) => (standby === true ? State.standby : State.inUse));
    this.since = new Float64Array(devices.length);
    this.used = new Float64Array(devices.length);
    this.upAt = new Float64Array(devices.length);
  }

  isInUse(device: number): boolean {
    return this.states[device] === State.inUse;
  }

  /**
   * activate begins to bring a device up.
   * @returns when it takes work
   */
  activate(at: number, device: number): number {
    this.states[device] = State.comesUp;
    this.since[device] = at;
    this.upAt[device] = at + this.activationDelayNs;
    this.watchers.scaled(at, device, DeviceState.comesUp);
    return this.upAt[device];
  }

  /**
   * comesUp reports that the activation of a device is over.
   * @returns whether the device takes work: it does not where it was retired meanwhile
   */
  comesUp(at: number, device: number): boolean {
    if (this.states[device] !== State.comesUp || this.upAt[device] !== at) return false;
    this.states[device] = State.inUse;
    this.watchers.scaled(at, device, DeviceState.up);
    return true;
  }

  retire(at: number, device: number, isRunning: boolean): void {
    if (isRunning) this.states[device] = State.retires;
    else this.isOff(at, device);
  }

  /** ended reports that a device has ended a batch. */
  ended(at: number, device: number): void {
    if (this.states[device] === State.retires) this.isOff(at, device);
  }

  /**
   * usedUntil is how long each device was in use until then. A device that was activated after that time was
   * not in use.
   */
  usedUntil(at: number): Float64Array {
    return this.used.map((used, device) =>
      this.states[device] === State.standby ? used : used + Math.max(0, at - (this.since[device] as number)),
    );
  }

  private isOff(at: number, device: number): void {
    this.states[device] = State.standby;
    this.used[device]! += at - (this.since[device] as number);
    this.watchers.scaled(at, device, DeviceState.standby);
  }
}
