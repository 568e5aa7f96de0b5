import { smallestOf } from '../../../collections/index.js';
import type { GearTable, Pool, ServedGear, ServedStep, Topology } from '../../topology.js';

/** Kept steps are given so much more time than they take, since batches that come in step wait for one another. */
const ROOM = 1 / 3;

/** Kept is what is kept of a gear while more waits than it serves in time. */
interface Kept {
  /** The batch of the first step that answers most in time. */
  readonly batch: number;
  /** How many of the first steps a request is to have time for. */
  readonly steps: number;
}

/**
 * GearLimits says, for each gear and pool, how requests are chosen that have no time to wait for all before them: by which
 * batch, and with how much time for later steps.
 *
 * Of n requests that a step-one batch takes, some are answered by each step. To keep time for the first k steps costs the
 * devices their work, and answers what those steps are sure of; the rest is given up. The k and the batch are taken by which
 * most is answered for the time of the devices. As k may be all steps, that is no less than the gear serves in all. Work is
 * shared among devices as well as can be: the devices are as busy as the busiest set of steps makes those that hold its models.
 *
 * It is computed once, in time by gears, batch sizes and sets of steps.
 */
export class GearLimits {
  private readonly pools: number;
  /** By gear and pool. */
  private readonly batches: Int32Array;
  private readonly laterNs: Float64Array;
  /** By gear, how many tasks may wait before the first step until the last of them has no time to wait. */
  private readonly mostWaiting: Float64Array;
  /** The size of the batch by which a task would be executed soonest, by pool. */
  private readonly soonest: Int32Array;
  private readonly topology: Pick<Topology, 'pools'>;
  private readonly sloNs: number;
  private readonly holders: Holders;

  constructor(topology: Topology, { gears }: GearTable) {
    const { pools, models } = topology;
    this.topology = topology;
    this.pools = pools.length;
    this.sloNs = smallestOf(models.map(({ sloNs }) => sloNs));
    this.holders = new Holders(pools);
    this.soonest = Int32Array.from(pools, ({ latencyNs }) => 1 + latencyNs.indexOf(latencyNs.reduce(least)));
    this.batches = new Int32Array(gears.length * pools.length);
    this.laterNs = new Float64Array(gears.length * pools.length);
    this.mostWaiting = new Float64Array(gears.length);
    gears.forEach((gear, at) => {
      pools.forEach(({ batch }, pool) => {
        this.batches[at * pools.length + pool] = batch;
      });
      this.limit(at, gear);
    });
  }

  /** batch is the largest batch of a pool while more tasks wait. */
  batch(gear: number, pool: number): number {
    return this.batches[gear * this.pools + pool] as number;
  }

  /** keptNs is the time that a task needs after its batch, with the waits for other batches. */
  keptNs(gear: number, pool: number): number {
    return this.laterNs[gear * this.pools + pool] as number;
  }

  /**
   * isBeyond returns whether a given number of tasks wait before the first step that the last of them has no time for
   * its steps.
   */
  isBeyond(gear: number, waiting: number): boolean {
    return waiting > (this.mostWaiting[gear] as number);
  }

  /** soonestSize is the batch size that takes the least time. */
  soonestSize(pool: number): number {
    return this.soonest[pool] as number;
  }

  private limit(at: number, gear: ServedGear): void {
    const { batch, steps } = this.best(gear);
    const [first] = gear.steps as [ServedStep];
    const firstNs = this.ns(first, batch);
    this.batches[at * this.pools + first.pool] = batch;
    for (let step = 1; step < gear.steps.length; step++) {
      const { pool } = gear.steps[step] as ServedStep;
      const mostNs = firstNs + this.ns(gear.steps[step] as ServedStep, this.sizeAt(gear, step, batch));
      this.batches[at * this.pools + pool] = this.fastest(gear.steps[step] as ServedStep, mostNs);
    }
    for (let step = 0; step < steps; step++)
      this.laterNs[at * this.pools + (gear.steps[step] as ServedStep).pool] = this.afterNs(gear, step, {
        batch,
        steps,
      });
    const roomNs = this.sloNs - firstNs - this.afterNs(gear, 0, { batch, steps });
    this.mostWaiting[at] = Math.max(batch, roomNs / this.busy(gear, { batch, steps }));
  }

