import { ROUNDING, SLACK } from '../../rounding.js';
import { STOP_EVERY, type Stop } from '../../work.js';
import { nextAmounts, type Topped, topped, type WholeGpuTable } from '../grid/index.js';
import { amountsOf, backtrack, type Division, fits, MOST_PAIRS, smallestMeeting } from './division.js';

/** The first try is to reach the bound less this part. Each further try is lower by as much. */
const TRY_STEP = 0.04;

/**
 * Worth holds the worth of GPUs at the LP's prices. No column is cheaper than its model's price, so a model with rate r
 * takes GPUs worth at least r times its price. The rest of the cluster's worth, after all models, is all that a
 * division may waste.
 */
export interface Worth {
  /** The worth of one unit of the tables, by class. */
  readonly perUnit: readonly number[];
  /** The price of one request per second, by model. */
  readonly perModel: readonly number[];
}

/** WeightGoal asks for the division of GPUs with the highest least throughput/weight. */
export interface WeightGoal {
  /** A model of weight 0 takes the rest. */
  readonly weights: readonly number[];
  /** No division reaches more than this. */
  readonly bound: number;
  /** The rate that each model is served with already. */
  readonly base: readonly number[];
  /** The requests per second that the tables count as 1, by model, for the sum. They are equal if left out. */
  readonly unitRps?: readonly number[];
  /** Only divisions that reach this are considered. Without it, parts of the bound are tried until one is reached. */
  readonly least?: number;
  readonly worth?: Worth;
  /** stop is asked from time to time; true gives up, as if the tables were too large. */
  readonly stop?: Stop;
}

/** Offers are the states worth giving to a model, by rising worth: with one GPU fewer, each serves less. */
export interface Offers {
  readonly states: Int32Array;
  readonly rps: Float64Array;
}

/**
 * divideByWeight divides units of GPUs among models so that the least throughput/weight is largest and then, without
 * lowering it and if the tables are small enough, the sum of the rates. Models of weight 0 count only in the sum. It is
 * exact for the given tables, within `least` and the bound.
 * @returns undefined if the tables are too large or `stop` returned true; value −Infinity if nothing reaches `least`
 */
export function divideByWeight(tables: readonly WholeGpuTable[], goal: WeightGoal): Division | undefined {
  const division = new WeightDivision(tables, goal);
  if (goal.least !== undefined) return division.reaching(goal.least);
  for (let part = 1 - TRY_STEP; ; part -= TRY_STEP) {
    const found = division.reaching(part <= 0 ? -Infinity : part * goal.bound);
    if (found === undefined || found.value > -Infinity || part <= 0) return found;
  }
}

class WeightDivision {
  private readonly all: readonly Offers[];
  private readonly topped: readonly Topped[];
  private readonly amounts: Int32Array;
  private readonly worth: Float64Array;
  private readonly states: number;
  private pairs = 0;

  constructor(
    private readonly tables: readonly WholeGpuTable[],
    private readonly goal: WeightGoal,
  ) {
    const table = tables[0] as WholeGpuTable;
    this.states = table.states;
    this.amounts = amountsOf(table);
    this.worth = sumsOf(this.amounts, goal.worth?.perUnit ?? table.counts.map(() => 0));
    this.topped = tables.map(topped);
    // A single model takes all GPUs, so no offers are needed.
    const nothing: Offers = { states: Int32Array.of(0), rps: Float64Array.of(0) };
    this.all = tables.length === 1 ? [nothing] : tables.map((one) => offersOf(one, this.worth));
  }

  reaching(least: number): Division | undefined {
    const { goal, tables, all } = this;
    const offers = all.map((offer, m) => {
      const weight = goal.weights[m] as number;
      const base = goal.base[m] as number;
      return between(tables[m] as WholeGpuTable, offer, weight, least, goal.bound, base);
    });
    const found = this.fold(offers, least, Infinity, (so, rps, m) =>
      goal.weights[m] === 0
        ? so
        : Math.min(so, ((goal.base[m] as number) + rps) / (goal.weights[m] as number)),
    );
    if (found === undefined || found.value < least || found.value === -Infinity)
      return found === undefined ? undefined : { value: -Infinity, states: [] };
    return this.withMost(found);
  }

