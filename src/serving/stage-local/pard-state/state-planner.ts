import { grownCapacity, grownColumn, nthSmallest, NONE as SHARED_NONE } from '../../../collections/index.js';
import { NS_PER_S } from '../../../formats/index.js';
import type { Stream } from '../../../random/index.js';
import type { Durations, PlanColumns, Requests } from '../../state/index.js';
import { followersOf, type Topology } from '../../topology.js';
import type { DropRule } from '../policy.js';
import { BatchWaits } from './batch-waits.js';
import { laterPaths } from './later-paths.js';
import { LearntBranches } from './learnt-branches.js';
import { LoadFactors, type Transition } from './load-factors.js';
import type { Readings } from './readings.js';
import { RecentValues } from './recent-values.js';
import { stageShares } from './stage-shares.js';

const NONE = SHARED_NONE;

/** How often what takes long to update is updated, where the period is 0. */
const UPDATE_NS = 0.1 * NS_PER_S;

/** State is not shared more often: each time costs F of every stage, and wakes the server. */
const LEAST_PERIOD_NS = 1e6;

/** StateSettings says over how long state is observed, how often it is shared, and how many waits F is made from. */
export interface StateSettings {
  /** The length of the sliding window. */
  readonly windowNs: number;
  /** The stages share their state at every whole multiple; with 0, all is as it is at the moment. */
  readonly periodNs: number;
  readonly samples: number;
}

/** LaterEstimate says what of the later stages counts: DropRule end-to-end. */
export type LaterEstimate = Omit<Extract<DropRule, { kind: 'end-to-end' }>, 'kind'>;

/** StatePlannerOptions says what a StatePlanner is to estimate; what is absent it does not. */
export interface StatePlannerOptions extends StateSettings {
  readonly estimate?: LaterEstimate | undefined;
  readonly transition?: Transition | undefined;
  /** divides says whether the SLO is divided by the worst latencies of late. */
  readonly divides?: boolean;
  /** The mean queueing delay of a stage above which it and those before it are overloaded. */
  readonly thresholdNs?: number | undefined;
  /** The readings that replace those of docs/pard.md. */
  readonly readings?: Readings | undefined;
}

/** StatePlannerParts is what a StatePlanner works on. */
export interface StatePlannerParts {
  readonly topology: Topology;
  readonly columns: PlanColumns;
  readonly requests: Requests;
  readonly durations: Durations;
  /** The stream of its draws. */
  readonly stream: () => Stream;
  /** devicesUp is how many devices of a pool are up. */
  readonly devicesUp: (pool: number) => number;
}

const LEARNS: { readonly [K in LaterEstimate['branches']]: boolean } = { worst: false, learnt: true };

/**
 * StatePlanner is PARD's State Planner (§4.2): it watches how long tasks queue at each stage and how long they wait in a
 * batch, and estimates how long those that go on will take. It also tells the load factors of §4.3.
 *
 * Figures are shared at every whole multiple of the period: in between, they are those of the last. They are
 * computed when the first event comes at or after a multiple (`passed`), at O(samples × stages) for F and
 * O(1) for each stage else. Recording an event of a task takes constant time. Memory does not follow the
 * number of requests.
 */
export class StatePlanner {
  private readonly pools: number;
  private readonly paths: readonly (readonly Int32Array[])[];
  /** By pool and path, the estimated batch wait on it. */
  private readonly waitsNs: readonly Float64Array[];
  /** By pool, the estimated time of the later stages on the longest path, as it was shared. */
  private readonly restNs: Float64Array;
  private shares: Float64Array;
  private readonly isShedding: Uint8Array;

  /** The queueing delays of the tasks that were kept, and those of all that were decided. */
  private readonly queueing: RecentValues;
  private readonly allQueueing: RecentValues;
  /** The whole latencies of the tasks that were decided. */
  private readonly latencies: RecentValues;
  private readonly waits: BatchWaits;
  private readonly loads: LoadFactors | undefined;

  /** The observed branches that tasks take; absent where the worst path counts. */
  private readonly branches: LearntBranches | undefined;
  private readonly later: readonly Float64Array[];
  private readonly draws: readonly Float64Array[];
  private readonly sums: Float64Array;
  private readonly stream: (() => Stream) | undefined;
  /** By request in flight and pool, its batch wait: where F is of the waits of whole requests. */
  private together = new Float64Array(0);