  /** best finds the batch and the steps by which most is answered in time. */
  private best(gear: ServedGear): Kept {
    const [first] = gear.steps as [ServedStep];
    const most = (this.topology.pools[first.pool] as Pool).batch;
    let best: Kept = { batch: this.fastest(first, this.sloNs), steps: 1 };
    let bestRate = 0;
    for (let steps = gear.steps.length; steps >= 1; steps--)
      for (let batch = most; batch >= 1; batch--) {
        const kept = { batch, steps };
        const ownNs = this.ns(first, batch);
        // Its first request waits for the others, or for the batch before.
        const waitNs = Math.min((1e9 * batch) / gear.toRps, ownNs);
        if (waitNs + ownNs + this.afterNs(gear, 0, kept) > this.sloNs) continue;
        const rate = this.answered(gear, steps) / this.busy(gear, kept);
        if (rate <= bestRate) continue;
        best = kept;
        bestRate = rate;
      }
    return best;
  }

  private answered({ steps }: ServedGear, kept: number): number {
    return kept < steps.length ? 1 - visitsOf(steps[kept]) : 1;
  }

  /** afterNs is what is kept for the steps after one, where a task waits once for a batch of the first step before each. */
  private afterNs(gear: ServedGear, step: number, { batch, steps }: Kept): number {
    let ns = 0;
    for (let later = step + 1; later < steps; later++) {
      const { pool } = gear.steps[later - 1] as ServedStep;
      const sent = this.topology.pools[pool]?.transferNs[this.sizeAt(gear, later - 1, batch) - 1] ?? 0;
      const size = this.sizeAt(gear, later, batch);
      ns +=
        sent + this.ns(gear.steps[0] as ServedStep, batch) + this.ns(gear.steps[later] as ServedStep, size);
    }
    return (1 + ROOM) * ns;
  }

  /** busy is how long a request keeps the busiest devices. */
  private busy(gear: ServedGear, { batch, steps }: Kept): number {
    const works = Array.from({ length: steps }, (_, step) => {
      const size = this.sizeAt(gear, step, batch);
      return (visitsOf(gear.steps[step]) * this.ns(gear.steps[step] as ServedStep, size)) / size;
    });
    let most = 0;
    for (let set = 1; set < 1 << steps; set++) {
      let work = 0;
      let pools = 0;
      for (let step = 0; step < steps; step++)
        if (((set >> step) & 1) === 1) {
          work += works[step] as number;
          pools |= 1 << (gear.steps[step] as ServedStep).pool;
        }
      most = Math.max(most, work / this.holders.of(pools));
    }
    return most;
  }

  /** sizeAt is the batch of a step that follows from one of the first. */
  private sizeAt({ steps }: ServedGear, step: number, batch: number): number {
    const at = steps[step] as ServedStep;
    const wanted = step === 0 ? batch : Math.ceil(visitsOf(at) * batch);
    return Math.max(1, Math.min(wanted, (this.topology.pools[at.pool] as Pool).batch));
  }

  private ns({ pool }: ServedStep, size: number): number {
    return this.topology.pools[pool]?.latencyNs[size - 1] as number;
  }

  /** fastest is the batch of a step that executes most tasks in a time, of those that take no longer than `mostNs`. */
  private fastest(step: ServedStep, mostNs: number): number {
    let best = this.soonestSize(step.pool);
    for (let size = 1; size <= (this.topology.pools[step.pool] as Pool).batch; size++)
      if (this.ns(step, size) <= mostNs && size / this.ns(step, size) >= best / this.ns(step, best))
        best = size;
    return best;
  }
}

function visitsOf(step: ServedStep | undefined): number {
  return step?.visits ?? 1;
}

function least(a: number, b: number): number {
  return Math.min(a, b);
}

/** Holders counts the devices that any of some pools has. */
class Holders {
  /** How many devices have just these pools. */
  private readonly alike = new Map<number, number>();
  private readonly known = new Map<number, number>();

  constructor(pools: readonly Pool[]) {
    const held: number[] = [];
    pools.forEach(({ devices }, pool) => {
      for (const device of devices) held[device] = (held[device] ?? 0) | (1 << pool);
    });
    for (const set of held) if (set !== undefined) this.alike.set(set, (this.alike.get(set) ?? 0) + 1);
  }

  /** of counts the devices of a set of pools, given as bits. */
  of(pools: number): number {
    const before = this.known.get(pools);
    if (before !== undefined) return before;
    let count = 0;
    for (const [set, devices] of this.alike) if ((set & pools) !== 0) count += devices;
    this.known.set(pools, count);
    return count;
  }
}
