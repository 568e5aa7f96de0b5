import { NS_PER_S } from '../../formats/index.js';
import { RecentMost } from './recent-most.js';
import { devicesFor, plannedReplicas, type TunedSet, type Tuner } from './tuner.js';

/** ByRateSettings holds the settings of scaling by the request rate. */
export interface ByRateSettings {
  /** How often it decides, and over how long it measures the rate. */
  readonly intervalS: number;
  /** The share of its time that a worker is to be busy with full batches. */
  readonly utilisation: number;
  /** A number of replicas that was wanted within this time is kept. */
  readonly keepS: number;
}

/**
 * BY_RATE_TUNING decides every 5 s, for workers that are busy for 80 % of their time, and keeps what was wanted in the last
 * 30 s. PARD names no such figures: these are ours.
 */
export const BY_RATE_TUNING: ByRateSettings = { intervalS: 5, utilisation: 0.8, keepS: 30 };

/**
 * ByRateTuner gives each stage the workers that its request rate needs at what a worker serves in batches of the size in
 * force, as PARD does (Zhao et al., EuroSys 2026, §5.1): the rate of the last interval times what a request brings to the
 * stage, over a worker's throughput at the target utilisation. More are wanted at once, and fewer when nothing within
 * `keepS` wanted more.
 */
export class ByRateTuner implements Tuner {
  readonly wanted: Int32Array;
  nextAt: number;
  private readonly intervalNs: number;
  private readonly recent: readonly RecentMost[];
  private requests = 0;
  private since = 0;

  constructor(
    private readonly sets: readonly TunedSet[],
    private readonly settings: ByRateSettings,
  ) {
    this.wanted = plannedReplicas(sets);
    this.intervalNs = Math.round(NS_PER_S * settings.intervalS);
    this.nextAt = this.intervalNs;
    this.recent = sets.map(({ replicas }) => {
      const recent = new RecentMost(NS_PER_S * settings.keepS);
      recent.add(0, replicas);
      return recent;
    });
  }

  arrived(_at: number): boolean {
    this.requests += 1;
    return false;
  }

  decide(at: number): void {
    if (at < this.nextAt) return;
    // A server may decide a little late: the rate is that of the time that has passed.
    const rps = (NS_PER_S * this.requests) / (at - this.since);
    this.requests = 0;
    this.since = at;
    this.nextAt = at + this.intervalNs;
    this.sets.forEach(({ workS, most }, i) => {
      const needed = Math.min(most, devicesFor(rps, workS, this.settings.utilisation));
      this.wanted[i] = (this.recent[i] as RecentMost).add(at, needed);
    });
  }
}