  private readonly everyNs: number;
  private readonly loadEveryNs: number;
  private shared = 0;
  private loadInterval = 0;

  private readonly topology: Topology;
  private readonly columns: PlanColumns;
  private readonly requests: Requests;
  private readonly durations: Durations;

  constructor(
    { topology, columns, requests, durations, stream, devicesUp }: StatePlannerParts,
    private readonly options: StatePlannerOptions,
  ) {
    const { pools } = topology;
    const { windowNs, periodNs, samples, estimate, transition, readings = {} } = options;
    this.topology = topology;
    this.columns = columns;
    this.requests = requests;
    this.durations = durations;
    this.pools = pools.length;
    this.paths = laterPaths(pools, (pool) => this.durationNs(pool));
    this.waitsNs = this.paths.map((of) => new Float64Array(of.length));
    this.restNs = new Float64Array(pools.length);
    this.isShedding = new Uint8Array(pools.length);
    this.queueing = new RecentValues(pools.length, windowNs);
    this.allQueueing = new RecentValues(pools.length, windowNs);
    this.latencies = new RecentValues(pools.length, windowNs);
    this.waits = new BatchWaits(pools.length, samples);
    const isDrawn = estimate?.wait === 'quantile';
    this.branches = estimate && LEARNS[estimate.branches] ? new LearntBranches(pools) : undefined;
    this.later = pools.map(() => new Float64Array(this.branches === undefined ? 0 : samples));
    // No path leads to a first stage, so that nothing is drawn of its waits.
    const followed = new Set(pools.flatMap(followersOf));
    this.draws = pools.map((_, pool) => new Float64Array(isDrawn && followed.has(pool) ? samples : 0));
    this.sums = new Float64Array(isDrawn ? samples : 0);
    const drawn = isDrawn || this.branches !== undefined ? stream() : undefined;
    // Streams that begin alike draw the waits of the same requests at every stage.
    this.stream = drawn && (readings.waits === 'joint' ? stream : () => drawn);
    this.everyNs = periodNs === 0 ? UPDATE_NS : Math.max(periodNs, LEAST_PERIOD_NS);
    this.loadEveryNs =
      readings.loadIntervalNs ?? (periodNs === 0 ? NS_PER_S : Math.max(periodNs, LEAST_PERIOD_NS));
    this.loads =
      transition &&
      new LoadFactors(pools.length, {
        intervalNs: this.loadEveryNs,
        transition,
        smoothed: readings.smoothedIntervals,
        throughputRps: (pool) =>
          (devicesUp(pool) * (columns.batch[pool] as number) * NS_PER_S) / this.executionNs(pool),
      });
    this.shares = stageShares(pools, this.durationsNs());
    this.share(0);
  }

  /** nextAt is when the state is shared next. */
  get nextAt(): number {
    const next = (this.shared + 1) * this.everyNs;
    return this.loads === undefined ? next : Math.min(next, (this.loadInterval + 1) * this.loadEveryNs);
  }

  /** passed reports that the time has passed, before an event at `at`. */
  passed(at: number): void {
    const interval = Math.floor(at / this.loadEveryNs);
    if (interval > this.loadInterval) {
      this.loadInterval = interval;
      this.loads?.decide(interval);
    }
    const multiple = Math.floor(at / this.everyNs);
    if (multiple <= this.shared) return;
    this.shared = multiple;
    this.share(multiple * this.everyNs);
  }

  /** came reports that a task has come to a stage. */
  came(at: number, pool: number): void {
    this.loads?.came(at, pool);
  }

  /** kept reports that a task was put into a batch that is to begin at `start` on a device. */
  kept(at: number, task: number, pool: number, start: number, device = NONE): void {
    this.queueing.add(at, pool, at - this.requests.queuedAt(task));
    this.waited(task, pool, start - at);
    this.decided(at, task, pool, start, device);
  }

  /** dropped reports that a task was given up whose batch would have begun at `start` on a device. */
  dropped(at: number, task: number, pool: number, start: number, device = NONE): void {
    const { readings } = this.options;
    if (readings?.countsDropped === true) this.queueing.add(at, pool, at - this.requests.queuedAt(task));
    this.decided(at, task, pool, start, device);
  }

