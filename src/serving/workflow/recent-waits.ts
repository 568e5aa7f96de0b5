import type { Stream } from '../../random/index.js';
import type { Task } from './work.js';

/** How many waits of each component are kept: those of the last tasks, and for how long each counts. */
const KEPT = 128;
const COUNTS_FOR_NS = 5e9;
const REDRAWN_AFTER_NS = 1e9;

/**
 * RecentWaits keeps how long the last tasks of each component waited on their devices, once their inputs and their
 * component were there, until they were executed or given up, and draws from these waits (PARD §4.2), those of the last
 * five seconds. Draws are made anew once a quarter of the waits are new, or a second has passed.
 */
export class RecentWaits {
  private readonly waits: Float64Array[];
  private readonly overAt: Float64Array[];
  private readonly seen: number[];
  private readonly drawn: Float64Array[];
  /** By component, how many waits had been seen when draws were made, and when that was. */
  private readonly drawnOf: number[];
  private readonly drawnAt: number[];
  /** By device and component, when the component came to be there. */
  private readonly heldNs: Float64Array;
  private readonly stream: Stream;

  constructor(
    private readonly components: number,
    { devices, draws, stream }: { readonly devices: number; readonly draws: number; readonly stream: Stream },
  ) {
    this.stream = stream;
    this.waits = Array.from({ length: components }, () => new Float64Array(KEPT));
    this.overAt = Array.from({ length: components }, () => new Float64Array(KEPT));
    this.drawn = Array.from({ length: components }, () => new Float64Array(draws));
    this.seen = new Array<number>(components).fill(0);
    this.drawnOf = new Array<number>(components).fill(0);
    this.drawnAt = new Array<number>(components).fill(0);
    this.heldNs = new Float64Array(devices * components);
  }

  /** loaded reports that a device holds a component from now on. */
  loaded(at: number, device: number, component: number): void {
    this.heldNs[device * this.components + component] = at;
  }

  /** over reports that a task waits no more: its device executes it from now on, or it is given up. */
  over(at: number, { device, component, thereNs }: Task): void {
    const heldNs = this.heldNs[device * this.components + component] as number;
    const seen = this.seen[component] as number;
    (this.waits[component] as Float64Array)[seen % KEPT] = at - Math.max(thereNs, heldNs);
    (this.overAt[component] as Float64Array)[seen % KEPT] = at;
    this.seen[component] = seen + 1;
  }

  /** drawsOf gives draws from the waits of a component, which are 0 as long as it has had none of late. */
  drawsOf(at: number, component: number): Float64Array {
    const drawn = this.drawn[component] as Float64Array;
    const seen = this.seen[component] as number;
    const last = this.drawnOf[component] as number;
    const isOld = last > 0 && at - (this.drawnAt[component] as number) > REDRAWN_AFTER_NS;
    if (!isOld && (seen === last || (last > 0 && seen - last < Math.min(last, KEPT) / 4))) return drawn;
    this.drawnOf[component] = seen;
    this.drawnAt[component] = at;
    const waits = this.waits[component] as Float64Array;
    const kept = this.countingOf(at, component);
    for (let i = 0; i < drawn.length; i++)
      drawn[i] = kept === 0 ? 0 : (waits[(seen - 1 - this.stream.integer(kept)) % KEPT] as number);
    return drawn;
  }

  /** countingOf is how many of the waits of a component count, which are the last ones. */
  private countingOf(at: number, component: number): number {
    const overAt = this.overAt[component] as Float64Array;
    const seen = this.seen[component] as number;
    const most = Math.min(seen, KEPT);
    let kept = 0;
    while (kept < most && at - (overAt[(seen - 1 - kept) % KEPT] as number) <= COUNTS_FOR_NS) kept += 1;
    return kept;
  }
}
