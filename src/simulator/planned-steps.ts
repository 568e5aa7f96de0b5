import { itemAt, NONE as SHARED_NONE } from '../collections/index.js';
import { areChains, type Pool, type Topology } from '../serving/index.js';

const NONE = SHARED_NONE;

/**
 * PlannedSteps holds the planned times of executions and transfers, in nanoseconds, in one column for all
 * pools.
 */
export class PlannedSteps {
  /** `rowOf[pool] + b` is the index of a batch of b. */
  private readonly rowOf: Int32Array;
  /** By device, the same for its class where its pool has several; else NONE. */
  private readonly classRowOf: Int32Array;
  private readonly latencyNs: Float64Array;
  private readonly sendingNs: Float64Array;
  /** The times of sending along each edge of a DAG, edges counted through all pools; empty where there are none. */
  private readonly byEdge: Uint8Array;
  private readonly edgeNs: readonly Float64Array[];

  constructor({ pools, devices, routes }: Pick<Topology, 'pools' | 'devices' | 'routes'>) {
    this.rowOf = new Int32Array(pools.length);
    let rows = 0;
    const edgesOf = ({ edges }: Pool) => (areChains(routes) ? [] : edges);
    this.byEdge = Uint8Array.from(pools, (pool) => (edgesOf(pool).length > 0 ? 1 : 0));
    this.edgeNs = pools.flatMap((pool) => edgesOf(pool).map(({ transferNs }) => transferNs));
    pools.forEach(({ batch }, pool) => {
      this.rowOf[pool] = rows - 1;
      rows += batch;
    });
    const firstOf = pools.map(({ batch, classes = [] }) => {
      const first = rows;
      rows += classes.length * batch;
      return first;
    });
    this.classRowOf = Int32Array.from(devices, ({ pool, poolClass }) =>
      poolClass === undefined ? NONE : itemAt(firstOf, pool) + poolClass * itemAt(pools, pool).batch - 1,
    );
    this.latencyNs = new Float64Array(rows);
    this.sendingNs = new Float64Array(rows);
    pools.forEach(({ latencyNs, transferNs }, pool) => {
      this.latencyNs.set(latencyNs, itemAt(this.rowOf, pool) + 1);
      this.sendingNs.set(transferNs, itemAt(this.rowOf, pool) + 1);
    });
    pools.forEach(({ batch, classes = [] }, pool) => {
      for (const [k, one] of classes.entries())
        this.latencyNs.set(one.latencyNs, (firstOf[pool] as number) + k * batch);
    });
  }

  /** executionNs is the time of executing a batch of a pool on one of its devices. */
  executionNs(pool: number, size: number, device: number): number {
    const ownRow = this.classRowOf[device] as number;
    const row = ownRow === NONE ? (this.rowOf[pool] as number) : ownRow;
    return this.latencyNs[row + size] as number;
  }

  /** transferNs is the time of sending a batch on from a pool, in a DAG along an edge. */
  transferNs(pool: number, edge: number, size: number): number {
    if (this.edgeNs.length > 0 && this.byEdge[pool] === 1) return this.edgeNs[edge]?.[size - 1] as number;
    return this.sendingNs[(this.rowOf[pool] as number) + size] as number;
  }
}
