import { NONE as SHARED_NONE } from '../../collections/index.js';
import { stageIndex } from '../../formats/index.js';
import {
  followersOf,
  fullBatches,
  gearsOf,
  type Pool,
  slosSharing,
  stagesFrom,
  type Topology,
} from '../topology.js';
import type { FeedbackCorrection, ReservationCorrection } from './corrections.js';
import { DagColumns } from './dag-columns.js';
import { DeviceClasses } from './device-classes.js';
import { type Learning, StepTimes } from './step-times.js';

const NONE = SHARED_NONE;

/**
 * MOST_OF_ROOM is the share of a full batch's spare time (the SLO less its mean work) that the added
 * deviations may take. The rest is left for waiting. 0.7 was the best in bench/correction.
 */
const MOST_OF_ROOM = 0.7;

type Correction = FeedbackCorrection | ReservationCorrection;

const NO_LEARNING: Learning = {};

function learningOf(correction: Correction): Learning {
  switch (correction.kind) {
    case 'none':
      return NO_LEARNING;
    case 'average':
    case 'steps':
      return correction;
  }
}

/**
 * Durations holds how long executions and transfers are expected to take: as planned, or scaled by measured times. A
 * correction that counts deviations scales both, in whole nanoseconds, as reservations are. A correction without
 * deviations scales only executions.
 *
 * Where a pool has devices of several classes, each class has times of its own, which are asked for by a device. Without
 * one (NONE), the answer is for whichever device of the pool comes: the mean over those that are up, each class by its share
 * of their throughput (`blendLatencies`).
 */
export class Durations {
  private readonly executions: StepTimes;
  private readonly transfers: StepTimes;
  private readonly stages: Int32Array;
  private readonly graph: DagColumns;
  /** `rowOf[row] + b` is the index of a batch of b in the columns: rows are pools, and after them classes of devices. */
  private readonly rowOf: Int32Array;
  private readonly classes: DeviceClasses;
  private readonly works: Float64Array;
  private readonly mostWork: Float64Array;
  private readonly fullRest: Float64Array;
  /** `entryOf` is the entry of each pool's pipeline. */
  private readonly entryOf: Int32Array;
  /** `fullSize` is the largest batch that fits a pool and all later pools of its pipeline. */
  private readonly fullSize: Int32Array;
  /** `longestPaths` holds the stages of the planned longest path of each pipeline, by its entry; of others, nothing. */
  private readonly longestPaths: readonly Int32Array[];
  private readonly sloNs: Float64Array;
  private readonly mostDeviations: number;
  private readonly isCascade: boolean;

  constructor(topology: Topology, correction: Correction) {
    const { pools } = topology;
    const learning = learningOf(correction);
    this.isCascade = gearsOf(topology.routes) !== undefined;
    this.mostDeviations = learning.deviations ?? 0;
    const { leastNs } = slosSharing(topology);
    this.sloNs = Float64Array.from(pools, ({ model }) => leastNs[model] as number);
    this.entryOf = Int32Array.from(pools, ({ stage }, pool) => pool - stageIndex(stage));
    this.fullSize = fullBatches(pools);
    this.stages = stagesFrom(topology);
    this.graph = new DagColumns(topology);
    this.classes = new DeviceClasses(topology);
    this.rowOf = rowsOf([...pools.map(({ batch }) => batch), ...this.classes.batches]);
    this.executions = new StepTimes(
      this.rowOf,
      [...pools.map(({ latencyNs }) => latencyNs), ...this.classes.latencies],
      learning,
    );
    this.transfers = new StepTimes(
      this.rowOf,
      pools.map(({ transferNs }) => transferNs),
      learning.deviations === undefined ? NO_LEARNING : learning,
    );
    this.works = new Float64Array((this.rowOf.at(-1) as number) + 1);
    this.mostWork = new Float64Array(pools.length);
    this.fullRest = new Float64Array(pools.length);
    for (let pool = pools.length - 1; pool >= 0; pool--) this.addUp(pool);
    this.longestPaths = pools.map(({ stage }, pool) =>
      Int32Array.from(stageIndex(stage) === 0 ? this.longestFrom(pools, pool) : []),
    );
  }

  /** executionNs is the expected time of one execution. */
  executionNs(pool: number, size: number, device = NONE): number {
    return this.executions.ns(this.classes.rowOn(pool, device), size);
  }

  /** transferNs is the expected time of sending a batch from the pool to the next. */
  transferNs(pool: number, size: number): number {
    return this.transfers.ns(pool, size);
  }

  /**
   * workNs is the expected time from the start of a batch in the pool to its end in the last pool, without waiting. In
   * a DAG it is that of the longest path still possible, and in a cascade that of the batch alone. A later pool whose
   * planned batch is smaller is counted with that batch.
   */
  workNs(pool: number, size: number, device = NONE): number {
    return this.works[(this.rowOf[this.classes.rowOn(pool, device)] as number) + size] as number;
  }

