import { itemAt } from '../../collections/index.js';
import type { GearPlan } from '../../formats/index.js';

/** Nothing is said of a load before it was watched for this many intervals; each has some chance in it. */
const LEAST_INTERVALS = 600;
/** The share of time that may be in other ranges than planned. */
const MOST_STRAY = 0.3;

/**
 * LoadWatch compares the distribution of loads with the one that a gear plan was made for (CascadeServe
 * §C.2). It reports once how far the load has strayed: the share of time that is in other ranges than
 * planned, above 30 %.
 */
export class LoadWatch {
  private readonly counts: Float64Array;
  private intervals = 0;
  private interval = 0;
  private arrivals = 0;
  private isTold = false;

  constructor(
    private readonly plan: Pick<GearPlan, 'gears' | 'switching'>,
    private readonly tell: (stray: number) => void,
  ) {
    this.counts = new Float64Array(plan.gears.length);
  }

  /** arrived counts an arrival at a time since the beginning, which never goes back. */
  arrived(atMs: number): void {
    const now = Math.floor(atMs / this.plan.switching.intervalMs);
    if (now > this.interval) this.pass(now);
    this.arrivals += 1;
  }

  private pass(now: number): void {
    this.counts[this.rangeOf(this.arrivals)]! += 1;
    // Nothing came in the intervals between.
    this.counts[0]! += now - this.interval - 1;
    this.intervals += now - this.interval;
    this.interval = now;
    this.arrivals = 0;
    if (this.isTold || this.intervals < LEAST_INTERVALS) return;
    const stray = this.stray();
    if (stray <= MOST_STRAY) return;
    this.isTold = true;
    this.tell(stray);
  }

  private rangeOf(arrivals: number): number {
    const { gears, switching } = this.plan;
    const rps = (1e3 * arrivals) / switching.intervalMs;
    const range = gears.findIndex(({ toRps }) => rps <= toRps);
    return range === -1 ? gears.length - 1 : range;
  }

  /** stray is the total variation distance of both distributions. */
  private stray(): number {
    const { gears } = this.plan;
    return gears.reduce(
      (sum, { share }, range) => sum + Math.abs(share - itemAt(this.counts, range) / this.intervals) / 2,
      0,
    );
  }
}
