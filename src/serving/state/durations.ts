import { fullBatches, type Pool, stagesFrom, type Topology } from '../topology.js';
import type { FeedbackCorrection, ReservationCorrection } from './corrections.js';

const LEAST_RATIO = 0.25;
const MOST_RATIO = 16;
/** Of the time that a full batch leaves of the SLO: the rest is for waiting. Best in bench/correction. */
const MOST_OF_ROOM = 0.7;

type Correction = FeedbackCorrection | ReservationCorrection;

/**
 * How long executions and transfers are expected to take: planned, or scaled by what they took. A correction that counts deviations
 * is of both and in whole nanoseconds, as reservations are; one that does not is of executions alone.
 */
export class Durations {
  private readonly executions: StepTimes;
  private readonly transfers: StepTimes;
  private readonly stages: Int32Array;
  /** Where each pool's row begins, less 1: that of a batch of b is b further. */
  private readonly rowOf: Int32Array;
  private readonly works: Float64Array;
  private readonly mostWork: Float64Array;
  private readonly fullRest: Float64Array;
  /** First pool of each pool's pipeline. */
  private readonly entryOf: Int32Array;
  /** The largest batch that fits a pool and all after it. */
  private readonly fullSize: Int32Array;
  private readonly sloNs: Float64Array;
  private readonly mostDeviations: number;

  constructor({ pools, models }: Topology, correction: Correction) {
    this.mostDeviations = 'deviations' in correction ? correction.deviations : 0;
    this.sloNs = Float64Array.from(pools, ({ model }) => models[model]?.sloNs as number);
    this.entryOf = Int32Array.from(pools, ({ partition }, pool) => pool - partition);
    this.fullSize = fullBatches(pools);
    this.stages = stagesFrom(pools);
    this.rowOf = rowsOf(pools);
    this.executions = new StepTimes(
      this.rowOf,
      pools.map(({ latencyNs }) => latencyNs),
      correction,
    );
    this.transfers = new StepTimes(
      this.rowOf,
      pools.map(({ transferNs }) => transferNs),
      'deviations' in correction ? correction : { kind: 'none' },
    );
    this.works = new Float64Array((this.rowOf[pools.length] as number) + 1);
    this.mostWork = new Float64Array(pools.length);
    this.fullRest = new Float64Array(pools.length);
    for (let pool = pools.length - 1; pool >= 0; pool--) this.addUp(pool);
  }

  executionNs(pool: number, size: number): number {
    return this.executions.ns(pool, size);
  }

  /** Sending a batch on from the pool. */
  transferNs(pool: number, size: number): number {
    return this.transfers.ns(pool, size);
  }

  /** From the start of a batch in the pool to its end in the last, waiting for nothing. */
  workNs(pool: number, size: number): number {
    return this.works[(this.rowOf[pool] as number) + size] as number;
  }

  /** The same of the batch that takes longest. */
  mostWorkNs(pool: number): number {
    return this.mostWork[pool] as number;
  }

  /** Execution and the way to the next stage. */
  stepNs(pool: number, size: number): number {
    return this.executionNs(pool, size) + this.transferNs(pool, size);
  }

  /** What the stages after the pool take with full batches, and the ways between them. */
  fullRestNs(pool: number): number {
    return this.fullRest[pool] as number;
  }

  /** `workNs` by the plan alone, uncorrected. */
  plannedWorkNs(pool: number, size: number): number {
    const end = pool + (this.stages[pool] as number);
    let work = 0;
    for (let at = pool; at < end; at++)
      work += this.executions.plannedNs(at, size) + this.transfers.plannedNs(at, size);
    return work;
  }

  /**
   * What is expected from a pool on moves towards the plan: called where it has long kept a pipeline from work that the plan
   * allows. Else nothing would be executed there, and nothing would show that it has recovered.
   */
  relax(pool: number): void {
    const end = pool + (this.stages[pool] as number);
    for (let at = pool; at < end; at++) {
      this.executions.relax(at);
      this.transfers.relax(at);
      this.expect(at);
    }
  }

  observeExecution(pool: number, size: number, tookNs: number): void {
    if (this.executions.observe(pool, size, tookNs)) this.expect(pool);
  }

  observeTransfer(pool: number, size: number, tookNs: number): void {
    if (this.transfers.observe(pool, size, tookNs)) this.expect(pool);
  }

  private expect(pool: number): void {
    const margin = this.margin(pool);
    this.executions.expect(pool, margin);
    this.transfers.expect(pool, margin);
    this.addUpTo(pool);
  }

  /**
   * How many deviations are added to what is expected: no more than leave a full batch some time to wait within the SLO, where it
   * has any. A margin that forbids it gives the pipeline up, or serves it by small batches, for fear of being late.
   */
  private margin(pool: number): number {
    if (this.mostDeviations === 0) return 0;
    const entry = this.entryOf[pool] as number;
    const size = this.fullSize[entry] as number;
    const end = pool + (this.stages[pool] as number);
    let workNs = 0;
    let deviationNs = 0;
    for (let at = entry; at < end; at++) {
      workNs += this.executions.meanNs(at, size) + this.transfers.meanNs(at, size);
      deviationNs += this.executions.deviationNs(at, size) + this.transfers.deviationNs(at, size);
    }
    const roomNs = MOST_OF_ROOM * Math.max(0, (this.sloNs[pool] as number) - workNs);
    return this.mostDeviations * deviationNs <= roomNs ? this.mostDeviations : roomNs / deviationNs;
  }

