/**
 * DeviceTimes has the shares of the time of devices in which they only executed, only loaded, did both, or neither. All
 * sum to 1.
 */
export interface DeviceTimes {
  readonly executing: number;
  readonly loading: number;
  readonly both: number;
  readonly idle: number;
}

/** DoneByDevice numbers what a device does beside one another, as the bits of its state. */
export const DoneByDevice = { executing: 1, loading: 2 } as const;
export type DoneByDevice = (typeof DoneByDevice)[keyof typeof DoneByDevice];

const IDLE = 0;
const BOTH = DoneByDevice.executing | DoneByDevice.loading;
const STATES = 4;

/** DeviceTimeFold adds up for how long each device has executed, loaded, done both, or neither. It allocates nothing per event. */
export class DeviceTimeFold {
  private readonly state: Uint8Array;
  private readonly sinceNs: Float64Array;
  /** For each device, the time that it has been in each state. */
  private readonly inNs: Float64Array;

  constructor(devices: number) {
    this.state = new Uint8Array(devices);
    this.sinceNs = new Float64Array(devices);
    this.inNs = new Float64Array(STATES * devices);
  }

  /** begun and ended tell that a device begins or ends to do something, which it did not do before, or did. */
  begun(atNs: number, device: number, what: DoneByDevice): void {
    this.change(atNs, device, (this.state[device] as number) | what);
  }

  ended(atNs: number, device: number, what: DoneByDevice): void {
    this.change(atNs, device, (this.state[device] as number) & ~what);
  }

  /**
   * times gives the shares of the time of some devices, from 0 to `endNs`, at or behind which nothing was reported.
   * Where that is 0 they were idle.
   */
  times(endNs: number, devices: readonly number[]): DeviceTimes {
    const ofState = (state: number): number => {
      let ns = 0;
      for (const device of devices) ns += this.nsIn(device, state, endNs);
      return endNs === 0 ? 0 : ns / (devices.length * endNs);
    };
    const [executing, loading, both] = [DoneByDevice.executing, DoneByDevice.loading, BOTH].map(ofState) as [
      number,
      number,
      number,
    ];
    return { executing, loading, both, idle: endNs === 0 ? 1 : ofState(IDLE) };
  }

  /** executedNs is how long a device has executed until `endNs`. */
  executedNs(endNs: number, device: number): number {
    return this.nsIn(device, DoneByDevice.executing, endNs) + this.nsIn(device, BOTH, endNs);
  }

  private nsIn(device: number, state: number, endNs: number): number {
    const still = this.state[device] === state ? endNs - (this.sinceNs[device] as number) : 0;
    return (this.inNs[STATES * device + state] as number) + still;
  }

  private change(atNs: number, device: number, state: number): void {
    this.inNs[STATES * device + (this.state[device] as number)]! += atNs - (this.sinceNs[device] as number);
    this.state[device] = state;
    this.sinceNs[device] = atNs;
  }
}