  /**
   * aloneNs is `workNs` of a task alone: on its device, or where that is NONE on the fastest device of the pool that is up. It
   * is 0 where the pool is NONE too.
   */
  aloneNs(pool: number, device: number): number {
    if (pool === NONE) return 0;
    if (device !== NONE) return this.workNs(pool, 1, device);
    const row = this.classes.leastOf(pool, (one) => this.works[(this.rowOf[one] as number) + 1] as number);
    return this.works[(this.rowOf[row] as number) + 1] as number;
  }

  /** mostWorkNs is the largest `workNs` of any batch size. */
  mostWorkNs(pool: number): number {
    return this.mostWork[pool] as number;
  }

  /** stepNs is the expected time of an execution and of the transfer to the next stage. */
  stepNs(pool: number, size: number, device = NONE): number {
    return this.executionNs(pool, size, device) + this.transferNs(pool, size);
  }

  /** leastStepNs is `stepNs` on the fastest device of the pool that is up. */
  leastStepNs(pool: number, size: number): number {
    const row = this.classes.leastOf(pool, (one) => this.executions.ns(one, size));
    return this.executions.ns(row, size) + this.transferNs(pool, size);
  }

  /** devicesChanged reports that a device has come up or gone, so that others are expected of its pool. */
  devicesChanged(device: number, isUp: boolean): void {
    const pool = this.classes.changed(device, isUp);
    if (pool === NONE) return;
    this.blend(pool);
    this.addUpTo(pool);
  }

  /**
   * fullRestNs is the expected time of the stages after the pool, each with its own full batch, and of the transfers
   * between them, on the longest path; the transfer out of the pool itself does not count. It is 0 for a last stage.
   */
  fullRestNs(pool: number): number {
    return this.fullRest[pool] as number;
  }

  /** plannedWorkNs is `workNs` by the plan, uncorrected, for a size that no later pool's batch is below. */
  plannedWorkNs(pool: number, size: number): number {
    if (this.hasEdges(pool)) return this.plannedOverEdges(pool, size);
    const end = pool + (this.stages[pool] as number);
    let work = 0;
    for (let at = pool; at < end; at++)
      work += this.executions.plannedNs(at, size) + this.transfers.plannedNs(at, size);
    return work;
  }

  /**
   * relax moves the expected times of a pool and of all later pools of its pipeline one step (the correction's
   * `weight`) towards the plan, where they are above it. It is called where the record of these pools has long
   * kept the pipeline from work that the plan allows. Without it nothing would be executed there, and nothing would
   * show that the pools have recovered.
   */
  relax(pool: number): void {
    for (const at of this.graph.reachedFrom(pool)) {
      this.executions.relax(at);
      for (const row of this.classes.rowsOf(at)) this.executions.relax(row);
      this.transfers.relax(at);
      this.expect(at);
    }
  }

  /**
   * observeExecution learns from an execution that took `tookNs`, which counts as 0.25 to 16 times the planned time.
   * It learns nothing where the correction is `none`.
   */
  observeExecution(pool: number, size: number, tookNs: number, device = NONE): void {
    const row = this.classes.rowOn(pool, device);
    const plannedNs = this.executions.plannedNs(row, size);
    const changed = this.executions.observe(row, plannedNs, tookNs);
    // How far executions are from the plan in all decides the margin.
    if (row !== pool) this.executions.observe(pool, plannedNs, tookNs);
    if (changed) this.expect(pool);
  }

  /** observeTransfer learns likewise from a transfer, but only where the correction counts deviations. */
  observeTransfer(pool: number, size: number, tookNs: number): void {
    if (this.transfers.observe(pool, this.transfers.plannedNs(pool, size), tookNs)) this.expect(pool);
  }

  private hasEdges(pool: number): boolean {
    return this.graph.firstEdge[pool] !== this.graph.firstEdge[pool + 1];
  }

  /**
   * mostOf is the largest value over the stages that edges lead to from a pool. Edges that lead back, which
   * gears with models in different orders may have, are left out: no path has all of them.
   */
  private mostOf(pool: number, worth: (to: number) => number): number {
    const { firstEdge, to } = this.graph;
    let most = 0;
    for (let edge = firstEdge[pool] as number; edge < (firstEdge[pool + 1] as number); edge++) {
      const next = to[edge] as number;
      if (next > pool) most = Math.max(most, worth(next));
    }
    return most;
  }

  private plannedOverEdges(pool: number, size: number): number {
    const own = this.executions.plannedNs(pool, size) + this.transfers.plannedNs(pool, size);
    return own + this.mostOf(pool, (to) => this.plannedWorkNs(to, size));
  }

