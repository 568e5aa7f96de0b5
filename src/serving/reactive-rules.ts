import type { Durations } from './durations.js';
import type { ReactivePolicy } from './reactive-policy.js';
import type { Pool } from './topology.js';

/** A reactive policy's rules for a batch at one stage. They decide nothing and change nothing. Times in nanoseconds. */
export class ReactiveRules {
  constructor(
    private readonly policy: ReactivePolicy,
    private readonly pools: readonly Pool[],
    private readonly durations: Durations,
  ) {}

  /** The largest batch, of at most `most`, that is in time when it begins at `start`; 0 where none is. */
  largest(pool: number, start: number, deadline: number, most: number): number {
    const latest = deadline - this.laterNs(pool);
    let size = Math.min(most, this.pools[pool]?.batch as number);
    while (size > 0 && start + this.stepNs(pool, size) > latest) size -= 1;
    return size;
  }

  /** The smallest batch worth serving for a request that was not waited on. */
  leastAtFirstSight(pool: number, at: number, deadline: number): number {
    const { firstSight } = this.policy;
    if (firstSight.kind === 'never') return 1;
    const nearlyFull = Math.max(1, Math.round(firstSight.share * (this.pools[pool]?.batch as number)));
    if (firstSight.kind === 'nearly-full') return nearlyFull;
    return at + this.stepNs(pool, nearlyFull) <= deadline - this.laterNs(pool) ? nearlyFull : 1;
  }

  /** Until when to wait for a batch of `size`: it could no longer be in time on a free device. */
  lastMoment(pool: number, size: number, deadline: number): number {
    const step =
      this.policy.waitLeaves === 'transfer'
        ? this.stepNs(pool, size)
        : this.durations.executionNs(pool, size);
    return deadline - this.laterNs(pool) - step + this.policy.wakeStepNs;
  }

  /** Execution and the way to the next stage. */
  private stepNs(pool: number, size: number): number {
    return this.durations.executionNs(pool, size) + this.durations.transferNs(pool, size);
  }

  /** What the stages after the pool take with full batches. */
  private laterNs(pool: number): number {
    let sum = 0;
    for (let next = this.pools[pool]?.next; next !== undefined; next = this.pools[next]?.next)
      sum += this.stepNs(next, this.pools[next]?.batch as number);
    return sum;
  }
}
