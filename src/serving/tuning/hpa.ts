import { NS_PER_S } from '../../formats/index.js';
import type { LoadMeter, MeterReading } from './load-meter.js';
import { RecentMost } from './recent-most.js';
import { plannedReplicas, type TunedSet, type Tuner } from './tuner.js';

const ROUNDING = 1e-9;

/** HpaSettings holds the settings of Kubernetes' autoscaler. */
export interface HpaSettings {
  /** The share of its time that a replica is to be busy. */
  readonly utilisation: number;
  /** By how much of the target the utilisation may differ without a change. */
  readonly tolerance: number;
  readonly syncS: number;
  /** The largest number of replicas that was recommended within this time is kept. */
  readonly stabilizationS: number;
  /** In a sync period at most this many pods are added, or this share of those there are, whichever is more. */
  readonly upPods: number;
  readonly upShare: number;
}

/**
 * HPA_TUNING has the defaults of Kubernetes 1.30: a target of 80 % (of autoscaling/v1), a tolerance of 10 %, a sync period
 * of 15 s, a stabilization window of 300 s for scaling down, and at most 4 pods or 100 % more in 15 s
 * (kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale).
 */
export const HPA_TUNING: HpaSettings = {
  utilisation: 0.8,
  tolerance: 0.1,
  syncS: 15,
  stabilizationS: 300,
  upPods: 4,
  upShare: 1,
};

/**
 * HpaTuner scales every stage by itself, as Kubernetes' HorizontalPodAutoscaler does: desired = ⌈current × utilisation /
 * target⌉. A replica that is coming up counts as idle when scaling up, so that it is not asked for twice. The metric is
 * the share of its time that a replica executed batches, in the last sync period.
 */
export class HpaTuner implements Tuner {
  readonly wanted: Int32Array;
  nextAt: number;
  private readonly syncNs: number;
  private readonly recommended: readonly RecentMost[];
  private before: MeterReading | undefined;

  constructor(
    private readonly sets: readonly TunedSet[],
    private readonly settings: HpaSettings,
  ) {
    this.wanted = plannedReplicas(sets);
    this.syncNs = Math.round(NS_PER_S * settings.syncS);
    this.nextAt = this.syncNs;
    this.recommended = sets.map(({ replicas }) => {
      const recent = new RecentMost(NS_PER_S * settings.stabilizationS);
      recent.add(0, replicas);
      return recent;
    });
  }

  arrived(_at: number): boolean {
    return false;
  }

  decide(at: number, meter: LoadMeter): void {
    if (at < this.nextAt) return;
    this.nextAt = at + this.syncNs;
    const now = meter.read(at);
    this.sets.forEach((set, i) => {
      const busyNs = (now.busyNs[i] as number) - (this.before?.busyNs[i] ?? 0);
      const readyNs = (now.readyNs[i] as number) - (this.before?.readyNs[i] ?? 0);
      this.decideFor(at, i, {
        busy: readyNs === 0 ? 0 : busyNs / readyNs,
        ready: meter.readyIn(i),
        most: set.most,
      });
    });
    this.before = now;
  }

  private decideFor(
    at: number,
    i: number,
    { busy, ready, most }: { readonly busy: number; readonly ready: number; readonly most: number },
  ): void {
    const current = this.wanted[i] as number;
    const { upPods, upShare } = this.settings;
    const recommended = Math.max(1, Math.min(most, this.desired(current, ready, busy)));
    const kept = (this.recommended[i] as RecentMost).add(at, recommended);
    const highest = Math.max(current + upPods, Math.ceil(current * (1 + upShare)));
    // Earlier recommendations only keep replicas: they add none.
    const stable = recommended > current ? recommended : Math.min(current, kept);
    this.wanted[i] = Math.min(stable, highest, most);
  }

  /** desired gives the replicas that bring the utilisation to its target. */
  private desired(current: number, ready: number, busy: number): number {
    const { utilisation, tolerance } = this.settings;
    const ratio = busy / utilisation;
    const isNear = (one: number) => Math.abs(one - 1) <= tolerance;
    if (isNear(ratio)) return current;
    if (ratio < 1 || ready >= current) return Math.ceil(ratio * Math.min(ready, current) - ROUNDING);
    const withIdle = (ratio * ready) / current;
    return isNear(withIdle) || withIdle < 1 ? current : Math.ceil(withIdle * current - ROUNDING);
  }
}
