import { NS_PER_S } from '../../formats/index.js';
import type { LoadMeter } from './load-meter.js';
import { plannedReplicas, type TunedSet, type Tuner } from './tuner.js';

const ROUNDING = 1e-9;
const TICK_S = 2;

/** KpaSettings holds the settings of Knative's autoscaler. */
export interface KpaSettings {
  /** The requests that a replica may hold at a time; absent, what it holds: its batch. */
  readonly concurrency?: number | undefined;
  /** The share of that concurrency that is aimed at. */
  readonly utilisation: number;
  readonly stableS: number;
  readonly panicS: number;
  /** The tuner panics where the panic window asks for at least this multiple of the present replicas. */
  readonly panicThreshold: number;
  readonly maxScaleUpRate: number;
  readonly maxScaleDownRate: number;
}

/**
 * KPA_TUNING has Knative's defaults (config-autoscaler of Knative Serving 1.14): target 70 %, stable window 60 s, panic
 * window 10 % of it, panic threshold 200 %, scale-up rate 1000, scale-down rate 2. Its default concurrency is 100, for
 * replicas without a limit of their own; these have one. It never scales to zero here.
 */
export const KPA_TUNING: KpaSettings = {
  utilisation: 0.7,
  stableS: 60,
  panicS: 6,
  panicThreshold: 2,
  maxScaleUpRate: 1000,
  maxScaleDownRate: 2,
};

/** Panic is how far a set is in panic: since when it was last asked for, and the most replicas that were wanted in it. */
interface Panic {
  since: number;
  most: number;
}

/**
 * KpaTuner scales every stage by itself, as Knative's pod autoscaler does: to the mean number of tasks in it over the
 * stable window, over what a replica should hold. Where the panic window asks for twice the replicas that there are, it
 * follows that window, and takes no replica away for a stable window. It decides every 2 s.
 *
 * A set of two replicas or more begins in panic, with those that it has: until a stable window has passed, the tuner has
 * seen too little to take any away (as `newAutoscaler` of Knative does). A panic that begins later begins without any.
 */
export class KpaTuner implements Tuner {
  readonly wanted: Int32Array;
  nextAt: number;
  /** The mean tasks in each set in each of the last ticks. */
  private readonly ticks: Float64Array[] = [];
  private before: Float64Array;
  private readonly panics: (Panic | undefined)[];
  private readonly stableTicks: number;
  private readonly panicTicks: number;

  constructor(
    private readonly sets: readonly TunedSet[],
    private readonly settings: KpaSettings,
  ) {
    this.wanted = plannedReplicas(sets);
    this.nextAt = NS_PER_S * TICK_S;
    this.before = new Float64Array(sets.length);
    this.panics = sets.map(({ replicas }) => (replicas > 1 ? { since: 0, most: replicas } : undefined));
    this.stableTicks = Math.max(1, Math.round(settings.stableS / TICK_S));
    this.panicTicks = Math.max(1, Math.round(settings.panicS / TICK_S));
  }

  arrived(_at: number): boolean {
    return false;
  }

  decide(at: number, meter: LoadMeter): void {
    if (at < this.nextAt) return;
    this.nextAt = at + NS_PER_S * TICK_S;
    const { insideNs } = meter.read(at);
    this.ticks.push(insideNs.map((ns, i) => (ns - (this.before[i] as number)) / (NS_PER_S * TICK_S)));
    if (this.ticks.length > this.stableTicks) this.ticks.shift();
    this.before = insideNs;
    this.sets.forEach((_, i) => {
      this.wanted[i] = this.desired(at, i, meter.readyIn(i));
    });
  }

  private desired(at: number, i: number, readyNow: number): number {
    const { batch, most } = this.sets[i] as TunedSet;
    const {
      concurrency = batch,
      utilisation,
      panicThreshold,
      maxScaleUpRate,
      maxScaleDownRate,
    } = this.settings;
    const target = concurrency * utilisation;
    const ready = Math.max(1, readyNow);
    const replicasOver = (ticks: number) => Math.ceil(this.meanOver(i, ticks) / target - ROUNDING);
    const bounded = (replicas: number) =>
      Math.min(Math.max(replicas, Math.floor(ready / maxScaleDownRate)), Math.ceil(maxScaleUpRate * ready));
    const inPanic = replicasOver(this.panicTicks);
    const stable = bounded(replicasOver(this.stableTicks));
    const panic = this.panicAt(at, i, inPanic / ready >= panicThreshold);
    if (panic === undefined) return Math.max(1, Math.min(most, stable));
    panic.most = Math.max(panic.most, stable, bounded(inPanic));
    return Math.max(1, Math.min(most, panic.most));
  }

  /** panicAt begins a panic, prolongs it or ends it. */
  private panicAt(at: number, i: number, isOver: boolean): Panic | undefined {
    const panic = this.panics[i];
    if (isOver) this.panics[i] = { since: at, most: panic?.most ?? 0 };
    else if (panic !== undefined && panic.since + NS_PER_S * this.settings.stableS < at)
      this.panics[i] = undefined;
    return this.panics[i];
  }

  private meanOver(i: number, ticks: number): number {
    const last = this.ticks.slice(-ticks);
    return last.reduce((sum, tick) => sum + (tick[i] as number), 0) / last.length;
  }
}
