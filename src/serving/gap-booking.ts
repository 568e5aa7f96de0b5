import type { Booking } from './booking.js';
import type { Durations } from './durations.js';
import { Lists, NONE } from './lists.js';
import type { Path } from './path.js';
import { ReservationTable } from './reservation-table.js';
import type { Topology } from './topology.js';

/**
 * Reservations with their gaps, of devices and of the links of their servers, in one table: devices first, then uplinks,
 * then downlinks.
 *
 * A stage goes to the device that the batch could leave first: where its execution ends and, but for the last stage, its server's
 * uplink is free. By the end alone (A.3 as printed) an idle device behind a crowded uplink is chosen again and again.
 *
 * Each pool's devices are kept in the order in which they fall free for good, so a search ends at the first device whose
 * bound is no better than what was found: a few steps whatever the pool's size. Only where a gap might be long enough are all
 * looked at.
 */
export class GapBooking implements Booking {
  readonly table: ReservationTable;
  readonly uplinkBase: number;
  readonly downlinkBase: number;
  private readonly byFree: Lists;
  /** Where the last gap of any of the pool's devices ends. */
  private readonly lastGap: Float64Array;
  private readonly up: Uint8Array;

  constructor(
    private readonly topology: Topology,
    private readonly durations: Durations,
  ) {
    const { devices, links, pools } = topology;
    this.uplinkBase = devices.length;
    this.downlinkBase = devices.length + links.uplinkCount;
    this.table = new ReservationTable(this.downlinkBase + links.downlinkCount);
    this.byFree = new Lists(pools.length);
    this.lastGap = new Float64Array(pools.length);
    this.up = new Uint8Array(devices.length);
  }

  uplink(device: number): number {
    return this.uplinkBase + (this.topology.links.uplinkOf[device] as number);
  }

  downlink(device: number): number {
    return this.downlinkBase + (this.topology.links.downlinkOf[device] as number);
  }

  probe(path: Path, entry: number, size: number, from: number, at: number): boolean {
    let ready = at;
    let k = from;
    for (let pool: number | undefined = entry + from; pool !== undefined; k++) {
      const found =
        k === 0 ? this.chooseFirst(path, pool, size, ready) : this.chooseNext(path, pool, size, k, ready);
      if (!found) return false;
      ready = path.endAt[k] as number;
      pool = this.topology.pools[pool]?.next;
    }
    path.stages = k;
    path.waitNs = ready - at - this.durations.workNs(entry + from, size);
    return true;
  }

  /** The first stage: its input is there. */
  private chooseFirst(path: Path, pool: number, size: number, ready: number): boolean {
    const latency = this.durations.executionNs(pool, size);
    const sending = this.durations.transferNs(pool, size);
    const inGaps = ready + latency <= (this.lastGap[pool] as number);
    let best = NONE;
    let least = Number.POSITIVE_INFINITY;
    for (let device = this.byFree.first(pool); device !== NONE; device = this.byFree.next(device)) {
      const free = Math.max(ready, this.table.busyUntil[device] as number);
      if (least <= (inGaps ? ready : free) + latency) break;
      const start = inGaps ? this.table.earliestSlot(device, ready, latency) : free;
      const end = start + latency;
      const leaves = sending === 0 ? end : this.table.earliestSlot(this.uplink(device), end, sending);
      if (leaves >= least) continue;
      least = leaves;
      best = device;
      path.startAt[0] = start;
      path.endAt[0] = end;
    }
    path.device[0] = best;
    return best !== NONE;
  }

