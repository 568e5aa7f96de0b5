import { type Lists, NONE as SHARED_NONE } from '../../../collections/index.js';
import type { GearTable, Topology } from '../../topology.js';
import type { Gears } from '../scaling/gears.js';

const NONE = SHARED_NONE;
const NEVER = Number.POSITIVE_INFINITY;

/**
 * LoadShares divides the tasks of each pool among its devices as the active gear plans (CascadeServe §4.4): an idle device
 * is handed a batch when it is furthest behind its share of what the pool has handed out under that gear. A device whose
 * share is 0 is handed one only where no other is idle. Where the gear plans no shares, all devices are alike.
 *
 * A choice takes time by the idle devices of the pool.
 */
export class LoadShares {
  /** The shares of each gear, pool by pool and in the order of the pool's devices; absent where none are planned. */
  private readonly planned: readonly (readonly (Float64Array | undefined)[])[];
  /** Where each device stands among those of each pool. */
  private readonly placeOf: readonly Int32Array[];
  /** How many tasks each device was handed since the active gear became active, pool by pool. */
  private readonly handedTo: readonly Float64Array[];
  /** How many gears had become active before the one that tasks are counted under. */
  private shifts = 0;

  constructor(
    { pools, devices }: Topology,
    table: GearTable,
    private readonly gears: Gears,
  ) {
    this.planned = table.gears.map(({ steps }) => {
      const byPool = new Array<Float64Array | undefined>(pools.length).fill(undefined);
      for (const { pool, shares } of steps) byPool[pool] = shares;
      return byPool;
    });
    this.placeOf = pools.map((pool) => {
      const places = new Int32Array(devices.length).fill(NONE);
      for (const [place, device] of pool.devices.entries()) places[device] = place;
      return places;
    });
    this.handedTo = pools.map((pool) => new Float64Array(pool.devices.length));
  }

  /**
   * next chooses among the idle memberships of a pool, which are listed in the order in which they fell idle. Of several
   * that are equally far behind it is the one that has been idle longest; NONE where the list is empty.
   */
  next(pool: number, idle: Lists, deviceOf: Int32Array): number {
    const first = idle.first(pool);
    if (first === NONE || idle.next(first) === NONE) return first;
    this.followGear();
    const shares = (this.planned[this.gears.current] as (Float64Array | undefined)[])[pool];
    const handed = this.handedTo[pool] as Float64Array;
    const places = this.placeOf[pool] as Int32Array;
    let best = first;
    let least = NEVER;
    for (let member = first; member !== NONE; member = idle.next(member)) {
      const place = places[deviceOf[member] as number] as number;
      const share = shares === undefined ? 1 : (shares[place] as number);
      const turns = share > 0 ? (handed[place] as number) / share : NEVER;
      if (turns >= least) continue;
      best = member;
      least = turns;
    }
    return best;
  }

  handed(pool: number, device: number, tasks: number): void {
    this.followGear();
    const place = (this.placeOf[pool] as Int32Array)[device] as number;
    (this.handedTo[pool] as Float64Array)[place]! += tasks;
  }

  /** restart counts anew: a device that comes back is not to make up for the time that it was away. */
  restart(): void {
    for (const counts of this.handedTo) counts.fill(0);
  }

  private followGear(): void {
    if (this.shifts === this.gears.shifts) return;
    this.shifts = this.gears.shifts;
    this.restart();
  }
}
