import { itemAt } from '../../collections/index.js';
import { poolsServedBy, type Topology } from '../topology.js';

/**
 * DeviceMembers numbers the memberships of devices in pools. Membership d of the first numbers is that of device d in
 * its first pool; those in other pools follow. So where no device has two pools, a membership is a device.
 */
export class DeviceMembers {
  /** The device and the pool of each membership. */
  readonly deviceOf: Int32Array;
  readonly poolOf: Int32Array;
  /** `isShared` says whether any device is in several pools. */
  readonly isShared: boolean;
  /** The further memberships of device d are those from `further[d]` to before `further[d + 1]`. */
  private readonly further: Int32Array;

  constructor({ devices }: Pick<Topology, 'devices'>) {
    const others = devices.flatMap(({ otherPools = [] }, device) =>
      otherPools.map((pool) => ({ device, pool })),
    );
    this.deviceOf = Int32Array.from([...devices.keys(), ...others.map(({ device }) => device)]);
    this.poolOf = Int32Array.from([...devices.map(({ pool }) => pool), ...others.map(({ pool }) => pool)]);
    this.isShared = others.length > 0;
    this.further = new Int32Array(devices.length + 1);
    devices.forEach((device, i) => {
      const before = i === 0 ? devices.length : itemAt(this.further, i);
      this.further[i + 1] = before + poolsServedBy(device).length - 1;
    });
    this.further[0] = devices.length;
  }

  /** count is the number of memberships. */
  get count(): number {
    return this.deviceOf.length;
  }

  /** nextOf is the membership of the same device after the given one; NO_MORE, which is −1, after the last. */
  nextOf(member: number): number {
    const device = this.deviceOf[member] as number;
    const next = member === device ? (this.further[device] as number) : member + 1;
    return next < (this.further[device + 1] as number) ? next : -1;
  }
}
