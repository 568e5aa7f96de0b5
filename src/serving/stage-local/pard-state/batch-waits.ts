import { grownCapacity, grownColumn } from '../../../collections/index.js';
import type { Stream } from '../../../random/index.js';

/** BatchWaits keeps the last batch waits of each pool, at most `most` of them, and draws from them. */
export class BatchWaits {
  private readonly waits: Float64Array[];
  /** How many waits each pool has had. */
  private readonly seen: Float64Array;

  constructor(
    pools: number,
    private readonly most: number,
  ) {
    this.waits = Array.from({ length: pools }, () => new Float64Array(0));
    this.seen = new Float64Array(pools);
  }

  add(pool: number, waitNs: number): void {
    const seen = this.seen[pool] as number;
    let waits = this.waits[pool] as Float64Array;
    if (seen === waits.length && seen < this.most) {
      waits = grownColumn(waits, Math.min(this.most, grownCapacity(waits.length, seen + 1)));
      this.waits[pool] = waits;
    }
    waits[seen % this.most] = waitNs;
    this.seen[pool] = seen + 1;
  }

  /**
   * draw fills `into` with draws from a pool's waits, with replacement. The draws of a pool that has had no
   * waits are uniform from 0 to `longestNs`, as waits are where requests come at any time (PARD, Fig. 3b).
   */
  draw(
    pool: number,
    into: Float64Array,
    { longestNs, stream }: { readonly longestNs: number; readonly stream: Stream },
  ): void {
    const seen = this.seen[pool] as number;
    if (seen === 0) {
      for (let i = 0; i < into.length; i++) into[i] = stream.uniform() * longestNs;
      return;
    }
    const waits = this.waits[pool] as Float64Array;
    const kept = Math.min(seen, this.most);
    const oldest = seen <= this.most ? 0 : seen % this.most;
    const { most } = this;
    for (let i = 0; i < into.length; i++) {
      const place = oldest + stream.integer(kept);
      into[i] = waits[place < most ? place : place - most] as number;
    }
  }
}
