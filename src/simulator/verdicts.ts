import type { EdgeCondition, Pool, ServingCore } from '../serving/index.js';
import type { OpenRequests } from './open-requests.js';

/**
 * VerdictOf is what the model of a stage says of a row of a request: bit i says whether the i-th edge that
 * depends on it is taken, or the number is a certainty. It depends on nothing else, so that a request has the
 * same fate under every policy.
 * @param order the number of requests that came before this one
 */
export type VerdictOf = (order: number, row: number, pool: number) => number;

/** RowsOf is how many rows a request has, by the number of requests before it and its model. */
export type RowsOf = (order: number, model: number) => number;

/** WeightOf is how much it counts that a request is in time, by the number of requests before it and its model. */
export type WeightOf = (order: number, model: number) => number;

/** ASKS says whether an edge is taken by what the model of its stage says. */
const ASKS: { readonly [K in EdgeCondition['kind']]: boolean } = {
  always: false,
  verdict: true,
  unsure: true,
};

/** Verdicts gathers the verdicts on the tasks of a batch. */
export class Verdicts {
  private readonly asked: Uint8Array;
  private list: number[] = [];

  constructor(
    pools: readonly Pool[],
    private readonly verdictOf: VerdictOf,
  ) {
    this.asked = Uint8Array.from(pools, ({ edges }) => Number(edges.some(({ when }) => ASKS[when.kind])));
  }

  /** isAsked returns whether the edges of a stage depend on a verdict. */
  isAsked(pool: number): boolean {
    return this.asked[pool] === 1;
  }

  /** of gives the verdicts on the tasks of a batch, in their order, in a list that the next call uses again. */
  of(batch: number, core: ServingCore, requests: OpenRequests): readonly number[] {
    const pool = core.batchPool(batch);
    this.list.length = core.batchSize(batch);
    for (let i = 0; i < this.list.length; i++) {
      const task = core.batchTask(batch, i);
      this.list[i] = this.verdictOf(requests.orderOf(core.requestOf(task)), core.rowOf(task), pool);
    }
    return this.list;
  }
}