  private expect(pool: number): void {
    const margin = this.margin(pool);
    this.executions.expect(pool, margin);
    for (const row of this.classes.rowsOf(pool)) this.executions.expect(row, margin);
    this.blend(pool);
    this.transfers.expect(pool, margin);
    this.addUpTo(pool);
  }

  /** blend expects of a pool what its devices of several classes take that are up. */
  private blend(pool: number): void {
    if (this.classes.rowsOf(pool).length > 0) this.executions.blend(pool, this.classes);
  }

  /**
   * margin is the number of mean deviations that are added to the mean. It leaves a full batch some time to
   * wait within the SLO, where it has any. A larger margin would give the pipeline up, or serve it by small
   * batches, for fear of being late.
   */
  private margin(pool: number): number {
    if (this.mostDeviations === 0) return 0;
    const entry = this.entryOf[pool] as number;
    const size = this.fullSize[entry] as number;
    let workNs = 0;
    let deviationNs = 0;
    const path = this.longestPaths[entry] as Int32Array;
    for (let i = 0; i < path.length; i++) {
      const at = path[i] as number;
      workNs += this.executions.meanNs(at, size) + this.transfers.meanNs(at, size);
      deviationNs += this.executions.deviationNs(at, size) + this.transfers.deviationNs(at, size);
    }
    const roomNs = MOST_OF_ROOM * Math.max(0, (this.sloNs[pool] as number) - workNs);
    return this.mostDeviations * deviationNs <= roomNs ? this.mostDeviations : roomNs / deviationNs;
  }

  /** longestFrom lists the stages of the longest path from a stage on, its own first, with full batches. */
  private longestFrom(pools: readonly Pool[], pool: number): number[] {
    const path = [pool];
    const restNs = (to: number) => this.stepNs(to, this.batchOf(to)) + this.fullRestNs(to);
    for (let at = pool; ; ) {
      const from = at;
      const later = followersOf(pools[at] as Pool).filter((to) => to > from);
      const first = later[0];
      if (first === undefined) return path;
      at = later.reduce((longest, to) => (restNs(to) > restNs(longest) ? to : longest), first);
      path.push(at);
    }
  }

  /** addUpTo sums the work again for a pool and all earlier pools of its pipeline. */
  private addUpTo(pool: number): void {
    const entry = this.entryOf[pool] as number;
    for (let at = pool; at >= entry; at--) this.addUp(at);
  }

  private addUp(pool: number): void {
    let most = 0;
    for (let k = -1; k < this.classes.rowsOf(pool).length; k++) {
      const by = k < 0 ? pool : (this.classes.rowsOf(pool)[k] as number);
      const row = this.rowOf[by] as number;
      for (let b = 1; b <= this.batchOf(pool); b++) {
        const work = this.addedUp(pool, b, by);
        this.works[row + b] = work;
        most = Math.max(most, work);
      }
    }
    this.mostWork[pool] = most;
    if (this.hasEdges(pool))
      this.fullRest[pool] = this.mostOf(
        pool,
        (to) => this.stepNs(to, this.batchOf(to)) + this.fullRestNs(to),
      );
    if (this.stages[pool] === 1) return;
    const full = this.batchOf(pool + 1);
    this.fullRest[pool] = this.stepNs(pool + 1, full) + this.fullRestNs(pool + 1);
  }

  /** @param row the times by which the pool itself executes: its own, or those of a class */
  private addedUp(pool: number, size: number, row: number): number {
    // In a cascade, any task may be answered after this stage.
    if (this.isCascade) return this.executions.ns(row, size);
    if (this.hasEdges(pool)) {
      const later = this.mostOf(pool, (to) => this.workNs(to, Math.min(size, this.batchOf(to))));
      return this.executions.ns(row, size) + this.transferNs(pool, size) + later;
    }
    const last = pool + (this.stages[pool] as number) - 1;
    let rows = size;
    let work = this.executions.ns(row, rows);
    for (let at = pool; at < last; at++) {
      work += this.transferNs(at, rows);
      rows = Math.min(rows, this.batchOf(at + 1));
      work += this.executionNs(at + 1, rows);
    }
    return work;
  }

  private batchOf(pool: number): number {
    return (this.rowOf[pool + 1] as number) - (this.rowOf[pool] as number);
  }
}

/** rowsOf gives `rowOf` for rows of a given number of batch sizes, and one more entry for the end of the last row. */
function rowsOf(batches: readonly number[]): Int32Array {
  const rowOf = new Int32Array(batches.length + 1).fill(-1);
  batches.forEach((batch, row) => {
    rowOf[row + 1] = (rowOf[row] as number) + batch;
  });
  return rowOf;
}
