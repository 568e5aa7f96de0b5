import type { ReservationCorrection } from './reservation-policy.js';
import { type Pool, stagesFrom } from './topology.js';

const LEAST_RATIO = 0.25;
const MOST_RATIO = 16;

/** How long executions and transfers are expected to take: planned, or scaled by what they took (ReservationCorrection). */
export class Durations {
  private readonly executions: StepTimes;
  private readonly transfers: StepTimes;
  private readonly stages: Int32Array;
  /** Where each pool's row begins, less 1: that of a batch of b is b further. */
  private readonly rowOf: Int32Array;
  private readonly works: Float64Array;
  private readonly mostWork: Float64Array;

  constructor(pools: readonly Pool[], correction: ReservationCorrection) {
    this.stages = stagesFrom(pools);
    this.rowOf = rowsOf(pools);
    const noTimes = (batch: number) => new Float64Array(batch);
    this.executions = new StepTimes(
      this.rowOf,
      pools.map(({ latencyNs }) => latencyNs),
      correction,
    );
    this.transfers = new StepTimes(
      this.rowOf,
      pools.map(({ transferNs, batch, next }) => (next === undefined ? noTimes(batch) : transferNs)),
      correction,
    );
    this.works = new Float64Array((this.rowOf[pools.length] as number) + 1);
    this.mostWork = new Float64Array(pools.length);
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

  observeExecution(pool: number, size: number, tookNs: number): void {
    if (this.executions.observe(pool, size, tookNs)) this.addUpTo(pool);
  }

  observeTransfer(pool: number, size: number, tookNs: number): void {
    if (this.transfers.observe(pool, size, tookNs)) this.addUpTo(pool);
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
      let work = this.executionNs(pool, b);
      if (this.stages[pool] !== 1)
        work += this.transferNs(pool, b) + this.workNs(pool + 1, Math.min(b, this.batchOf(pool + 1)));
      this.works[row + b] = work;
      most = Math.max(most, work);
    }
    this.mostWork[pool] = most;
  }

  private batchOf(pool: number): number {
    return (this.rowOf[pool + 1] as number) - (this.rowOf[pool] as number);
  }
}

/** Of one kind of step, what it is planned and what it is expected to take, by pool and batch. Whole nanoseconds. */
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
    private readonly correction: ReservationCorrection,
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

  /** @returns whether it changes what is expected */
  observe(pool: number, size: number, tookNs: number): boolean {
    if (this.correction.kind === 'none') return false;
    const plannedNs = this.planned[(this.rowOf[pool] as number) + size] as number;
    const ratio = this.ratio[pool] as number;
    const deviation = this.deviation[pool] as number;
    if (plannedNs === 0 || (tookNs === plannedNs && ratio === 1 && deviation === 0)) return false;
    const { weight, deviations } = this.correction;
    const error = Math.min(Math.max(tookNs / plannedNs, LEAST_RATIO), MOST_RATIO) - ratio;
    this.ratio[pool] = ratio + weight * error;
    this.deviation[pool] = deviation + weight * (Math.abs(error) - deviation);
    this.scale(pool, (this.ratio[pool] as number) + deviations * (this.deviation[pool] as number));
    return true;
  }

  private scale(pool: number, factor: number): void {
    const end = this.rowOf[pool + 1] as number;
    for (let i = (this.rowOf[pool] as number) + 1; i <= end; i++)
      this.expected[i] = Math.round(factor * (this.planned[i] as number));
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
