import type { OfflineStage } from './problem.js';

/**
 * FluidCapacity is how many requests the workers of a stage can have served since the beginning if all batches were of the
 * size that takes the least time a request, without gaps.
 *
 * Batches that begin and end within an interval have no more requests than it grows by: a batch of b takes d(b) of a worker,
 * which is at least b times the least d(b)/b, and the workers have no more time than that.
 */
export class FluidCapacity {
  /** What was served until each step of the workers. */
  private readonly served: Float64Array;
  private readonly perNs: Float64Array;
  private readonly fromNs: readonly number[];
  private step = 0;

  constructor({ latencyNs, workers }: OfflineStage) {
    const leastNs = latencyNs.reduce(
      (least, ns, i) => Math.min(least, ns / (i + 1)),
      Number.POSITIVE_INFINITY,
    );
    this.perNs = Float64Array.from(workers.count, (count) => count / leastNs);
    this.fromNs = workers.fromNs;
    this.served = new Float64Array(workers.fromNs.length);
    for (let i = 1; i < this.served.length; i++)
      this.served[i] = this.served[i - 1]! + this.perNs[i - 1]! * (this.fromNs[i]! - this.fromNs[i - 1]!);
  }

  /** at is what can have been served until an instant. It takes constant time where instants are near one another. */
  at(ns: number): number {
    const { fromNs } = this;
    while (this.step + 1 < fromNs.length && fromNs[this.step + 1]! <= ns) this.step += 1;
    while (this.step > 0 && fromNs[this.step]! > ns) this.step -= 1;
    return this.served[this.step]! + this.perNs[this.step]! * (ns - fromNs[this.step]!);
  }
}
