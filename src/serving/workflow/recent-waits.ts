import type { Stream } from '../../random/index.js';
import type { Task } from './work.js';

/** How many waits of each component are kept: those of the last tasks. */
const KEPT = 128;

/**
 * RecentWaits keeps how long the last tasks of each component waited on their devices, once their inputs and their component were
 * there, until they were executed or given up, and draws from these waits (PARD §4.2). Draws are made anew once a quarter of the waits are new.
 */
export class RecentWaits {
  private readonly waits: Float64Array[];
  private readonly seen: number[];
  private readonly drawn: Float64Array[];
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
    this.drawn = Array.from({ length: components }, () => new Float64Array(draws));
    this.seen = new Array<number>(components).fill(0);
    this.drawnAt = new Array<number>(components).fill(0);
    this.heldNs = new Float64Array(devices * components);
  }

  /** loaded tells that a device holds a component from now on. */
  loaded(at: number, device: number, component: number): void {
    this.heldNs[device * this.components + component] = at;
  }

  /** over tells that a task waits no more: its device executes it from now on, or it is given up. */
  over(at: number, { device, component, thereNs }: Task): void {
    const heldNs = this.heldNs[device * this.components + component] as number;
    const seen = this.seen[component] as number;
    (this.waits[component] as Float64Array)[seen % KEPT] = at - Math.max(thereNs, heldNs);
    this.seen[component] = seen + 1;
  }

  /** drawsOf gives draws from the waits of a component, which are 0 as long as it has had none. */
  drawsOf(component: number): Float64Array {
    const drawn = this.drawn[component] as Float64Array;
    const seen = this.seen[component] as number;
    const last = this.drawnAt[component] as number;
    if (seen === last || (last > 0 && seen - last < Math.min(last, KEPT) / 4)) return drawn;
    this.drawnAt[component] = seen;
    const waits = this.waits[component] as Float64Array;
    for (let i = 0; i < drawn.length; i++)
      drawn[i] = waits[this.stream.integer(Math.min(seen, KEPT))] as number;
    return drawn;
  }
}
