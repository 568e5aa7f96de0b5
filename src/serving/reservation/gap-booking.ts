import { Lists, NONE as SHARED_NONE } from '../../collections/index.js';
import type { Durations } from '../state/index.js';
import { stagesFrom, type Topology } from '../topology.js';
import type { Booking } from './booking.js';
import type { Path } from './path.js';
import { ReservationTable } from './reservation-table.js';

const NONE = SHARED_NONE;

const NO_GAP = -1;
/**
 * MOST_OFFERS limits how many devices are looked at for a stage; the search of gaps may look at as many
 * again. In a pool of thousands, a device that is good enough is found soon.
 */
const MOST_OFFERS = 128;

/**
 * GapBooking keeps reservations with the gaps between them, of devices and of the links of their servers. A
 * single table has the reservations of all resources: devices first, then uplinks, then downlinks.
 *
 * A stage goes to the device that the batch could leave first: where its execution has ended and, except for the
 * last stage, its server's uplink is free. If only the end of the execution counted (PPipe A.3 as printed), an idle
 * device behind a crowded uplink would be chosen again and again.
 *
 * The devices of a pool are kept in the order in which they fall free for good, so a search ends at the first
 * device whose bound is no better than what was found. Devices with gaps are also kept in the order in which
 * their last gaps end, and only those whose gaps end late enough are looked at. So a search takes a few
 * steps, whatever the size of the pool: it looks at no more than 128 devices, and with gaps at 256 in all. In a
 * larger pool it may miss the best one.
 */
export class GapBooking implements Booking {
  readonly table: ReservationTable;
  readonly uplinkBase: number;
  readonly downlinkBase: number;
  private readonly byFree: Lists;
  /** `byGap` holds the devices whose row has, or had, a gap, in the order in which their last gaps end. */
  private readonly byGap: Lists;
  private readonly gapEnd: Float64Array;
  private readonly up: Uint8Array;
  /**
   * `rank` is the place of each device among those of its pool on its server. Of devices that were never
   * used, every server's first is taken before any server's second.
   */
  private readonly rank: Int32Array;
  /** `unsorted` is 1 for each pool whose devices are to be sorted, since some have come up. */
  private readonly unsorted: Uint8Array;
  /** `stages` is the number of stages of the pipeline from each pool on. */
  private readonly stages: Int32Array;
  private readonly poolOf: Int32Array;
  private now = 0;
  // The fields below describe the stage for which a device is sought.
  private readyAt = 0;
  private latencyNs = 0;
  /**
   * `transferNs` is the time of the transfer into the stage, and `sendingNs` that of the transfer to the next
   * stage.
   */
  private transferNs = 0;
  private sendingNs = 0;
  private uplinkIn = NONE;

  constructor(
    private readonly topology: Topology,
    private readonly durations: Durations,
  ) {
    const { devices, links, pools } = topology;
    this.uplinkBase = devices.length;
    this.downlinkBase = devices.length + links.uplinkCount;
    this.table = new ReservationTable(this.downlinkBase + links.downlinkCount);
    this.byFree = new Lists(pools.length);
    this.byGap = new Lists(pools.length);
    this.gapEnd = new Float64Array(devices.length).fill(NO_GAP);
    this.up = new Uint8Array(devices.length);
    this.rank = ranksWithinServers(topology);
    this.unsorted = new Uint8Array(pools.length);
    this.stages = stagesFrom(topology);
    this.poolOf = Int32Array.from(devices, ({ pool }) => pool);
  }

  uplink(device: number): number {
    return this.uplinkBase + (this.topology.links.uplinkOf[device] as number);
  }

  downlink(device: number): number {
    return this.downlinkBase + (this.topology.links.downlinkOf[device] as number);
  }

  probe(path: Path, entry: number, size: number, from: number, at: number): boolean {
    this.now = at;
    let ready = at;
    const stages = this.stages[entry] as number;
    for (let k = from; k < stages; k++) {
      const pool = entry + k;
      this.latencyNs = this.durations.executionNs(pool, size);
      this.sendingNs = this.durations.transferNs(pool, size);
      this.transferNs = k === 0 ? 0 : this.durations.transferNs(pool - 1, size);
      this.uplinkIn = k === 0 ? NONE : this.uplink(path.device[k - 1] as number);
      this.readyAt = ready;
      if (!this.choose(path, pool, k)) return false;
      ready = path.endAt[k] as number;
    }
    path.stages = stages;
    path.waitNs = ready - at - this.durations.workNs(entry + from, size);
    return true;
  }

  private choose(path: Path, pool: number, k: number): boolean {
    if (this.unsorted[pool] === 1) this.sortAll(pool);
    const { table, byFree, byGap } = this;
    const sent =
      this.transferNs === 0 ? this.readyAt : table.earliestSlot(this.uplinkIn, this.readyAt, this.transferNs);
    const soonest = sent + this.transferNs;
    const soonestEnd = soonest + this.latencyNs;
    path.device[k] = NONE;
    let least = Number.POSITIVE_INFINITY;
    let offers = 0;
    for (let device = byFree.first(pool); device !== NONE; device = byFree.next(device)) {
      if (++offers > MOST_OFFERS) break;
      const free = table.busyUntil[device] as number;
      if (least <= Math.max(soonestEnd, free + this.latencyNs)) break;
      least = this.offer(path, k, device, false, least);
    }
    for (
      let device = byGap.last(pool);
      device !== NONE && least > soonestEnd;
      device = byGap.previous(device)
    ) {
      if ((this.gapEnd[device] as number) < soonestEnd || ++offers > 2 * MOST_OFFERS) break;
      least = this.offer(path, k, device, true, least);
    }
    return path.device[k] !== NONE;
  }

