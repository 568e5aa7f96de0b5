import { FluidCapacity } from './capacity.js';
import { leastLatencyNs, type OfflineProblem, type OfflineRoute, routeTimes } from './problem.js';
import { type StageTimes, WholeBatches } from './whole-batches.js';

/** With more stages than these, the sets of covers would be too many. */
const MOST_STAGES = 10;
/** Sums of rounded numbers are less than this from what they are. */
const ROUNDING = 1e-6;

/** BoundOptions says how much is tried for a lower bound. */
export interface BoundOptions {
  /** Whole batches are counted over intervals with at most so many arrivals; 600 where absent, and none for 0. */
  readonly mostArrivals?: number;
}

/**
 * inTimeBound finds a number of requests that no policy can exceed in time, whatever it knows.
 *
 * **Why it holds.** Let a request that takes stage k come at a, with the deadline D. Its batch there begins no earlier than
 * a + head_k and ends, if it is in time, no later than D − tail_k, where head_k and tail_k are the shortest times before
 * and after the stage, of all routes that take it. Of the requests that come from i to j and take stage k, therefore, no
 * more are in time than batches have requests that lie within [a_i + head_k, D_j − tail_k] (deadlines have the order of
 * arrivals). Call such an interval of arrivals, for one stage, a *cover*. Given any covers, the requests in time are no more
 * than those which no cover has, and what the workers can serve within each cover. This is the dual of a maximum flow: where
 * there is one stage and the workers are a fluid, the least such sum is exactly what they can serve (earliest deadline first
 * serves it).
 *
 * What workers can serve within a cover is counted in two ways (`capacity.ts`): as a fluid, or in whole batches.
 *
 * **A cover that moves on.** Let stage k come after stage j for all requests that take j. A cover of j can go over to k
 * at request m without paying for the time from its arrival to its deadline twice. Let s = a_m + head_k be the earliest start
 * of m at k. Of the requests before m, those that begin at k before s have ended j by u, which is s less the shortest
 * time between the two stages, and count within [a_i + head_j, u]. The others begin at k from s on, as all later ones do.
 *
 * **How the least sum is found.** As the shortest path over the requests in the order of arrival. The state is the set of the
 * stages that have a cover; what is paid is 1 for a request that no cover has, and the fluid that a cover has when it ends,
 * less what it had when it began. Whole batches are not additive, and are tried for single covers. It takes time in the order
 * of the requests times (stages² · 2^stages + stages · `mostArrivals`).
 * @throws RangeError where there are too many stages, or deadlines have another order than arrivals
 */
export function inTimeBound(problem: OfflineProblem, { mostArrivals = 600 }: BoundOptions = {}): number {
  refuse(problem);
  return new Covers(problem, mostArrivals).bound();
}

function refuse({ stages, arrivalNs, deadlineNs }: OfflineProblem): void {
  if (stages.length > MOST_STAGES)
    throw new RangeError(
      `Cannot bound what is in time with ${stages.length} stages: there may be at most ${MOST_STAGES}`,
    );
  for (let i = 1; i < arrivalNs.length; i++)
    if (!(arrivalNs[i]! >= arrivalNs[i - 1]! && deadlineNs[i]! >= deadlineNs[i - 1]!))
      throw new RangeError(
        `Cannot bound what is in time: request ${i} comes or is due before the one before it, at ${arrivalNs[i]} ns`,
      );
}

class Covers {
  private readonly n: number;
  private readonly sets: number;
  /** The stages of each request as bits. */
  private readonly takes: Int32Array;
  private readonly times: readonly StageTimes[];
  private readonly fluids: readonly Fluids[];
  /** The stages that a cover of each stage can move on to. */
  private readonly later: readonly (readonly Later[])[];
  private readonly whole: WholeBatches;
  /** By the set of covers, the least that is paid so far. */
  private readonly paid: Float64Array;
  /** What is paid until each request if no cover goes on. */
  private readonly closed: Float64Array;

  constructor(
    private readonly problem: OfflineProblem,
    mostArrivals: number,
  ) {
    const { stages, routes, routeOf } = problem;
    this.n = routeOf.length;
    this.sets = 2 ** stages.length;
    const used = [...new Set(routeOf)].map((route) => routes[route]!);
    const masks = routes.map((route) => route.stages.reduce((all, stage) => all | (1 << stage), 0));
    this.takes = routeOf.map((route) => masks[route]!);
    this.times = stages.map((_, stage) => timesAround(problem, used, stage));
    this.fluids = stages.map((stage) => new Fluids(stage));
    this.later = stages.map((_, stage) => laterStages(problem, used, stage));
    this.paid = new Float64Array(this.sets).fill(Number.POSITIVE_INFINITY);
    this.closed = new Float64Array(this.n + 1);
    this.whole = new WholeBatches(problem, { takes: this.takes, times: this.times, mostArrivals });
  }

