import { itemAt, NONE as SHARED_NONE } from '../../collections/index.js';
import { areChains, nextInChains, sharingFirst, slosSharing, type Topology } from '../topology.js';

const NONE = SHARED_NONE;
/** NEXT_BY_EDGES stands in `PlanColumns.next` for a stage of a DAG that edges lead on from. */
export const NEXT_BY_EDGES = -2;

/**
 * PlanColumns holds what schedulers look up of a topology for every event, as columns: a number of a typed array is
 * found in fewer steps than a property of an object in a list.
 */
export class PlanColumns {
  /**
   * The planned batch, the next pool of the pipeline (NONE after the last, NEXT_BY_EDGES in a DAG) and the pipeline's
   * rate, by pool.
   */
  readonly batch: Int32Array;
  readonly next: Int32Array;
  readonly throughputRps: Float64Array;
  /** The SLO of each pool's model, or the least of those that share it. */
  readonly poolSloNs: Float64Array;
  /** The SLO and the number of pipelines of each model. */
  readonly sloNs: Float64Array;
  readonly pipelines: Int32Array;
  /** For each model, the first of those that share its pools: itself where it shares none. */
  readonly sharing: Int32Array;
  /**
   * mayOvertake says whether requests of each model may be served before those of others that came earlier,
   * as these have a longer SLO.
   */
  readonly mayOvertake: Uint8Array;
  /** The first stage of each model's DAG, NONE where its pipelines are chains. */
  readonly dagOf: Int32Array;

  constructor(topology: Topology) {
    const { pools, models, routes } = topology;
    this.batch = Int32Array.from(pools, ({ batch }) => batch);
    this.next = areChains(routes)
      ? nextInChains(topology)
      : Int32Array.from(pools, ({ edges }) => (edges.length > 0 ? NEXT_BY_EDGES : NONE));
    this.throughputRps = Float64Array.from(pools, ({ throughputRps }) => throughputRps);
    const { leastNs, mostNs } = slosSharing(topology);
    this.poolSloNs = Float64Array.from(pools, ({ model }) => itemAt(leastNs, model));
    this.sloNs = Float64Array.from(models, ({ sloNs }) => sloNs);
    this.sharing = sharingFirst(topology);
    this.mayOvertake = Uint8Array.from(models, ({ sloNs }, model) => (sloNs < itemAt(mostNs, model) ? 1 : 0));
    this.pipelines = Int32Array.from(models, ({ entries }) => entries.length);
    this.dagOf = Int32Array.from(models, ({ entries: [first = NONE] }) => (areChains(routes) ? NONE : first));
  }
}
