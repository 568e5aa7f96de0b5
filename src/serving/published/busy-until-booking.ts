import { NONE as SHARED_NONE } from '../../collections/index.js';
import type { Booking, Path } from '../reservation/index.js';
import type { Durations } from '../state/index.js';
import { nextInChains, type Pool, type Topology } from '../topology.js';

const NONE = SHARED_NONE;

/**
 * BusyUntilBooking keeps reservations as PPipe's published simulator does: for every device and link it knows
 * only the end of the last reservation, and no gaps. The last stage goes to the device where the batch ends
 * first. An earlier stage goes to the device with the least max(free time of its uplink, end of the batch).
 * Ties go to the first device.
 */
export class BusyUntilBooking implements Booking {
  private readonly device: Float64Array;
  private readonly uplink: Float64Array;
  private readonly downlink: Float64Array;
  private readonly up: Uint8Array;
  private readonly next: Int32Array;

  constructor(
    private readonly topology: Topology,
    private readonly durations: Durations,
  ) {
    this.device = new Float64Array(topology.devices.length);
    this.uplink = new Float64Array(topology.links.uplinkCount);
    this.downlink = new Float64Array(topology.links.downlinkCount);
    this.up = new Uint8Array(topology.devices.length);
    this.next = nextInChains(topology);
  }

  probe(path: Path, entry: number, size: number, from: number, at: number): boolean {
    let ready = at;
    let wait = 0;
    let k = from;
    for (let pool = entry + from; pool !== NONE; k++) {
      if (!this.chooseDevice(path, pool, size, k, ready)) return false;
      const sent = k === 0 ? ready : (path.sendAt[k] as number) + this.durations.transferNs(pool - 1, size);
      wait += (path.startAt[k] as number) - sent + (k === 0 ? 0 : (path.sendAt[k] as number) - ready);
      ready = path.endAt[k] as number;
      pool = this.next[pool] as number;
    }
    path.stages = k;
    path.waitNs = wait;
    return true;
  }

  private chooseDevice(path: Path, pool: number, size: number, k: number, ready: number): boolean {
    const { devices } = this.topology.pools[pool] as Pool;
    const isLast = this.next[pool] === NONE;
    const { uplinkOf, downlinkOf } = this.topology.links;
    const latency = this.durations.executionNs(pool, size);
    const transfer = k === 0 ? 0 : this.durations.transferNs(pool - 1, size);
    const sender =
      k === 0 ? 0 : Math.max(ready, this.uplink[uplinkOf[path.device[k - 1] as number] as number] as number);
    let least = Number.POSITIVE_INFINITY;
    for (const device of devices) {
      if (this.up[device] === 0) continue;
      const send = k === 0 ? ready : Math.max(sender, this.downlink[downlinkOf[device] as number] as number);
      const start = Math.max(this.device[device] as number, send + transfer);
      const end = start + latency;
      const key = isLast ? end : Math.max(this.uplink[uplinkOf[device] as number] as number, end);
      if (key >= least) continue;
      least = key;
      path.device[k] = device;
      path.sendAt[k] = send;
      path.startAt[k] = start;
      path.endAt[k] = end;
    }
    return least < Number.POSITIVE_INFINITY;
  }

  /** freeFrom is always 0, since nothing is known here without a search. */
  freeFrom(): number {
    return 0;
  }

  reserve(path: Path, entry: number, size: number, from: number): void {
    const { uplinkOf, downlinkOf } = this.topology.links;
    for (let k = from; k < path.stages; k++) {
      const device = path.device[k] as number;
      this.device[device] = path.endAt[k] as number;
      if (k === 0) continue;
      const sent = (path.sendAt[k] as number) + this.durations.transferNs(entry + k - 1, size);
      this.uplink[uplinkOf[path.device[k - 1] as number] as number] = sent;
      this.downlink[downlinkOf[device] as number] = sent;
    }
  }

  /** kept is always 0: only the end of the last reservation is known, and no reservation itself. */
  get kept(): number {
    return 0;
  }

  deviceUp(device: number): void {
    this.up[device] = 1;
  }

  deviceDown(device: number): void {
    this.up[device] = 0;
  }
}