  /**
   * offer considers a device for the stage, and writes it into the path where the batch would leave it sooner than
   * `least`.
   * @returns when the batch leaves the device that is now in the path
   */
  private offer(path: Path, k: number, device: number, inGap: boolean, least: number): number {
    const { table, transferNs, latencyNs } = this;
    const send =
      transferNs === 0
        ? this.readyAt
        : table.earliestCommonSlot(this.uplinkIn, this.downlink(device), this.readyAt, transferNs);
    const there = send + transferNs;
    const start = inGap
      ? table.earliestSlot(device, there, latencyNs)
      : Math.max(there, table.busyUntil[device] as number);
    const end = start + latencyNs;
    const leaves = this.sendingNs === 0 ? end : table.earliestSlot(this.uplink(device), end, this.sendingNs);
    if (leaves >= least) return least;
    path.device[k] = device;
    path.sendAt[k] = send;
    path.startAt[k] = start;
    path.endAt[k] = end;
    return leaves;
  }

  freeFrom(entry: number, size: number): number {
    let start = 0;
    let before = 0;
    const end = entry + (this.stages[entry] as number);
    for (let pool = entry; pool < end; pool++) {
      if (this.unsorted[pool] === 1) this.sortAll(pool);
      const device = this.byFree.first(pool);
      if (device === NONE) return Number.POSITIVE_INFINITY;
      start = Math.max(start, (this.table.busyUntil[device] as number) - before);
      before += this.durations.stepNs(pool, size);
    }
    return start;
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

  /** execute reserves a device, and moves it to its place among those of its pool. */
  execute(device: number, start: number, end: number, step: number): void {
    const pool = this.poolOf[device] as number;
    if (start > Math.max(this.now, this.table.busyUntil[device] as number)) this.sortGap(pool, device, start);
    this.table.insert(device, start, end, step);
    this.sortIn(pool, device);
  }

  /**
   * release removes the reservation of an execution that is done, or that will not take place. Where no other
   * reservation is left, the device is free from `freeAt`.
   */
  release(device: number, step: number, freeAt: number): void {
    const before = this.table.busyUntil[device] as number;
    this.table.remove(device, step, freeAt);
    if (this.table.busyUntil[device] !== before) this.sortIn(this.poolOf[device] as number, device);
  }

  /**
   * closeUp moves a device's reservations together after a step took other than expected. They keep their
   * order, from `at` or from the end of the step under way (NONE: there is none), and each starts when its
   * batch is there.
   */
  closeUp(device: number, at: number, underWay: number, arrivalOf: (step: number) => number): void {
    const pool = this.poolOf[device] as number;
    let free = at;
    for (let i = 0; i < this.table.count(device); i++) {
      const step = this.table.owner(device, i);
      if (step === underWay) {
        free = Math.max(free, this.table.end(device, i));
        continue;
      }
      const start = Math.max(free, arrivalOf(step));
      if (start > free) this.sortGap(pool, device, start);
      free = this.table.moveTo(device, i, start);
    }
    this.sortIn(pool, device);
  }

  /**
   * sortGap notes that a device has a gap that ends at `end`, and forgets the devices whose last gap is over.
   */
  private sortGap(pool: number, device: number, end: number): void {
    if (this.up[device] === 0 || end <= (this.gapEnd[device] as number)) return;
    this.forgetGap(pool, device);
    for (let first = this.byGap.first(pool); first !== NONE; first = this.byGap.first(pool)) {
      if ((this.gapEnd[first] as number) > this.now) break;
      this.forgetGap(pool, first);
    }
    let before = this.byGap.last(pool);
    while (before !== NONE && (this.gapEnd[before] as number) > end) before = this.byGap.previous(before);
    this.byGap.insertAfter(pool, before, device);
    this.gapEnd[device] = end;
  }

  private forgetGap(pool: number, device: number): void {
    if (this.gapEnd[device] === NO_GAP) return;
    this.byGap.remove(pool, device);
    this.gapEnd[device] = NO_GAP;
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

  get kept(): number {
    return this.table.total;
  }

  deviceUp(device: number): void {
    const pool = this.poolOf[device] as number;
    this.up[device] = 1;
    this.byFree.push(pool, device);
    this.unsorted[pool] = 1;
  }

  private sortAll(pool: number): void {
    const { byFree, rank } = this;
    const { busyUntil } = this.table;
    const devices: number[] = [];
    for (let device = byFree.first(pool); device !== NONE; device = byFree.next(device)) devices.push(device);
    for (const device of devices) byFree.remove(pool, device);
    devices.sort(
      (a, b) =>
        (busyUntil[a] as number) - (busyUntil[b] as number) || (rank[a] as number) - (rank[b] as number),
    );
    for (const device of devices) byFree.push(pool, device);
    this.unsorted[pool] = 0;
  }

  deviceDown(device: number): void {
    const pool = this.poolOf[device] as number;
    this.up[device] = 0;
    this.byFree.remove(pool, device);
    this.forgetGap(pool, device);
  }
}

/** ranksWithinServers counts, for each device, the earlier devices of its pool that share its uplink. */
function ranksWithinServers({ devices, links }: Topology): Int32Array {
  const seen = new Map<string, number>();
  return Int32Array.from(devices, ({ pool }, device) => {
    const key = `${pool}/${links.uplinkOf[device]}`;
    const rank = seen.get(key) ?? 0;
    seen.set(key, rank + 1);
    return rank;
  });
}
