import type { Stream } from '../../../random/index.js';
import { followersOf, type Pool } from '../../topology.js';

/** How many of a stage's last tasks are kept. */
const KEPT = 1024;
/** The mask of a task that takes every edge. */
const ALL = -1;

/** StageTime gives what a task that goes to a stage spends there, in each draw. */
export type StageTime = (pool: number, draw: number) => number;

/**
 * LearntBranches keeps which edges the last tasks of each stage took, as bits in the order of the stage's edges, and draws from
 * them how long tasks take. So a branch that few take counts as seldom as it is taken, and branches of which one is taken
 * are drawn together. A stage that has had no task takes all its edges, which is the worst path.
 */
export class LearntBranches {
  /** The pools that the edges of each pool lead to. */
  private readonly next: readonly (readonly number[])[];
  private readonly masks: readonly Int32Array[];
  private readonly seen: Float64Array;

  constructor(pools: readonly Pool[]) {
    this.next = pools.map(followersOf);
    this.masks = pools.map((pool) => new Int32Array(differs(pool) ? KEPT : 0));
    this.seen = new Float64Array(pools.length);
  }

  /** watches returns whether it differs from task to task which edges of a pool are taken. */
  watches(pool: number): boolean {
    return this.masks[pool]?.length === KEPT;
  }

  /** took says which edges a task of a watched pool takes. */
  took(pool: number, mask: number): void {
    const seen = this.seen[pool] as number;
    (this.masks[pool] as Int32Array)[seen % KEPT] = mask;
    this.seen[pool] = seen + 1;
  }

  /**
   * draw adds up, for each pool and draw, the longest way of one task from after the pool to its end, over the edges that it is
   * drawn to take. Edges that lead back, as they may where gears have models in different orders, are left out. O(draws ×
   * edges).
   * @param later where the times are put, by pool
   */
  draw(stageNs: StageTime, stream: Stream, later: readonly Float64Array[]): void {
    for (let pool = this.next.length - 1; pool >= 0; pool--) {
      const into = later[pool] as Float64Array;
      const next = this.next[pool] as readonly number[];
      for (let draw = 0; draw < into.length; draw++) {
        const mask = this.maskOf(pool, stream);
        let longest = 0;
        for (let edge = 0; edge < next.length; edge++) {
          const to = next[edge] as number;
          if (to <= pool || ((mask >>> (edge & 31)) & 1) === 0) continue;
          longest = Math.max(longest, stageNs(to, draw) + ((later[to] as Float64Array)[draw] as number));
        }
        into[draw] = longest;
      }
    }
  }

  private maskOf(pool: number, stream: Stream): number {
    const seen = Math.min(KEPT, this.seen[pool] as number);
    return seen === 0 ? ALL : ((this.masks[pool] as Int32Array)[stream.integer(seen)] as number);
  }
}

/** differs returns whether which edges of a pool are taken differs from task to task. */
function differs({ edges }: Pool): boolean {
  return edges.some(({ when }) => when.kind !== 'always');
}
