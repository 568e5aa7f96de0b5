import { itemAt, largestOf, NONE as SHARED_NONE } from '../../collections/index.js';
import { stageIndex, stageRoute } from '../../formats/index.js';
import {
  areChains,
  type Edge,
  type EdgeCondition,
  followersOf,
  type Pool,
  type Routed,
} from '../topology.js';

const NONE = SHARED_NONE;

/** Taken numbers the conditions of edges (EdgeCondition). */
export const Taken = { always: 0, verdict: 1, unsure: 2 } as const satisfies Record<
  EdgeCondition['kind'],
  number
>;
export type Taken = (typeof Taken)[keyof typeof Taken];

/**
 * DagColumns holds the stages of DAGs and their edges as columns. Chains have no edges in it: their next stages are known
 * beforehand (nextInChains). Edges are numbered by stage, and those of a stage in their order.
 */
export class DagColumns {
  /** The edges of pool p are those from `firstEdge[p]` to before `firstEdge[p + 1]`. */
  readonly firstEdge: Int32Array;
  readonly to: Int32Array;
  /** `taken` is when each edge is taken, by Taken; `below` is the certainty below which an unsure one is. */
  readonly taken: Uint8Array;
  readonly below: Float64Array;
  /** `bit` is the bit of each edge in the verdicts on its stage's tasks, where it depends on them. */
  readonly bit: Uint8Array;
  /** `edgesInto` counts the edges that lead to each pool's stage. */
  readonly edgesInto: Int32Array;
  /** `mostStages` is the number of stages of the largest DAG, 0 where all routes are chains. */
  readonly mostStages: number;

  private readonly pools: readonly Pool[];
  private readonly areChains: boolean;

  constructor({ pools, routes }: Routed) {
    this.pools = pools;
    this.areChains = areChains(routes);
    const edgesOf = (pool: Pool) => (this.areChains ? [] : pool.edges);
    const edges = pools.flatMap(edgesOf);
    this.firstEdge = new Int32Array(pools.length + 1);
    pools.forEach((pool, i) => {
      this.firstEdge[i + 1] = itemAt(this.firstEdge, i) + edgesOf(pool).length;
    });
    this.to = Int32Array.from(edges, ({ to }) => to);
    this.taken = Uint8Array.from(edges, ({ when }) => Taken[when.kind]);
    this.below = Float64Array.from(edges, ({ when }) => (when.kind === 'unsure' ? when.below : 0));
    this.bit = Uint8Array.from(pools.flatMap((pool) => verdictBits(edgesOf(pool))));
    this.edgesInto = new Int32Array(pools.length);
    for (const pool of this.to) this.edgesInto[pool]! += 1;
    const firsts = pools.flatMap(({ stage }, i) => (stageIndex(stage) === 0 && !this.areChains ? [i] : []));
    this.mostStages = Math.max(0, largestOf(firsts.map((first) => this.stagesFrom(first))));
  }

  /** stagesFrom counts the stages of the DAG whose first stage is that of pool `first`. */
  private stagesFrom(first: number): number {
    const pool = this.pools[first] as Pool;
    const others = this.pools.slice(first).findIndex((other) => !areOfOneRoute(pool, other));
    return others === -1 ? this.pools.length - first : others;
  }

  /** entriesBeside lists the stages, other than its first, at which a DAG begins: no edge leads to them. */
  entriesBeside(first: number): number[] {
    const stages = Array.from({ length: this.stagesFrom(first) - 1 }, (_, i) => first + 1 + i);
    return this.areChains ? [] : stages.filter((stage) => this.edgesInto[stage] === 0);
  }

  /** reachedFrom lists the pools of all stages that a task in a pool can still come to, its own first, ascending. */
  reachedFrom(pool: number): number[] {
    const reached = new Set([pool]);
    for (const from of reached) for (const to of followersOf(this.pools[from] as Pool)) reached.add(to);
    return [...reached].sort((a, b) => a - b);
  }

  /**
   * parallelTo lists the stages of the DAG of a pool's stage which a row can be at while it is at that one: there is no way from
   * one to the other.
   */
  parallelTo(pool: number): number[] {
    if (this.areChains) return [];
    const own = this.pools[pool] as Pool;
    const reached = new Set(this.reachedFrom(pool));
    return this.pools.flatMap((other, i) =>
      areOfOneRoute(own, other) && !reached.has(i) && !this.reachedFrom(i).includes(pool) ? [i] : [],
    );
  }

  /**
   * sureNext is a stage that every task of a pool comes to next: that of the first edge that is always taken, NONE
   * where no edge is.
   */
  sureNext(pool: number): number {
    const { edges } = this.pools[pool] as Pool;
    return edges.find(({ when }) => when.kind === 'always')?.to ?? NONE;
  }
}

function areOfOneRoute(one: Pool, other: Pool): boolean {
  return one.model === other.model && stageRoute(one.stage) === stageRoute(other.stage);
}

/** verdictBits numbers the edges of a stage that depend on verdicts; the number of any other means nothing. */
function verdictBits(edges: readonly Edge[]): number[] {
  let bits = 0;
  return edges.map(({ when }) => (when.kind === 'verdict' ? bits++ : bits));
}
