import { smallestOf } from '../../collections/index.js';
import type { EnvelopeWindow } from '../../formats/index.js';
import { NS_PER_S, NS_PER_US } from '../../formats/index.js';
import { ArrivalWindows } from './arrival-windows.js';
import { RecentMost } from './recent-most.js';
import { devicesFor, plannedReplicas, type TunedSet, type Tuner } from './tuner.js';

/** How often the tuner looks whether it can scale down, once the pipeline is stable. */
const LOOK_EVERY_NS = NS_PER_S;
/** How many windows of the look-back begin within the length of one. */
const STEPS_PER_WINDOW = 5;
const ROUNDING = 1e-9;

/** InferlineSettings holds the times of InferLine's tuner (§5). */
export interface InferlineSettings {
  /** How long nothing must have changed before replicas are put away. */
  readonly stabilityS: number;
  /** How far the tuner looks back when it scales down, and in windows of which length. */
  readonly lookBackS: number;
  readonly windowS: number;
}

/** INFERLINE_TUNING is what InferLine's §5 says. */
export const INFERLINE_TUNING: InferlineSettings = { stabilityS: 15, lookBackS: 30, windowS: 5 };

/**
 * InferlineTuner keeps the traffic within the envelope that the pipeline was planned for (InferLine §5).
 * - Up: as soon as more requests came within a window than the sample ever had in one of that length, each set gets the
 *   devices that serve the largest such rate with the plan's slack: k_m = ⌈r_max·s_m/(μ_m·ρ_m)⌉.
 * - Down: when nothing has changed for 15 s, each set keeps the devices that serve the largest rate of the last 30 s, in
 *   windows of 5 s, with the most slack of all sets: k_m = ⌈λ_new·s_m/(μ_m·ρ_p)⌉, ρ_p = min ρ_m.
 *
 * The rules as printed have no way back up to the plan: a load that returns to what was planned exceeds no window. So a
 * set has at least the share of the plan's replicas that the load is of the planned envelope: where every window has at
 * most the share u of its requests, ⌈u·k_m⌉ of the plan's k_m, at once when the share grows, and kept for 30 s.
 *
 * An arrival costs constant time per window. The paper does not say how often it looks whether to scale down: this
 * looks every second. Nor does it say which windows of 5 s it takes: these begin a second
 * apart.
 */
export class InferlineTuner implements Tuner {
  readonly wanted: Int32Array;
  nextAt: number;
  private readonly arrivals: ArrivalWindows;
  /** The largest number of requests that is planned for in each window. */
  private readonly planned: Float64Array;
  private readonly leastProvisioning: number;
  private readonly stabilityNs: number;
  /** The largest rate beyond the envelope since the last decision; 0 where there was none. */
  private peakRps = 0;
  /** The largest share of the envelope of late. */
  private readonly recentShare: RecentMost;
  private share = 0;

  /** @param envelope the envelope of the sample that the pipeline was planned for */
  constructor(
    private readonly sets: readonly (TunedSet & { readonly provisioning: number })[],
    envelope: readonly EnvelopeWindow[],
    private readonly settings: InferlineSettings,
  ) {
    this.wanted = plannedReplicas(sets);
    const lengths = envelope.map(({ windowUs }) => Math.round(NS_PER_US * windowUs));
    // The last window only keeps the arrivals that scaling down looks back at.
    this.arrivals = new ArrivalWindows([...lengths, NS_PER_S * (settings.lookBackS + settings.windowS)]);
    this.planned = Float64Array.from(envelope, ({ requests }) => requests);
    this.leastProvisioning = smallestOf(sets.map(({ provisioning }) => provisioning));
    this.stabilityNs = Math.round(NS_PER_S * settings.stabilityS);
    this.recentShare = new RecentMost(NS_PER_S * settings.lookBackS);
    this.nextAt = this.stabilityNs;
  }

  arrived(at: number): boolean {
    const { arrivals, planned } = this;
    arrivals.add(at);
    let rps = 0;
    let share = 0;
    for (let i = 0; i < planned.length; i++) {
      const count = arrivals.countIn(i);
      share = Math.max(share, count / (planned[i] as number));
      if (count > (planned[i] as number))
        rps = Math.max(rps, (NS_PER_S * count) / (arrivals.lengthsNs[i] as number));
    }
    const before = this.share;
    this.share = this.recentShare.add(at, Math.min(1, share));
    if (rps <= this.peakRps && this.share <= before) return false;
    this.peakRps = Math.max(rps, this.peakRps);
    return this.sets.some((set, i) => this.neededNow(set) > (this.wanted[i] as number));
  }

  decide(at: number): void {
    this.share = this.recentShare.add(at, 0);
    const isRaised = this.raise();
    this.peakRps = 0;
    if (isRaised) this.nextAt = at + this.stabilityNs;
    else if (at >= this.nextAt) this.nextAt = at + (this.lower(at) ? this.stabilityNs : LOOK_EVERY_NS);
  }

  /** neededNow is what a set needs for the rate beyond the envelope, or for the share of it. */
  private neededNow(set: (typeof this.sets)[number]): number {
    const { workS, provisioning, most } = set;
    const beyond = this.peakRps === 0 ? 0 : devicesFor(this.peakRps, workS, provisioning);
    return Math.min(most, Math.max(beyond, this.neededWithin(set)));
  }

  /** neededWithin gives the share of the plan's replicas that the load of late is of the planned envelope. */
  private neededWithin({ replicas }: TunedSet): number {
    return Math.max(1, Math.ceil(this.share * replicas - ROUNDING));
  }

  private raise(): boolean {
    let isRaised = false;
    this.sets.forEach((set, i) => {
      const needed = this.neededNow(set);
      if (needed <= (this.wanted[i] as number)) return;
      this.wanted[i] = needed;
      isRaised = true;
    });
    return isRaised;
  }

  private lower(at: number): boolean {
    const rps = this.recentRps(at);
    let isLowered = false;
    this.sets.forEach((set, i) => {
      const needed = Math.max(devicesFor(rps, set.workS, this.leastProvisioning), this.neededWithin(set));
      if (needed >= (this.wanted[i] as number)) return;
      this.wanted[i] = needed;
      isLowered = true;
    });
    return isLowered;
  }

  /** recentRps is the largest rate in any window of the last 30 s, in windows a fifth of their length apart. */
  private recentRps(at: number): number {
    const { lookBackS, windowS } = this.settings;
    this.arrivals.slide(at);
    const stepNs = (NS_PER_S * windowS) / STEPS_PER_WINDOW;
    const steps = Math.max(STEPS_PER_WINDOW, Math.floor((NS_PER_S * lookBackS) / stepNs));
    const after = Array.from({ length: steps + 1 }, (_, k) =>
      this.arrivals.countAfter(at - Math.round(k * stepNs)),
    );
    let most = 0;
    for (let k = STEPS_PER_WINDOW; k <= steps; k++)
      most = Math.max(most, (after[k] as number) - (after[k - STEPS_PER_WINDOW] as number));
    return most / windowS;
  }
}
