import type { ReservationCorrection } from './reservation-policy.js';
import type { Pool } from './topology.js';

const LEAST_RATIO = 0.25;
const MOST_RATIO = 16;

/** How long executions and transfers are expected to take: planned, or scaled by what they took (ReservationCorrection). */
export class Durations {
  /** Per pool, batch of b at index b − 1. Whole nanoseconds. */
  private readonly executions: Float64Array[];
  private readonly transfers: Float64Array[];
  private readonly works: Float64Array[];
  private readonly mostWork: Float64Array;
  private readonly ratio: Float64Array;
  private readonly deviation: Float64Array;
  private readonly sendRatio: Float64Array;
  private readonly sendDeviation: Float64Array;

  constructor(
    private readonly pools: readonly Pool[],
    private readonly correction: ReservationCorrection,
  ) {
    this.executions = pools.map(({ latencyNs }) => latencyNs.slice());
    this.transfers = pools.map(({ transferNs, next }) =>
      next === undefined ? new Float64Array(transferNs.length) : transferNs.slice(),
    );
    this.works = pools.map(({ batch }) => new Float64Array(batch));
    this.mostWork = new Float64Array(pools.length);
    this.ratio = new Float64Array(pools.length).fill(1);
    this.deviation = new Float64Array(pools.length);
    this.sendRatio = new Float64Array(pools.length).fill(1);
    this.sendDeviation = new Float64Array(pools.length);
    for (let pool = pools.length - 1; pool >= 0; pool--) this.addUp(pool);
  }

  executionNs(pool: number, size: number): number {
    return this.executions[pool]?.[size - 1] as number;
  }

  /** Sending a batch on from the pool. */
  transferNs(pool: number, size: number): number {
    return this.transfers[pool]?.[size - 1] as number;
  }

  /** From the start of a batch in the pool to its end in the last, waiting for nothing. */
  workNs(pool: number, size: number): number {
    return this.works[pool]?.[size - 1] as number;
  }

  /** The same of the batch that takes longest. */
  mostWorkNs(pool: number): number {
    return this.mostWork[pool] as number;
  }

  observeExecution(pool: number, size: number, tookNs: number): void {
    const { latencyNs } = this.pools[pool] as Pool;
    const expected = this.executions[pool] as Float64Array;
    if (this.learn(this.ratio, this.deviation, pool, tookNs, latencyNs[size - 1] as number))
      this.scale(expected, latencyNs, this.ratio, this.deviation, pool);
  }

  observeTransfer(pool: number, size: number, tookNs: number): void {
    const { transferNs } = this.pools[pool] as Pool;
    const expected = this.transfers[pool] as Float64Array;
    if (this.learn(this.sendRatio, this.sendDeviation, pool, tookNs, transferNs[size - 1] as number))
      this.scale(expected, transferNs, this.sendRatio, this.sendDeviation, pool);
  }

  /** @returns whether it changes what is expected */
  private learn(
    ratios: Float64Array,
    deviations: Float64Array,
    pool: number,
    tookNs: number,
    plannedNs: number,
  ): boolean {
    if (this.correction.kind === 'none' || plannedNs === 0) return false;
    const ratio = ratios[pool] as number;
    const deviation = deviations[pool] as number;
    if (tookNs === plannedNs && ratio === 1 && deviation === 0) return false;
    const { weight } = this.correction;
    const error = Math.min(Math.max(tookNs / plannedNs, LEAST_RATIO), MOST_RATIO) - ratio;
    ratios[pool] = ratio + weight * error;
    deviations[pool] = deviation + weight * (Math.abs(error) - deviation);
    return true;
  }

  private scale(
    expected: Float64Array,
    planned: Float64Array,
    ratios: Float64Array,
    deviations: Float64Array,
    pool: number,
  ): void {
    const { deviations: times } = this.correction as { deviations: number };
    const factor = (ratios[pool] as number) + times * (deviations[pool] as number);
    for (let i = 0; i < expected.length; i++) expected[i] = Math.round(factor * (planned[i] as number));
    for (let at = pool; at >= 0 && (at === pool || this.pools[at]?.next === at + 1); at--) this.addUp(at);
  }

  private addUp(index: number): void {
    const { batch, next } = this.pools[index] as Pool;
    const works = this.works[index] as Float64Array;
    for (let b = 1; b <= batch; b++) {
      works[b - 1] = this.executionNs(index, b);
      if (next === undefined) continue;
      const onward = Math.min(b, this.pools[next]?.batch as number);
      works[b - 1]! += this.transferNs(index, b) + this.workNs(next, onward);
    }
    this.mostWork[index] = works.reduce((most, work) => Math.max(most, work), 0);
  }
}
