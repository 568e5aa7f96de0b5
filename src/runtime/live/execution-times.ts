import { itemAt } from '../../collections/index.js';
import { quantileOfSorted } from '../../metrics/index.js';

/** The last batches of a pool whose times are kept. */
const KEPT = 4096;

/** ExecutedBatches says how the batches of one size of a pool were executed. */
export interface ExecutedBatches {
  readonly size: number;
  /** The batches executed since the server's start. */
  readonly executed: number;
  /** The batches that the times below are of. */
  readonly measured: number;
  readonly p50Us?: number;
  readonly p95Us?: number;
}

interface PoolTimes {
  /** By size − 1, the batches since the start. */
  readonly executed: number[];
  /** A ring of the last batches: when they ended in the order of all batches, their sizes and times. */
  readonly ring: { order: number; size: number; us: number }[];
  next: number;
}

/**
 * ExecutionTimes keeps how long the last 4,096 batches of every pool took, so that medians of the time since
 * a moment can be reported. Moments are numbers of batches: `sequence` at the moment that is meant.
 */
export class ExecutionTimes {
  private readonly pools: PoolTimes[];
  /** The batches of all pools so far. */
  sequence = 0;

  constructor(pools: number) {
    this.pools = Array.from({ length: pools }, () => ({ executed: [], ring: [], next: 0 }));
  }

  /** record adds a batch that was executed in `us` microseconds. */
  record(pool: number, size: number, us: number): void {
    const times = itemAt(this.pools, pool);
    times.executed[size - 1] = (times.executed[size - 1] ?? 0) + 1;
    times.ring[times.next] = { order: this.sequence, size, us };
    times.next = (times.next + 1) % KEPT;
    this.sequence += 1;
  }

  /** since gives the batches of a pool by size, with the times of those kept that came after the first `sequence`. */
  since(pool: number, sequence: number): ExecutedBatches[] {
    const { executed, ring } = itemAt(this.pools, pool);
    const found: ExecutedBatches[] = [];
    executed.forEach((count, i) => {
      const wanted = ring.filter(({ order, size }) => size === i + 1 && order >= sequence);
      const sorted = wanted.map(({ us }) => us).sort((a, b) => a - b);
      const [p50Us, p95Us] = [quantileOfSorted(sorted, 0.5), quantileOfSorted(sorted, 0.95)];
      const times = p50Us === undefined || p95Us === undefined ? {} : { p50Us, p95Us };
      found.push({ size: i + 1, executed: count, measured: sorted.length, ...times });
    });
    return found;
  }
}
