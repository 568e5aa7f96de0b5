import { NS_PER_S } from '../../formats/index.js';
import type { LoadMeter, MeterReading } from './load-meter.js';
import { devicesFor, plannedReplicas, type TunedSet, type Tuner } from './tuner.js';

/** Ds2Settings holds the times of DS2's tuner. */
export interface Ds2Settings {
  /** DS2's policy interval: how often it decides, and over how long it measures. */
  readonly intervalS: number;
  /** DS2's warm-up: how many intervals after a change are not looked at. */
  readonly warmUpIntervals: number;
}

/** DS2_TUNING decides every 10 s, and not in the interval in which replicas come up. DS2 leaves both to its user. */
export const DS2_TUNING: Ds2Settings = { intervalS: 10, warmUpIntervals: 1 };

/**
 * Ds2Tuner gives each operator the parallelism that serves the mean rate of the last interval, all at once,
 * as DS2 does (Kalavri et al., OSDI 2018): the rate that comes to the operator, over the true rate of one of
 * its devices, which is what it processed per second that it was busy. The rate that comes to an operator is
 * the pipeline's rate times the plan's scale factor. An operator that processed nothing has the true rate of
 * the plan.
 */
export class Ds2Tuner implements Tuner {
  readonly wanted: Int32Array;
  nextAt: number;
  private readonly intervalNs: number;
  private requests = 0;
  private before: MeterReading | undefined;
  private pausedUntil = 0;

  constructor(
    private readonly sets: readonly TunedSet[],
    private readonly settings: Ds2Settings,
  ) {
    this.wanted = plannedReplicas(sets);
    this.intervalNs = Math.round(NS_PER_S * settings.intervalS);
    this.nextAt = this.intervalNs;
  }

  arrived(_at: number): boolean {
    this.requests += 1;
    return false;
  }

  decide(at: number, meter: LoadMeter): void {
    if (at < this.nextAt) return;
    const now = meter.read(at);
    const rps = this.requests / this.settings.intervalS;
    const { before } = this;
    this.before = now;
    this.requests = 0;
    this.nextAt = at + this.intervalNs;
    if (at <= this.pausedUntil) return;
    let isChanged = false;
    this.sets.forEach((set, i) => {
      const tasks = (now.tasks[i] as number) - (before?.tasks[i] ?? 0);
      const busyS = ((now.busyNs[i] as number) - (before?.busyNs[i] ?? 0)) / NS_PER_S;
      const workS = tasks === 0 ? set.workS : (busyS / tasks) * set.visits;
      const needed = Math.min(set.most, devicesFor(rps, workS, 1));
      isChanged ||= needed !== this.wanted[i];
      this.wanted[i] = needed;
    });
    if (isChanged) this.pausedUntil = at + this.settings.warmUpIntervals * this.intervalNs;
  }
}
