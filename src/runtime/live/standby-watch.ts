import { itemAt } from '../../collections/index.js';
import { ArrivalWindows, poolNames, poolsServedBy, type Topology } from '../../serving/index.js';

/**
 * The arrivals in these spans before a change explain it: a burst shows in the first, a trend in the second.
 */
const WINDOWS_NS = [1e9, 1e10];

/** ScaledDevice is a device that is activated, or put on standby, and what led to it. */
export interface ScaledDevice {
  readonly device: string;
  /** The stages that the device serves, or its part of a pooled plan. */
  readonly serves: readonly string[];
  /** The name of the tuner; absent where the schedule of a policy says so. */
  readonly tuner?: string;
  /** How many like devices are in use from now on. */
  readonly inUse: number;
  /** The requests that came in the last second, and in the last ten. */
  readonly inLastS: number;
  readonly inLast10S: number;
}

/**
 * StandbyWatch follows which devices are in use and how many requests come, to say what led to a device being activated or
 * retired. An arrival costs constant time on average, and memory follows the arrivals of ten seconds.
 */
export class StandbyWatch {
  private readonly inUse: boolean[];
  private readonly names: readonly string[];
  private readonly arrivals = new ArrivalWindows(WINDOWS_NS);

  /** @param tuner the name of what changes the devices in use; undefined where only a schedule does */
  constructor(
    private readonly topology: Topology,
    private readonly tuner: string | undefined,
  ) {
    this.names = poolNames(topology);
    this.inUse = topology.devices.map(({ standby }) => standby !== true);
  }

  /** arrived reports a request, which came no earlier than those before. */
  arrived(at: number): void {
    if (this.topology.devices.some(({ standby }) => standby === true)) this.arrivals.add(at);
  }

  activated(at: number, device: number): ScaledDevice {
    return this.scaled(at, device, true);
  }

  retired(at: number, device: number): ScaledDevice {
    return this.scaled(at, device, false);
  }

  private scaled(at: number, device: number, isUsed: boolean): ScaledDevice {
    this.inUse[device] = isUsed;
    const { devices } = this.topology;
    const own = itemAt(devices, device);
    this.arrivals.slide(at);
    return {
      device: own.name,
      serves: poolsServedBy(own).map((pool) => itemAt(this.names, pool)),
      ...(this.tuner === undefined ? {} : { tuner: this.tuner }),
      inUse: devices.filter(({ pool }, i) => pool === own.pool && this.inUse[i]).length,
      inLastS: this.arrivals.countIn(0),
      inLast10S: this.arrivals.countIn(1),
    };
  }
}
