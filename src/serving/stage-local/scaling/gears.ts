import type { GearTable, ServedGear } from '../../topology.js';

const NEVER = Number.POSITIVE_INFINITY;
/** A stage that the active gear has no step for starts a batch with any task. */
const ANY = 1;

/**
 * Gears chooses the active gear by the rate of arrivals (CascadeServe §5). Arrivals are counted over
 * intervals. A gear for higher loads becomes active at once: as soon as the arrivals of an interval are
 * more than the active gear is for. A gear for lower loads becomes the current one at the end of an
 * interval, unless the rate is below alpha times the length of the first queue, so that the rest of a burst
 * is served first.
 *
 * Where an accuracy is promised and no latency, rates count for less in the proportion in which the mean rate so far is above the
 * planned one, so that accurate gears are active as much of the time as was planned (§C.2). A mean rate below the
 * planned one changes nothing, since that only makes answers more accurate.
 */
export class Gears {
  /** The active gear, and how often another one has become active. */
  current = 0;
  shifts = 0;
  private readonly pools: readonly Int32Array[];
  /** The beginning of the interval, the arrivals in it, and all arrivals before it. */
  private fromNs = 0;
  private count = 0;
  private before = 0;

  constructor(
    readonly table: GearTable,
    pools: number,
    private readonly waitingBefore: (pool: number) => number,
  ) {
    this.pools = table.gears.map(({ steps }) => {
      const minQueues = new Int32Array(pools).fill(ANY);
      for (const { pool, minQueue } of steps) minQueues[pool] = minQueue;
      return minQueues;
    });
  }

  /** The pool at which requests enter. */
  get entry(): number {
    return (this.inForce.steps[0] as ServedGear['steps'][number]).pool;
  }

  get timeoutNs(): number {
    return this.inForce.timeoutNs;
  }

  /** minQueue is how many tasks must wait before a pool until a batch starts. */
  minQueue(pool: number): number {
    return (this.pools[this.current] as Int32Array)[pool] as number;
  }

  /** waiting is how many tasks wait before the first step. */
  get waiting(): number {
    return this.waitingBefore(this.entry);
  }

  /** nextAt is when a gear for lower loads may become active, Infinity where none can. */
  get nextAt(): number {
    return this.current === 0 ? NEVER : this.fromNs + this.table.intervalNs;
  }

  /** arrived counts arrivals; `passed` has been called for the same time. */
  arrived(requests: number): void {
    this.count += requests;
    this.shiftTo(this.gearFor(this.rate(this.count), this.current));
  }

  /**
   * passed reports that the time has passed, and ends the intervals that are over. Queues are as they were since the last
   * event.
   */
  passed(at: number): void {
    const { intervalNs, alpha } = this.table;
    while (at >= this.fromNs + intervalNs) {
      const rate = this.rate(this.count);
      const wanted = this.gearFor(rate);
      if (wanted >= this.current || rate >= alpha * this.waiting) this.shiftTo(wanted);
      const isQuiet = this.count === 0 && this.current === wanted;
      this.before += this.count;
      this.count = 0;
      this.fromNs += intervalNs;
      // While nothing comes and nothing changes, intervals end alike.
      if (isQuiet) this.fromNs += Math.floor((at - this.fromNs) / intervalNs) * intervalNs;
    }
  }

  private shiftTo(gear: number): void {
    if (gear === this.current) return;
    this.current = gear;
    this.shifts += 1;
  }

  private get inForce(): ServedGear {
    return this.table.gears[this.current] as ServedGear;
  }

  /** rate is the rate of an interval with a given number of arrivals, as gears are chosen by it. */
  private rate(count: number): number {
    const { intervalNs, plannedRps } = this.table;
    const rps = (1e9 * count) / intervalNs;
    if (plannedRps === undefined) return rps;
    const meanRps = (1e9 * (this.before + count)) / (this.fromNs + intervalNs);
    return meanRps > plannedRps ? (rps * plannedRps) / meanRps : rps;
  }

  /** gearFor is the gear for a rate, or the least that is asked for where that is higher. */
  private gearFor(rps: number, least = 0): number {
    const { gears } = this.table;
    let gear = least;
    while (gear < gears.length - 1 && rps > (gears[gear] as ServedGear).toRps) gear++;
    return gear;
  }
}