  /**
   * withMost takes the division with the largest sum among those with the same least throughput/weight, if the tables
   * are small enough.
   */
  private withMost(found: Division): Division {
    if (this.tables.length === 1) return found;
    const enough = this.all.map((_, m) => this.needed(found.value, m) * (1 - ROUNDING));
    const offers = this.all.map((offer, m) => filtered(offer, (rps) => rps >= (enough[m] as number)));
    const units = this.goal.unitRps ?? this.all.map(() => 1);
    const most = this.fold(offers, found.value, 0, (so, rps, m) =>
      rps >= (enough[m] as number) ? so + rps * (units[m] as number) : -Infinity,
    );
    return most === undefined || most.states.length === 0 ? found : { ...found, states: most.states };
  }

  /** needed is the rate that a model still needs to reach a least throughput/weight. */
  private needed(least: number, m: number): number {
    const { weights, base } = this.goal;
    return Math.max(0, least * (weights[m] as number)) - (base[m] as number);
  }

  /** roomBefore is the worth that may go to all models but the later ones, if those are to reach `least`. */
  private roomBefore(later: readonly number[], least: number): number {
    const { worth } = this.goal;
    if (worth === undefined || least === -Infinity) return Infinity;
    const all = this.worth[this.states - 1] as number;
    const needs = later.reduce(
      (sum, m) => sum + Math.max(0, this.needed(least, m)) * (worth.perModel[m] as number),
      0,
    );
    return all - needs + SLACK * all;
  }

  /**
   * fold gives models their units one after another. For every total it keeps the best score and how it was reached.
   * The last model, which has most offers, takes the rest.
   */
  private fold(
    offers: readonly Offers[],
    least: number,
    start: number,
    score: (so: number, rps: number, model: number) => number,
  ): Division | undefined {
    const order = [...offers.keys()].sort(
      (a, b) => (offers[a] as Offers).states.length - (offers[b] as Offers).states.length || a - b,
    );
    const last = order.pop() as number;
    let best = new Float64Array(this.states).fill(-Infinity);
    best[0] = start;
    let reached = Int32Array.of(0);
    const given: Int32Array[] = [];
    this.pairs = 0;
    for (const [i, m] of order.entries()) {
      const offer = offers[m] as Offers;
      this.pairs += reached.length * offer.states.length;
      if (this.pairs > MOST_PAIRS) return undefined;
      const room = this.roomBefore([...order.slice(i + 1), last], least);
      const next = new Float64Array(this.states).fill(-Infinity);
      const mine = new Int32Array(this.states).fill(-1);
      if (!this.spread(reached, best, offer, room, (so, rps) => score(so, rps, m), next, mine))
        return undefined;
      best = next;
      given.push(mine);
      reached = this.undominated(best);
    }
    const { rps, from } = this.topped[last] as Topped;
    const all = this.states - 1;
    let end = -1;
    let value = -Infinity;
    for (const p of reached) {
      const total = score(best[p] as number, rps[all - p] as number, last);
      if (total > value) [end, value] = [p, total];
    }
    if (end < 0) return { value: -Infinity, states: [] };
    const states = backtrack({ order, given, models: offers.length }, end);
    states[last] = from[all - end] as number;
    return { value, states };
  }