  private waited(task: number, pool: number, waitNs: number): void {
    const kind = this.options.readings?.waits;
    if (kind === undefined) this.waits.add(pool, waitNs);
    if (kind !== 'joint') return;
    const row = this.requests.requestOf(task) * this.pools;
    if (row + this.pools > this.together.length)
      this.together = grownColumn(this.together, grownCapacity(this.together.length, row + this.pools));
    this.together[row + pool] = waitNs;
    if (pool === this.pools - 1)
      for (let one = 0; one < this.pools; one++) this.waits.add(one, this.together[row + one] as number);
  }

  private decided(at: number, task: number, pool: number, start: number, device: number): void {
    const { divides = false, thresholdNs } = this.options;
    const queuedAt = this.requests.queuedAt(task);
    if (thresholdNs !== undefined) this.allQueueing.add(at, pool, at - queuedAt);
    if (divides) this.latencies.add(at, pool, start - queuedAt + this.executionNs(pool, device));
  }

  /** estimatesLater returns whether `laterNs` may be asked. */
  get estimatesLater(): boolean {
    return this.options.estimate !== undefined;
  }

  /** laterNs estimates how long a task takes after a stage, on the longest path from it (Eq. 3: the State Planner's part). */
  laterNs(at: number, pool: number): number {
    const isLive = this.options.periodNs === 0 && this.branches === undefined;
    return isLive ? this.longest(at, pool) : (this.restNs[pool] as number);
  }

  /** laterWorkNs is what the stages after one take on the longest path from it, without queueing. */
  laterWorkNs(pool: number): number {
    const [longest] = this.paths[pool] as readonly Int32Array[];
    return (longest as Int32Array).reduce((sum, later) => sum + this.durationNs(later), 0);
  }

  /** watchesEdges returns whether `took` is to be called for the tasks of a stage. */
  watchesEdges(pool: number): boolean {
    return this.branches?.watches(pool) ?? false;
  }

  /** took says which edges a task of a stage takes, as bits in their order. */
  took(pool: number, edges: number): void {
    this.branches?.took(pool, edges);
  }

  /** shareOf is the part of an SLO that a stage is given. */
  shareOf(pool: number): number {
    return this.shares[pool] as number;
  }

  /** sheds returns whether tasks queue for longer than the threshold at this stage, or at a later one. */
  sheds(pool: number): boolean {
    return this.isShedding[pool] === 1;
  }

  /** isOverloaded returns whether more comes to a stage than it can serve. */
  isOverloaded(pool: number): boolean {
    return this.loads?.isOverloaded(pool) ?? false;
  }

  /** loadFactor is T_in/T_m of a stage, 0 where it is not watched. */
  loadFactor(pool: number): number {
    return this.loads?.factorOf(pool) ?? 0;
  }

  /**
   * durationNs is the time of a stage with the current batch: its execution, and the transfer to the next. It is that on a
   * device, or without one the mean of the devices that are up.
   */
  durationNs(pool: number, device = NONE): number {
    return this.durations.stepNs(pool, this.columns.batch[pool] as number, device);
  }

  /** leastNs is `durationNs` on a device, or without one on the fastest; 0 where the pool is NONE. */
  leastNs(pool: number, device: number): number {
    if (pool === NONE) return 0;
    if (device !== NONE) return this.durationNs(pool, device);
    return this.durations.leastStepNs(pool, this.columns.batch[pool] as number);
  }

  private executionNs(pool: number, device = NONE): number {
    return this.durations.executionNs(pool, this.columns.batch[pool] as number, device);
  }

  private durationsNs(): Float64Array {
    return Float64Array.from({ length: this.pools }, (_, pool) => this.durationNs(pool));
  }

  private share(at: number): void {
    const { estimate, divides = false, thresholdNs } = this.options;
    if (estimate !== undefined) this.estimateLater(at, estimate);
    if (divides) this.divide(at);
    if (thresholdNs !== undefined) this.watch(at, thresholdNs);
  }

  private estimateLater(at: number, estimate: LaterEstimate): void {
    this.estimateWaits(estimate);
    if (this.branches !== undefined) this.drawLater(at, estimate, this.branches);
    else for (let pool = 0; pool < this.pools; pool++) this.restNs[pool] = this.longest(at, pool);
  }

