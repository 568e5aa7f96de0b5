import { itemAt, smallestOf } from '../../collections/index.js';
import { stageName, stageRoute } from '../../formats/index.js';
import { type DropReason, sharingFirst, type Topology } from '../../serving/index.js';
import { LONGEST_RESTART_MS } from './live-device.js';

/** Dropped says why a request was dropped and where, and when it is worth sending again. */
export interface Dropped {
  readonly kind: 'dropped';
  readonly reason: DropReason;
  /** `place` is `stage`, or `entry`. */
  readonly place: string;
  /**
   * `stage` is where the request waited: the name of a stage of a pipeline or cascade, or `pipeline<i>/partition<k>`.
   * A request that was dropped at the entry waited nowhere.
   */
  readonly stage?: string;
  /** `retryAfterS` is a number of whole seconds from 1 on. */
  readonly retryAfterS: number;
}

/** Route is a pipeline of a model, with the rate that is planned for it. */
interface Route {
  readonly rps: number;
  readonly pools: Topology['pools'];
}

/**
 * Drops gives the endings of requests that are dropped. When one is worth sending again follows from what is
 * open: the rows of its model that the server has (of all that share its pools), over the rate at which the
 * devices that are up serve them. A pipeline serves its planned rate, less the share of devices that are down
 * in the stage that lacks the most. Where no pipeline can serve, one may be able to when executors have been
 * started again, which is tried every 5 s at least.
 */
export class Drops {
  private readonly isUp: Uint8Array;
  private readonly openRows: Float64Array;
  private readonly routes: readonly (readonly Route[])[];
  /** The model under which rows of each model are counted: the first of those that share its pools. */
  private readonly sharing: Int32Array;

  constructor(private readonly topology: Topology) {
    this.sharing = sharingFirst(topology);
    this.isUp = new Uint8Array(topology.devices.length);
    this.openRows = new Float64Array(topology.models.length);
    this.routes = topology.models.map((_, model) => routesOf(topology, model));
  }

  /** took counts rows of a model as open, and `gave` those of a request that has ended. */
  took(model: number, rows: number): void {
    this.openRows[itemAt(this.sharing, model)]! += rows;
  }

  gave(model: number, rows: number): void {
    this.openRows[itemAt(this.sharing, model)]! -= rows;
  }

  /** device hears whether a device takes work. */
  device(device: number, isUp: boolean): void {
    this.isUp[device] = isUp ? 1 : 0;
  }

  /** ending gives the ending of an open request that is dropped from the queue of a pool, or at the entry (−1). */
  ending(model: number, reason: DropReason, pool: number): Dropped {
    const at = this.topology.pools[pool];
    const retryAfterS = this.retryAfterS(itemAt(this.sharing, model));
    if (at === undefined) return { kind: 'dropped', reason, place: 'entry', retryAfterS };
    const stage = stageName(at.stage);
    return { kind: 'dropped', reason, place: stage, stage, retryAfterS };
  }

  private retryAfterS(model: number): number {
    const sum = (rates: readonly number[]) => rates.reduce((total, rate) => total + rate, 0);
    const routes = itemAt(this.routes, model);
    const openRows = itemAt(this.openRows, model);
    const rps = sum(routes.map((route) => route.rps * this.shareUp(route)));
    if (rps > 0) return Math.max(1, Math.ceil(openRows / rps));
    const planned = sum(routes.map((route) => route.rps));
    return Math.max(LONGEST_RESTART_MS / 1000, Math.ceil(openRows / planned));
  }

  /** shareUp is more than 1 where standby devices are up besides all others. */
  private shareUp({ pools }: Route): number {
    const { devices } = this.topology;
    return smallestOf(
      pools.map((pool) => {
        const planned = pool.devices.filter((device) => itemAt(devices, device).standby !== true).length;
        return pool.devices.filter((device) => this.isUp[device] === 1).length / Math.max(1, planned);
      }),
    );
  }
}

function routesOf({ pools }: Topology, model: number): Route[] {
  const own = pools.filter((pool) => pool.model === model);
  const numbers = [...new Set(own.map(({ stage }) => stageRoute(stage)))];
  return numbers.map((number) => {
    const among = own.filter(({ stage }) => stageRoute(stage) === number);
    return { rps: itemAt(among, 0).throughputRps, pools: among };
  });
}
