import type { VirtualDevice } from '../../topology.js';

/**
 * GpusInUse counts the GPUs of each class that hold a device in use. A device that is retired while it runs a batch is in
 * use until the batch ends.
 */
export class GpusInUse {
  /** The number of each device's GPU. */
  private readonly gpuOf: Int32Array;
  /** The devices in use of each GPU. */
  private readonly holds: Int32Array;
  private readonly used = new Map<string, number>();
  /** Devices that were retired while they ran a batch. */
  private retiring: number[] = [];

  /**
   * @param limits the GPUs that there are, by class; a class without an entry has no limit
   * @param isRunning returns whether a device runs a batch
   */
  constructor(
    private readonly devices: readonly VirtualDevice[],
    private readonly limits: Readonly<Record<string, number>>,
    private readonly isRunning: (device: number) => boolean,
  ) {
    const gpus = new Map<string, number>();
    this.gpuOf = Int32Array.from(devices, ({ server, gpu }) => {
      const name = `${server}/${gpu}`;
      const known = gpus.get(name) ?? gpus.size;
      gpus.set(name, known);
      return known;
    });
    this.holds = new Int32Array(gpus.size);
    devices.forEach(({ standby }, device) => {
      if (standby !== true) this.activated(device);
    });
  }

  /** settle lets go of devices whose last batch has ended. */
  settle(): void {
    if (this.retiring.length === 0) return;
    const left = this.retiring.filter((device) => this.isRunning(device));
    for (const device of this.retiring) if (!this.isRunning(device)) this.release(device);
    this.retiring = left;
  }

  /** mayActivate says whether a device is on a GPU that is in use, or its class has one that is not. */
  mayActivate(device: number): boolean {
    const { deviceClass } = this.devices[device] as VirtualDevice;
    const most = this.limits[deviceClass];
    if (most === undefined || (this.holds[this.gpuOf[device] as number] as number) > 0) return true;
    return (this.used.get(deviceClass) ?? 0) < most;
  }

  activated(device: number): void {
    const gpu = this.gpuOf[device] as number;
    if (this.holds[gpu]!++ === 0) this.count(device, 1);
  }

  retired(device: number): void {
    if (this.isRunning(device)) this.retiring.push(device);
    else this.release(device);
  }

  private release(device: number): void {
    const gpu = this.gpuOf[device] as number;
    if (--this.holds[gpu]! === 0) this.count(device, -1);
  }

  private count(device: number, change: number): void {
    const { deviceClass } = this.devices[device] as VirtualDevice;
    this.used.set(deviceClass, (this.used.get(deviceClass) ?? 0) + change);
  }
}
