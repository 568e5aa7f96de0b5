import { ROUNDING, SLACK } from '../../rounding.js';
import { STOP_EVERY, type Stop } from '../../work.js';
import { nextAmounts, topped, type WholeGpuTable } from '../grid/index.js';
import { amountsOf, backtrack, type Division, fits, MOST_PAIRS, smallestMeeting } from './division.js';

/** PriceGoal asks for the cheapest GPUs that serve each model at its rate. */
export interface PriceGoal {
  readonly rps: readonly number[];
  /** The price of a whole GPU, by class. */
  readonly unitCost: readonly number[];
  /** The units of the tables that make up a GPU. */
  readonly perGpu: number;
  /** Clusters that cost more are not considered. */
  readonly most?: number;
  /** stop is asked from time to time; true gives up, as if the tables were too large. */
  readonly stop?: Stop;
}

/**
 * divideByPrice divides units of GPUs so that each model meets its rate and the whole GPUs that hold all units together
 * cost least. It is exact for the given tables, which must have the same states.
 * @returns `value` Infinity and no states if no cluster of at most the price `most` meets the rates; undefined if the
 *   tables are too large or `stop` returned true
 */
export function divideByPrice(tables: readonly WholeGpuTable[], goal: PriceGoal): Division | undefined {
  const { rps } = goal;
  const table = tables[0] as WholeGpuTable;
  const amounts = amountsOf(table);
  const meeting = tables.map((one, m) => meetingStates(one, rps[m] as number));
  const order = [...tables.keys()].sort(
    (a, b) => (meeting[a] as Int32Array).length - (meeting[b] as Int32Array).length || a - b,
  );
  const last = order.pop() as number;
  let reached = Int32Array.of(0);
  const given: Int32Array[] = [];
  for (const m of order) {
    const offers = meeting[m] as Int32Array;
    if (reached.length * offers.length > MOST_PAIRS) return undefined;
    const mine = new Int32Array(table.states).fill(-1);
    let steps = 0;
    for (const p of reached) {
      for (const q of offers) if (fits(amounts, table.counts, p, q)) mine[p + q] = q;
      steps += offers.length;
      if (steps < STOP_EVERY) continue;
      if (goal.stop?.(steps) === true) return undefined;
      steps = 0;
    }
    given.push(mine);
    reached = smallestReached(table, amounts, mine);
  }
  return cheapest(tables, goal, amounts, reached, last, order, given);
}

/** cheapest tries whole clusters by rising price and takes the first that holds a total. */
function cheapest(
  tables: readonly WholeGpuTable[],
  goal: PriceGoal,
  amounts: Int32Array,
  reached: Int32Array,
  last: number,
  order: readonly number[],
  given: readonly Int32Array[],
): Division | undefined {
  const table = tables[0] as WholeGpuTable;
  const classes = table.counts.length;
  const { rps: served, from } = topped(tables[last] as WholeGpuTable);
  const enough = (goal.rps[last] as number) * (1 - ROUNDING);
  let steps = 0;
  for (const { state, price } of byPrice(table, goal)) {
    if (steps >= STOP_EVERY) {
      if (goal.stop?.(steps) === true) return undefined;
      steps = 0;
    }
    steps += 1 + reached.length;
    for (const p of reached) {
      let inside = true;
      for (let k = 0; k < classes && inside; k++)
        inside = (amounts[p * classes + k] as number) <= (amounts[state * classes + k] as number);
      if (!inside || (served[state - p] as number) < enough) continue;
      const states = backtrack({ order, given, models: tables.length }, p);
      states[last] = from[state - p] as number;
      return { value: price, states };
    }
  }
  return { value: Infinity, states: [] };
}

function byPrice(
  { counts, strides }: WholeGpuTable,
  { unitCost, perGpu, most = Infinity }: PriceGoal,
): { state: number; price: number }[] {
  const whole = counts.map((n) => Math.floor(n / perGpu));
  const amounts = new Int32Array(counts.length);
  const count = whole.reduce((product, n) => product * (n + 1), 1);
  const all: { state: number; price: number }[] = [];
  for (let i = 0; i < count; i++, nextAmounts(amounts, whole)) {
    let price = 0;
    let state = 0;
    for (let k = 0; k < amounts.length; k++) {
      price += (amounts[k] as number) * (unitCost[k] as number);
      state += (amounts[k] as number) * perGpu * (strides[k] as number);
    }
    if (price <= most * (1 + SLACK)) all.push({ state, price });
  }
  return all.sort((a, b) => a.price - b.price || a.state - b.state);
}

function meetingStates(table: WholeGpuTable, rps: number): Int32Array {
  if (rps <= 0) return Int32Array.of(0);
  const smallest = smallestMeeting(table, rps);
  const found: number[] = [];
  for (let n = 0; n < table.states; n++) if (smallest(n)) found.push(n);
  return Int32Array.from(found);
}

/** smallestReached gives the totals that contain no other total. */
function smallestReached(
  { strides }: WholeGpuTable,
  amounts: Int32Array,
  mine: Int32Array,
): Int32Array<ArrayBuffer> {
  const above = new Uint8Array(mine.length);
  const kept: number[] = [];
  const classes = strides.length;
  for (let u = 0; u < mine.length; u++) {
    for (let k = 0; k < classes && above[u] === 0; k++)
      if ((amounts[u * classes + k] as number) > 0 && above[u - (strides[k] as number)] === 1) above[u] = 1;
    if (above[u] === 1 || (mine[u] as number) < 0) continue;
    kept.push(u);
    above[u] = 1;
  }
  return Int32Array.from(kept);
}