  /** A later stage: its input is with the device before and takes that one's uplink and the new one's downlink. */
  private chooseNext(path: Path, pool: number, size: number, k: number, ready: number): boolean {
    const latency = this.durations.executionNs(pool, size);
    const sending = this.durations.transferNs(pool, size);
    const transfer = this.durations.transferNs(pool - 1, size);
    const uplink = this.uplink(path.device[k - 1] as number);
    const soonest = (transfer === 0 ? ready : this.table.earliestSlot(uplink, ready, transfer)) + transfer;
    const inGaps = soonest + latency <= (this.lastGap[pool] as number);
    let best = NONE;
    let least = Number.POSITIVE_INFINITY;
    for (let device = this.byFree.first(pool); device !== NONE; device = this.byFree.next(device)) {
      const free = this.table.busyUntil[device] as number;
      if (least <= (inGaps ? soonest : Math.max(soonest, free)) + latency) break;
      const send =
        transfer === 0
          ? ready
          : this.table.earliestCommonSlot(uplink, this.downlink(device), ready, transfer);
      const there = send + transfer;
      const start = inGaps ? this.table.earliestSlot(device, there, latency) : Math.max(there, free);
      const end = start + latency;
      const leaves = sending === 0 ? end : this.table.earliestSlot(this.uplink(device), end, sending);
      if (leaves >= least) continue;
      least = leaves;
      best = device;
      path.sendAt[k] = send;
      path.startAt[k] = start;
      path.endAt[k] = end;
    }
    path.device[k] = best;
    return best !== NONE;
  }

  reserve(path: Path, entry: number, size: number, from: number, firstStep: number): void {
    for (let k = from; k < path.stages; k++) {
      const device = path.device[k] as number;
      if (k > 0) {
        const send = path.sendAt[k] as number;
        const sent = send + this.durations.transferNs(entry + k - 1, size);
        this.transfer(this.uplink(path.device[k - 1] as number), send, sent, firstStep + k);
        this.transfer(this.downlink(device), send, sent, firstStep + k);
      }
      this.execute(device, path.startAt[k] as number, path.endAt[k] as number, firstStep + k);
    }
  }

  private transfer(link: number, start: number, end: number, step: number): void {
    if (end > start) this.table.insert(link, start, end, step);
  }

  /** Reserves a device and moves it to its place among those of its pool. */
  execute(device: number, start: number, end: number, step: number): void {
    const pool = this.topology.devices[device]?.pool as number;
    if (start > (this.table.busyUntil[device] as number))
      this.lastGap[pool] = Math.max(this.lastGap[pool] as number, start);
    this.table.insert(device, start, end, step);
    this.sortIn(pool, device);
  }

  /** An execution is done, or will not be there: the device has nothing more of it after `freeAt`. */
  release(device: number, step: number, freeAt: number): void {
    const before = this.table.busyUntil[device] as number;
    this.table.remove(device, step, freeAt);
    if (this.table.busyUntil[device] !== before)
      this.sortIn(this.topology.devices[device]?.pool as number, device);
  }

  /**
   * A device's reservations follow one another in their order, from `at` or the end of the step under way (NONE: none is), each
   * when its batch is there: after something took other than expected.
   */
  closeUp(device: number, at: number, underWay: number, arrivalOf: (step: number) => number): void {
    const pool = this.topology.devices[device]?.pool as number;
    let free = at;
    for (let i = 0; i < this.table.count(device); i++) {
      const step = this.table.owner(device, i);
      if (step === underWay) {
        free = Math.max(free, this.table.end(device, i));
        continue;
      }
      const start = Math.max(free, arrivalOf(step));
      if (start > free) this.lastGap[pool] = Math.max(this.lastGap[pool] as number, start);
      free = this.table.moveTo(device, i, start);
    }
    this.sortIn(pool, device);
  }

  private sortIn(pool: number, device: number): void {
    if (this.up[device] === 0) return;
    const free = this.table.busyUntil[device] as number;
    this.byFree.remove(pool, device);
    let before = this.byFree.last(pool);
    while (before !== NONE && (this.table.busyUntil[before] as number) > free)
      before = this.byFree.previous(before);
    this.byFree.insertAfter(pool, before, device);
  }

  deviceUp(device: number): void {
    const pool = this.topology.devices[device]?.pool as number;
    this.up[device] = 1;
    this.byFree.push(pool, device);
    this.sortIn(pool, device);
  }

  deviceDown(device: number): void {
    this.up[device] = 0;
    this.byFree.remove(this.topology.devices[device]?.pool as number, device);
  }
}
