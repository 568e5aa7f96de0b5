import { smallestOf } from '../../collections/index.js';
import { NS_PER_S } from '../../formats/index.js';
import { ArrivalWindows } from './arrival-windows.js';
import { RecentMost } from './recent-most.js';
import { devicesFor, plannedReplicas, type TunedSet, type Tuner } from './tuner.js';

/** CoarseSettings holds the times of the coarse tuner. */
export interface CoarseSettings {
  /** How often it decides. */
  readonly intervalS: number;
  /** Over how long the rate is measured. */
  readonly windowS: number;
  /** How long a unit must have been idle before it is put away. */
  readonly waitS: number;
}

/**
 * COARSE_TUNING has AutoScale's wait of 120 s before a server that idles is stopped. InferLine does not say how often its
 * coarse tuner decides, nor over how long it measures: these times are ours.
 */
export const COARSE_TUNING: CoarseSettings = { intervalS: 1, windowS: 10, waitS: 120 };

/**
 * CoarseTuner scales the pipeline as one black box, as InferLine's comparison does (§6) by AutoScale's mechanism (Gandhi
 * et al., TOCS 2012). The unit is the plan's replicas over their greatest common divisor, and serves what its busiest
 * stage can. As many units are in use as the measured rate fills: more at once when it is beyond what they serve, fewer
 * when a unit was not needed for 120 s.
 */
export class CoarseTuner implements Tuner {
  readonly wanted: Int32Array;
  nextAt: number;
  private readonly arrivals: ArrivalWindows;
  private readonly recent: RecentMost;
  private readonly unit: readonly number[];
  private readonly unitRps: number;
  private readonly intervalNs: number;

  constructor(
    private readonly sets: readonly TunedSet[],
    private readonly settings: CoarseSettings,
  ) {
    this.wanted = plannedReplicas(sets);
    const units = sets.reduce((divisor, { replicas }) => commonDivisor(divisor, replicas), 0);
    this.unit = sets.map(({ replicas }) => replicas / units);
    this.unitRps = smallestOf(sets.map(({ replicas, workS }) => replicas / workS)) / units;
    this.arrivals = new ArrivalWindows([NS_PER_S * settings.windowS]);
    this.recent = new RecentMost(NS_PER_S * settings.waitS);
    this.recent.add(0, units);
    this.intervalNs = Math.round(NS_PER_S * settings.intervalS);
    this.nextAt = this.intervalNs;
  }

  arrived(at: number): boolean {
    this.arrivals.add(at);
    return false;
  }

  decide(at: number): void {
    if (at < this.nextAt) return;
    this.nextAt = at + this.intervalNs;
    this.arrivals.slide(at);
    const windowS = Math.min(this.settings.windowS, at / NS_PER_S);
    const needed = devicesFor(this.arrivals.countIn(0) / windowS, 1 / this.unitRps, 1);
    const units = this.recent.add(at, needed);
    this.sets.forEach(({ most }, i) => {
      this.wanted[i] = Math.min(most, units * (this.unit[i] as number));
    });
  }
}

function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b);
}
