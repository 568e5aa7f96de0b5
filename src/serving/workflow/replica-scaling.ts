/** ScalingSettings says by what the number of replicas follows the number of tasks; times are in nanoseconds. */
export interface ScalingSettings {
  /** How many tasks a replica is to have, in the mean over the last `lookBackNs`. Tasks are counted every `metricsIntervalNs`. */
  readonly targetOngoing: number;
  readonly metricsIntervalNs: number;
  readonly lookBackNs: number;
  /** How long more, or fewer, replicas must have been wanted than there are before their number changes. */
  readonly upscaleDelayNs: number;
  readonly downscaleDelayNs: number;
  /** The least and the largest number of replicas of a component. */
  readonly leastReplicas: number;
  readonly mostReplicas: number;
}

/** Scaled is a component whose replicas are counted: how many there are at the start, and at most. */
export interface Scaled {
  readonly first: number;
  readonly most: number;
}

/**
 * ReplicaScaling says how many replicas each component is to have, as Ray Serve's default autoscaling does: as many as
 * give each its target of tasks, once that has differed in the same direction from what there are for as long as its
 * delay says.
 *
 * Tasks are counted at multiples of the interval. While there are none, and nothing is to change, nothing is counted.
 */
export class ReplicaScaling {
  /** By component, how many replicas it is to have. */
  readonly targets: Int32Array;
  private readonly desired: Int32Array;
  /** By component, 1 while more replicas are desired, −1 while fewer are, and since when. */
  private readonly direction: Int8Array;
  private readonly sinceNs: Float64Array;
  private counts: { readonly atNs: number; readonly tasks: readonly number[] }[] = [];
  private nextCountNs = 0;

  constructor(
    private readonly scaled: readonly Scaled[],
    private readonly settings: ScalingSettings,
  ) {
    this.targets = Int32Array.from(scaled, ({ first }) => first);
    this.desired = this.targets.slice();
    this.direction = new Int8Array(scaled.length);
    this.sinceNs = new Float64Array(scaled.length);
  }

  /**
   * decide changes the targets that are due.
   * @param tasks by component, how many tasks wait for a replica or are with one
   * @returns when it is to be asked again, infinite where nothing changes without a task
   */
  decide(at: number, tasks: readonly number[]): number {
    const { metricsIntervalNs } = this.settings;
    const areNone = tasks.every((count) => count === 0);
    if (this.nextCountNs === Number.POSITIVE_INFINITY && !areNone)
      this.nextCountNs = Math.ceil(at / metricsIntervalNs) * metricsIntervalNs;
    if (at >= this.nextCountNs) {
      this.count(at, tasks);
      this.nextCountNs = (Math.floor(at / metricsIntervalNs) + 1) * metricsIntervalNs;
    }
    let nextNs = Number.POSITIVE_INFINITY;
    for (const [component, count] of tasks.entries())
      nextNs = Math.min(nextNs, this.follow(at, component, count > 0));
    const isQuiet = areNone && nextNs === Number.POSITIVE_INFINITY && this.areZero();
    if (isQuiet) this.nextCountNs = Number.POSITIVE_INFINITY;
    return Math.min(nextNs, this.nextCountNs);
  }

  /** count notes the tasks there are, and computes how many replicas are desired by the mean over the look-back. */
  private count(at: number, tasks: readonly number[]): void {
    const { lookBackNs, metricsIntervalNs, targetOngoing, leastReplicas } = this.settings;
    this.counts = this.counts.filter(({ atNs }) => atNs > at - lookBackNs);
    this.counts.push({ atNs: at, tasks });
    // Values before the first count are 0.
    const sinceStart = Math.floor(at / metricsIntervalNs) + 1;
    const times = Math.min(sinceStart, Math.max(1, Math.floor(lookBackNs / metricsIntervalNs)));
    for (const [component, { most }] of this.scaled.entries()) {
      const sum = this.counts.reduce((all, { tasks: then }) => all + (then[component] as number), 0);
      const desired = Math.ceil(sum / (times * targetOngoing));
      this.desired[component] = Math.max(leastReplicas, Math.min(most, desired));
    }
  }

  /**
   * follow lets the target of a component follow what is desired, and says when it is to change unless
   * something else changes first.
   */
  private follow(at: number, component: number, hasTasks: boolean): number {
    const { upscaleDelayNs, downscaleDelayNs } = this.settings;
    // The first replica is made without delay.
    if (this.targets[component] === 0 && hasTasks) this.targets[component] = 1;
    const target = this.targets[component] as number;
    // The last replica goes only once there has been one.
    const desired = Math.max(target > 1 ? 1 : 0, this.desired[component] as number);
    const direction = Math.sign(desired - target);
    if (direction !== this.direction[component]) {
      this.direction[component] = direction;
      this.sinceNs[component] = at;
    }
    if (direction === 0) return Number.POSITIVE_INFINITY;
    const dueNs = (this.sinceNs[component] as number) + (direction > 0 ? upscaleDelayNs : downscaleDelayNs);
    if (at < dueNs) return dueNs;
    this.targets[component] = desired;
    this.direction[component] = 0;
    return this.follow(at, component, hasTasks);
  }

  private areZero(): boolean {
    return this.counts.every(({ tasks }) => tasks.every((count) => count === 0));
  }
}