  /** drawLater estimates by the quantile of what tasks take that go along the branches that others took. */
  private drawLater(at: number, estimate: LaterEstimate, branches: LearntBranches): void {
    const { draws, later, restNs } = this;
    const fixedNs = Float64Array.from({ length: this.pools }, (_, pool) => this.fixedNs(at, pool, estimate));
    const waitNs: (pool: number, draw: number) => number =
      estimate.wait === 'quantile' ? (pool, draw) => draws[pool]?.[draw] as number : () => 0;
    branches.draw(
      (pool, draw) => (fixedNs[pool] as number) + waitNs(pool, draw),
      this.stream?.() as Stream,
      later,
    );
    for (let pool = 0; pool < this.pools; pool++)
      restNs[pool] = nthSmallest(
        later[pool] as Float64Array,
        later[pool]?.length ?? 0,
        this.rankOf(estimate),
      );
  }

  /** fixedNs is what counts of a later stage except for drawn waits. */
  private fixedNs(at: number, pool: number, { queueing, execution, wait }: LaterEstimate): number {
    const longestWaitNs = wait === 'most' ? this.executionNs(pool) : 0;
    return (
      (queueing ? this.queueing.mean(at, pool) : 0) + (execution ? this.durationNs(pool) : 0) + longestWaitNs
    );
  }

  private rankOf({ quantile }: LaterEstimate): number {
    return Math.max(0, Math.ceil(quantile * this.options.samples) - 1);
  }

  private longest(at: number, pool: number): number {
    const { queueing: countsQueueing, execution } = this.options.estimate as LaterEstimate;
    const paths = this.paths[pool] as readonly Int32Array[];
    const waits = this.waitsNs[pool] as Float64Array;
    let longest = 0;
    for (let i = 0; i < paths.length; i++) {
      const path = paths[i] as Int32Array;
      let length = waits[i] as number;
      for (let step = 0; step < path.length; step++) {
        const later = path[step] as number;
        if (countsQueueing) length += this.queueing.mean(at, later);
        if (execution) length += this.durationNs(later);
      }
      if (length > longest) longest = length;
    }
    return longest;
  }

  private estimateWaits(estimate: LaterEstimate): void {
    switch (estimate.wait) {
      case 'none':
        return;
      case 'most':
        this.setWaits((path) => path.reduce((sum, pool) => sum + this.executionNs(pool), 0));
        return;
      case 'quantile':
        for (let pool = 0; pool < this.pools; pool++)
          this.waits.draw(pool, this.draws[pool] as Float64Array, {
            longestNs: this.executionNs(pool),
            stream: this.stream?.() as Stream,
          });
        if (this.branches === undefined) this.setWaits((path) => this.quantileOn(path, estimate));
    }
  }

  private setWaits(waitNs: (path: Int32Array) => number): void {
    for (let pool = 0; pool < this.pools; pool++)
      this.paths[pool]?.forEach((path, i) => {
        (this.waitsNs[pool] as Float64Array)[i] = path.length === 0 ? 0 : waitNs(path);
      });
  }

  /** quantileOn is the quantile of the sums of the draws of the stages on a path: F⁻¹(λ). */
  private quantileOn(path: Int32Array, estimate: LaterEstimate): number {
    const { sums } = this;
    sums.set(this.draws[path[0] as number] as Float64Array);
    for (let step = 1; step < path.length; step++) {
      const draws = this.draws[path[step] as number] as Float64Array;
      for (let i = 0; i < sums.length; i++) sums[i]! += draws[i] as number;
    }
    return nthSmallest(sums, sums.length, this.rankOf(estimate));
  }

  private divide(at: number): void {
    const worst = this.durationsNs().map((durationNs, pool) => this.latencies.most(at, pool) || durationNs);
    this.shares = stageShares(this.topology.pools, worst);
  }

  private watch(at: number, thresholdNs: number): void {
    for (let pool = 0; pool < this.pools; pool++)
      this.isShedding[pool] = this.allQueueing.mean(at, pool) > thresholdNs ? 1 : 0;
    for (let pool = this.pools - 1; pool >= 0; pool--)
      if (this.paths[pool]?.some((path) => path.some((later) => this.isShedding[later] === 1)))
        this.isShedding[pool] = 1;
  }
}
