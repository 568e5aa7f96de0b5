import { followersOf, type Topology } from '../serving/index.js';

/**
 * StagesOfRows numbers the stages for which a row can wait. In a chain it waits for one at a time, and that is number 0:
 * a row whose batch is lost may go on in another pipeline. So it does in a cascade. In a DAG they are the numbers of the
 * pools.
 */
export class StagesOfRows {
  private readonly isDag: readonly boolean[];
  private readonly edgeTo: readonly number[];
  private readonly entries: readonly (readonly number[])[];

  constructor({ models, pools, gears }: Topology) {
    this.isDag = pools.map(({ edges }) => edges !== undefined && gears === undefined);
    this.edgeTo = pools.flatMap(({ edges = [] }) => edges.map(({ to }) => to));
    const later = new Set(pools.flatMap((pool) => followersOf(pool)));
    this.entries = models.map((_, m) => {
      const first = pools.flatMap(({ model, edges }, pool) =>
        model === m && edges !== undefined && gears === undefined && !later.has(pool) ? [pool] : [],
      );
      return first.length > 0 ? first : [0];
    });
  }

  /** entriesOf lists the stages for which the rows of a new request wait. */
  entriesOf(model: number): readonly number[] {
    return this.entries[model]!;
  }

  /** of is the stage of a pool. */
  of(pool: number): number {
    return this.isDag[pool] ? pool : 0;
  }

  /** after is the stage to which a batch of a pool is sent, in a DAG along the edge. */
  after(pool: number, edge: number): number {
    return this.isDag[pool] ? this.edgeTo[edge]! : 0;
  }
}