  bound(): number {
    const { paid, takes, sets, n } = this;
    paid[0] = 0;
    for (let i = 0; i < n; i++) {
      this.open(i);
      for (let set = 0; set < sets; set++) if ((set & takes[i]!) === 0) paid[set]! += 1;
      this.close(i);
      paid[0] = this.whole.least(i + 1, this.closed, paid[0]!);
      this.closed[i + 1] = paid[0]!;
    }
    return Math.floor(paid[0]! + ROUNDING);
  }

  /** open lets covers begin with request i, or move on to another stage. */
  private open(i: number): void {
    const { paid, sets, fluids, later } = this;
    for (let stage = 0; stage < fluids.length; stage++) {
      const bit = 1 << stage;
      const startNs = this.problem.arrivalNs[i]! + this.times[stage]!.headNs;
      const begun = fluids[stage]!.begin.at(startNs);
      for (let set = 0; set < sets; set++)
        if ((set & bit) === 0) paid[set | bit] = Math.min(paid[set | bit]!, paid[set]! - begun);
      for (const { to, gapNs } of later[stage]!) {
        const over = 1 << to;
        const laterNs = this.problem.arrivalNs[i]! + this.times[to]!.headNs;
        // Where some come to the later stage by a shorter way, the cover would end before it began.
        const endNs = Math.max(startNs, laterNs - gapNs);
        const cost = fluids[stage]!.moveOn.at(endNs) - fluids[to]!.moveIn.at(laterNs);
        for (let set = 0; set < sets; set++)
          if ((set & bit) !== 0 && (set & over) === 0) {
            const moved = (set & ~bit) | over;
            paid[moved] = Math.min(paid[moved]!, paid[set]! + cost);
          }
      }
    }
  }

  /** close lets covers end with request i. */
  private close(i: number): void {
    const { paid, sets, fluids } = this;
    for (let stage = 0; stage < fluids.length; stage++) {
      const bit = 1 << stage;
      const { headNs, tailNs } = this.times[stage]!;
      // A request whose deadline is too short for its route is never in time, and a cover never has less than nothing.
      const endNs = Math.max(this.problem.arrivalNs[i]! + headNs, this.problem.deadlineNs[i]! - tailNs);
      const ended = fluids[stage]!.end.at(endNs);
      for (let set = 0; set < sets; set++)
        if ((set & bit) !== 0) paid[set & ~bit] = Math.min(paid[set & ~bit]!, paid[set]! + ended);
    }
  }
}

/** Fluids is one fluid capacity, with a place in it for each of the instants that move on beside one another. */
class Fluids {
  readonly begin: FluidCapacity;
  readonly end: FluidCapacity;
  readonly moveOn: FluidCapacity;
  readonly moveIn: FluidCapacity;

  constructor(stage: OfflineProblem['stages'][number]) {
    this.begin = new FluidCapacity(stage);
    this.end = new FluidCapacity(stage);
    this.moveOn = new FluidCapacity(stage);
    this.moveIn = new FluidCapacity(stage);
  }
}

function timesAround({ stages }: OfflineProblem, routes: readonly OfflineRoute[], stage: number): StageTimes {
  const taking = routes
    .filter((route) => route.stages.includes(stage))
    .map((route) => routeTimes(stages, route));
  const least = (all: readonly number[]) => (all.length === 0 ? 0 : Math.min(...all));
  return {
    headNs: least(taking.map(({ headNs }) => headNs[stage]!)),
    tailNs: least(taking.map(({ tailNs }) => tailNs[stage]!)),
  };
}

/** Later is a stage to which a cover can move on, and the shortest time from the end of its own to the start of that. */
interface Later {
  readonly to: number;
  readonly gapNs: number;
}

/** laterStages lists the stages that all requests of a stage come to after it. */
function laterStages({ stages }: OfflineProblem, routes: readonly OfflineRoute[], stage: number): Later[] {
  const gaps = routes
    .filter((route) => route.stages.includes(stage))
    .map((route) => gapsAfter(stages, route, stage));
  return stages.flatMap((_, to) => {
    const gapNs = Math.min(...gaps.map((gap) => gap[to]!));
    return to !== stage && gaps.length > 0 && gapNs >= 0 ? [{ to, gapNs }] : [];
  });
}

/** gapsAfter gives the shortest time from the end of a stage to the start of each other; −Infinity where none leads to it. */
function gapsAfter(stages: OfflineProblem['stages'], { edges }: OfflineRoute, stage: number): Float64Array {
  const gapNs = new Float64Array(stages.length).fill(Number.NEGATIVE_INFINITY);
  for (const { from, to, leastNs } of [...edges].sort((a, b) => a.from - b.from)) {
    const before = from === stage ? 0 : gapNs[from]! + leastLatencyNs(stages[from]!);
    gapNs[to] = Math.max(gapNs[to]!, before + leastNs);
  }
  return gapNs;
}
