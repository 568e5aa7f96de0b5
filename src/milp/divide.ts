import { step, type WholeGpuTable } from './whole-gpus.js';

/** How a cluster is divided among models: for each, the state of its table it gets. */
export interface Division {
  readonly value: number;
  readonly states: readonly number[];
}

/** Pairs of states a division may look at; past it the tables are too large for a default search. */
const MOST_PAIRS = 400_000_000;

/** States of a model worth giving: any GPU fewer and it serves less. */
interface Offers {
  readonly states: Int32Array;
  readonly rps: Float64Array;
}

/**
 * Divides whole GPUs among models so that the least throughput/weight is largest and then, without lowering it, the sum.
 * Exact for the tables given. Cost: for each model the product of the states worth giving and all states.
 * @returns undefined where that is too much
 */
export function divideByWeight(
  tables: readonly WholeGpuTable[],
  weights: readonly number[],
): Division | undefined {
  const offers = tables.map(offersOf);
  if (tooMany(tables, offers)) return undefined;
  const least = fold(tables, offers, Infinity, (so, rps, m) =>
    weights[m] === 0 ? so : Math.min(so, rps / (weights[m] as number)),
  );
  const value = least.value;
  const enough = (rps: number, m: number) => rps >= value * (weights[m] as number) * (1 - 1e-12);
  const sum = fold(tables, offers, 0, (so, rps, m) => (enough(rps, m) ? so + rps : -Infinity));
  return { value, states: sum.states };
}

/**
 * Divides whole GPUs so that each model meets its rate at the least price.
 * @returns `value` Infinity where the rates cannot be met; undefined where the tables are too large
 */
export function divideByPrice(
  tables: readonly WholeGpuTable[],
  rps: readonly number[],
  unitCost: readonly number[],
): Division | undefined {
  const offers = tables.map((table, m) => meeting(table, offersOf(table), rps[m] as number));
  if (tooMany(tables, offers)) return undefined;
  const prices = pricesOf(tables[0] as WholeGpuTable, unitCost);
  const cheapest = fold(tables, offers, 0, (so, _, __, q) => so - (prices[q] as number));
  return { value: cheapest.value === -Infinity ? Infinity : -cheapest.value, states: cheapest.states };
}

function tooMany(tables: readonly WholeGpuTable[], offers: readonly Offers[]): boolean {
  return (
    offers.reduce((sum, { states }, m) => sum + (m === 0 ? 1 : (tables[m]?.states ?? 0)) * states.length, 0) >
    MOST_PAIRS
  );
}

function offersOf(table: WholeGpuTable): Offers {
  const states: number[] = [0];
  const amounts = new Int32Array(table.counts.length);
  for (let n = 0; n < table.states; n++, step(amounts, table.counts)) {
    const rps = table.rps[n] as number;
    if (
      rps > 0 &&
      table.strides.every((stride, k) => amounts[k] === 0 || (table.rps[n - stride] as number) < rps)
    )
      states.push(n);
  }
  return { states: Int32Array.from(states), rps: Float64Array.from(states, (n) => table.rps[n] as number) };
}

/** Of the offers that meet a rate, those no other one undercuts in every class. */
function meeting(table: WholeGpuTable, offers: Offers, rps: number): Offers {
  const amounts = amountsOf(table);
  const classes = table.counts.length;
  const enough = Array.from(offers.states).filter((_, i) => (offers.rps[i] as number) >= rps * (1 - 1e-12));
  const undercuts = (a: number, b: number) => {
    for (let k = 0; k < classes; k++)
      if ((amounts[a * classes + k] as number) > (amounts[b * classes + k] as number)) return false;
    return a !== b;
  };
  const states = enough.filter((n) => !enough.some((other) => undercuts(other, n)));
  return { states: Int32Array.from(states), rps: Float64Array.from(states, (n) => table.rps[n] as number) };
}

function amountsOf(table: WholeGpuTable): Int32Array {
  const classes = table.counts.length;
  const all = new Int32Array(table.states * classes);
  const amounts = new Int32Array(classes);
  for (let n = 0; n < table.states; n++, step(amounts, table.counts)) all.set(amounts, n * classes);
  return all;
}

function pricesOf(table: WholeGpuTable, unitCost: readonly number[]): Float64Array {
  const amounts = amountsOf(table);
  const classes = table.counts.length;
  return Float64Array.from({ length: table.states }, (_, n) =>
    unitCost.reduce((sum, price, k) => sum + price * (amounts[n * classes + k] as number), 0),
  );
}

/** Gives models their GPUs one after another, keeping for every total the best score and how it came about. */
function fold(
  tables: readonly WholeGpuTable[],
  offers: readonly Offers[],
  start: number,
  score: (so: number, rps: number, model: number, state: number) => number,
): Division {
  const table = tables[0] as WholeGpuTable;
  const amounts = amountsOf(table);
  let best = new Float64Array(table.states).fill(-Infinity);
  best[0] = start;
  const given: Int32Array[] = [];
  offers.forEach(({ states, rps }, m) => {
    const next = new Float64Array(table.states).fill(-Infinity);
    const mine = new Int32Array(table.states).fill(-1);
    for (let p = 0; p < table.states; p++) {
      const so = best[p] as number;
      if (so === -Infinity) continue;
      for (let i = 0; i < states.length; i++) {
        const q = states[i] as number;
        const total = score(so, rps[i] as number, m, q);
        const to = p + q;
        if (to < table.states && total > (next[to] as number) && fits(amounts, table.counts, p, q)) {
          next[to] = total;
          mine[to] = q;
        }
      }
    }
    best = next;
    given.push(mine);
  });
  let end = 0;
  for (let u = 1; u < table.states; u++) if ((best[u] as number) > (best[end] as number)) end = u;
  const value = best[end] as number;
  return { value, states: value === -Infinity ? [] : backtrack(given, end) };
}

function fits(amounts: Int32Array, counts: readonly number[], p: number, q: number): boolean {
  const classes = counts.length;
  for (let k = 0; k < classes; k++)
    if ((amounts[p * classes + k] as number) + (amounts[q * classes + k] as number) > (counts[k] as number))
      return false;
  return true;
}

function backtrack(given: readonly Int32Array[], end: number): number[] {
  const states = new Array<number>(given.length);
  let u = end;
  for (let m = given.length - 1; m >= 0; m--) {
    const q = given[m]?.[u] as number;
    states[m] = q;
    u -= q;
  }
  return states;
}