  private spread(
    reached: Int32Array,
    best: Float64Array,
    { states, rps }: Offers,
    room: number,
    score: (so: number, rps: number) => number,
    next: Float64Array,
    mine: Int32Array,
  ): boolean {
    const { worth, amounts } = this;
    const { counts } = this.tables[0] as WholeGpuTable;
    let steps = 0;
    for (const p of reached) {
      if (steps >= STOP_EVERY) {
        if (this.goal.stop?.(steps) === true) return false;
        steps = 0;
      }
      steps += 1 + states.length;
      const left = room - (worth[p] as number);
      for (let i = 0; i < states.length; i++) {
        const q = states[i] as number;
        if ((worth[q] as number) > left) break;
        const to = p + q;
        if (to >= this.states) continue;
        const total = score(best[p] as number, rps[i] as number);
        if (total > (next[to] as number) && fits(amounts, counts, p, q)) {
          next[to] = total;
          mine[to] = q;
        }
      }
    }
    return true;
  }

  /** undominated gives the totals whose score no smaller total reaches. */
  private undominated(score: Float64Array): Int32Array<ArrayBuffer> {
    const { strides } = this.tables[0] as WholeGpuTable;
    const most = Float64Array.from(score);
    const kept: number[] = [];
    const classes = strides.length;
    for (let u = 0; u < score.length; u++) {
      let before = -Infinity;
      for (let k = 0; k < classes; k++)
        if ((this.amounts[u * classes + k] as number) > 0)
          before = Math.max(before, most[u - (strides[k] as number)] as number);
      if ((score[u] as number) > before) kept.push(u);
      else most[u] = before;
    }
    return Int32Array.from(kept);
  }
}

/** between gives the offers that reach `least`; of those that reach the bound, only the smallest. */
function between(
  table: WholeGpuTable,
  offers: Offers,
  weight: number,
  least: number,
  bound: number,
  base: number,
): Offers {
  if (weight === 0) return filtered(offers, (rps) => rps === 0);
  const enough = least * weight - base;
  const plenty = bound * weight - base;
  const smallest = smallestMeeting(table, plenty);
  return filtered(offers, (rps, n) => rps >= enough && (rps < plenty || smallest(n)));
}

function filtered({ states, rps }: Offers, keep: (rps: number, state: number) => boolean): Offers {
  const keptStates = new Int32Array(states.length);
  const keptRps = new Float64Array(states.length);
  let count = 0;
  for (let i = 0; i < states.length; i++) {
    if (!keep(rps[i] as number, states[i] as number)) continue;
    keptStates[count] = states[i] as number;
    keptRps[count++] = rps[i] as number;
  }
  return { states: keptStates.subarray(0, count), rps: keptRps.subarray(0, count) };
}

/**
 * offersOf gives the offers of a table, with the state of no GPUs first.
 * @param worth the worth of each state's GPUs
 */
export function offersOf(table: WholeGpuTable, worth: Float64Array): Offers {
  const { rps, strides } = table;
  const classes = strides.length;
  const states: number[] = [0];
  const amounts = new Int32Array(classes);
  for (let n = 0; n < table.states; n++, nextAmounts(amounts, table.counts)) {
    const own = rps[n] as number;
    let isMore = own > 0;
    for (let k = 0; k < classes && isMore; k++)
      isMore = amounts[k] === 0 || (rps[n - (strides[k] as number)] as number) < own;
    if (isMore) states.push(n);
  }
  states.sort((a, b) => (worth[a] as number) - (worth[b] as number) || a - b);
  return { states: Int32Array.from(states), rps: Float64Array.from(states, (n) => rps[n] as number) };
}

/** sumsOf gives the worth of every state from its amounts, as `amountsOf` gives them, and the worth of a unit. */
export function sumsOf(amounts: Int32Array, perUnit: readonly number[]): Float64Array {
  const classes = perUnit.length;
  const sums = new Float64Array(amounts.length / classes);
  for (let n = 0, at = 0; n < sums.length; n++)
    for (let k = 0; k < classes; k++, at++)
      sums[n] = (sums[n] as number) + (perUnit[k] as number) * (amounts[at] as number);
  return sums;
}