  /** Of a pool and those before it in its pipeline. */
  private addUpTo(pool: number): void {
    this.addUp(pool);
    for (let at = pool - 1; at >= 0 && this.stages[at] !== 1; at--) this.addUp(at);
  }

  private addUp(pool: number): void {
    const row = this.rowOf[pool] as number;
    let most = 0;
    for (let b = 1; b <= this.batchOf(pool); b++) {
      const work = this.addedUp(pool, b);
      this.works[row + b] = work;
      most = Math.max(most, work);
    }
    this.mostWork[pool] = most;
    if (this.stages[pool] === 1) return;
    const full = this.batchOf(pool + 1);
    this.fullRest[pool] = this.stepNs(pool + 1, full) + this.fullRestNs(pool + 1);
  }

  private addedUp(pool: number, size: number): number {
    const last = pool + (this.stages[pool] as number) - 1;
    let rows = size;
    let work = this.executionNs(pool, rows);
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

/** Of one kind of step, what it is planned and what it is expected to take, by pool and batch. Nanoseconds. */
class StepTimes {
  private readonly planned: Float64Array;
  private readonly expected: Float64Array;
  /** Per pool, of what was measured over what was planned: moving averages of it and of its distance from that. */
  private readonly ratio: Float64Array;
  private readonly deviation: Float64Array;

  constructor(
    private readonly rowOf: Int32Array,
    /** Per pool, batch of b at index b − 1. */
    planned: readonly Float64Array[],
    private readonly correction: Correction,
  ) {
    const pools = planned.length;
    this.planned = new Float64Array((rowOf[pools] as number) + 1);
    planned.forEach((row, pool) => {
      this.planned.set(row, (rowOf[pool] as number) + 1);
    });
    this.expected = this.planned.slice();
    this.ratio = new Float64Array(pools).fill(1);
    this.deviation = new Float64Array(pools);
  }

  ns(pool: number, size: number): number {
    return this.expected[(this.rowOf[pool] as number) + size] as number;
  }

  /** @returns whether that changes what it takes in the mean, or its spread */
  observe(pool: number, size: number, tookNs: number): boolean {
    if (this.correction.kind === 'none') return false;
    const plannedNs = this.plannedNs(pool, size);
    const ratio = this.ratio[pool] as number;
    const deviation = this.deviation[pool] as number;
    if (plannedNs === 0 || (tookNs === plannedNs && ratio === 1 && deviation === 0)) return false;
    const { weight } = this.correction;
    const error = Math.min(Math.max(tookNs / plannedNs, LEAST_RATIO), MOST_RATIO) - ratio;
    this.ratio[pool] = ratio + weight * error;
    this.deviation[pool] = deviation + weight * (Math.abs(error) - deviation);
    return true;
  }

  relax(pool: number): void {
    if (this.correction.kind === 'none') return;
    const { weight } = this.correction;
    this.ratio[pool]! += weight * Math.min(0, 1 - (this.ratio[pool] as number));
    this.deviation[pool]! *= 1 - weight;
  }

  plannedNs(pool: number, size: number): number {
    return this.planned[(this.rowOf[pool] as number) + size] as number;
  }

  /** What a step took in the mean, without a margin. */
  meanNs(pool: number, size: number): number {
    return (this.ratio[pool] as number) * this.plannedNs(pool, size);
  }

  deviationNs(pool: number, size: number): number {
    return (this.deviation[pool] as number) * this.plannedNs(pool, size);
  }

  /** From now on the mean and so many deviations are expected. */
  expect(pool: number, deviations: number): void {
    if (this.correction.kind === 'none') return;
    const factor = (this.ratio[pool] as number) + deviations * (this.deviation[pool] as number);
    const isWhole = 'deviations' in this.correction;
    const end = this.rowOf[pool + 1] as number;
    for (let i = (this.rowOf[pool] as number) + 1; i <= end; i++) {
      const plannedNs = this.planned[i] as number;
      // What takes some time is never expected to take none: it would be kept no link, and wait for it.
      this.expected[i] = isWhole
        ? Math.max(Math.min(1, plannedNs), Math.round(factor * plannedNs))
        : factor * plannedNs;
    }
  }
}

/** Where each pool's row begins, less 1, and where the last ends. */
function rowsOf(pools: readonly Pool[]): Int32Array {
  const rowOf = new Int32Array(pools.length + 1).fill(-1);
  pools.forEach(({ batch }, pool) => {
    rowOf[pool + 1] = (rowOf[pool] as number) + batch;
  });
  return rowOf;
}
