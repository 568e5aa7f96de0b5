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

/** First part of the bound that is tried to be reached; each further try is lower by as much. */
const TRY_STEP = 0.04;

/**
 * Divides whole GPUs among models so that the least throughput/weight is largest and then, without lowering it, the sum.
 * Exact for the tables given: it looks only at what reaches a part of the bound, and lowers that part until something does.
 * @param weights a model of weight 0 takes what is left
 * @param bound no division reaches more
 * @param base what each model is served with already
 * @returns undefined where the tables are too large
 */
export function divideByWeight(
  tables: readonly WholeGpuTable[],
  weights: readonly number[],
  bound: number,
  base: readonly number[],
): Division | undefined {
  const all = tables.map(offersOf);
  for (let part = 1 - TRY_STEP; ; part -= TRY_STEP) {
    const least = part <= 0 ? -Infinity : part * bound;
    const offers = all.map((offer, m) =>
      between(tables[m] as WholeGpuTable, offer, weights[m] as number, least, bound, base[m] as number),
    );
    if (tooMany(tables, offers)) return undefined;
    const found = fold(tables, offers, Infinity, (so, rps, m) =>
      weights[m] === 0 ? so : Math.min(so, ((base[m] as number) + rps) / (weights[m] as number)),
    );
    if (found.value === -Infinity && part > 0) continue;
    return withMost(tables, all, weights, base, found);
  }
}

/** Of the divisions with the same least throughput/weight the one with the largest sum, where the tables allow to look. */
function withMost(
  tables: readonly WholeGpuTable[],
  all: readonly Offers[],
  weights: readonly number[],
  base: readonly number[],
  { value, states }: Division,
): Division {
  const offers = all.map((offer, m) => {
    const enough = value * (weights[m] as number) * (1 - 1e-12) - (base[m] as number);
    return filtered(offer, (rps) => rps >= enough);
  });
  if (tables.length === 1 || tooMany(tables, offers)) return { value, states };
  return { value, states: fold(tables, offers, 0, (so, rps) => so + rps).states };
}

/** Offers that reach `least`, and of those that reach the bound only the smallest. */
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
  const some = filtered(offers, (rps) => rps >= enough && rps < plenty);
  const most = meeting(table, offers, plenty);
  return {
    states: Int32Array.from([...some.states, ...most.states]),
    rps: Float64Array.from([...some.rps, ...most.rps]),
  };
}

function filtered({ states, rps }: Offers, keep: (rps: number) => boolean): Offers {
  const kept = Array.from(states.keys()).filter((i) => keep(rps[i] as number));
  return {
    states: Int32Array.from(kept, (i) => states[i] as number),
    rps: Float64Array.from(kept, (i) => rps[i] as number),
  };
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

/** Of the offers that meet a rate, those from which no GPU can be taken. */
function meeting(table: WholeGpuTable, offers: Offers, rps: number): Offers {
  const amounts = amountsOf(table);
  const classes = table.counts.length;
  const enough = rps * (1 - 1e-12);
  const kept = Array.from(offers.states.keys()).filter((i) => {
    if ((offers.rps[i] as number) < enough) return false;
    const n = offers.states[i] as number;
    return table.strides.every(
      (stride, k) => amounts[n * classes + k] === 0 || (table.rps[n - stride] as number) < enough,
    );
  });
  return {
    states: Int32Array.from(kept, (i) => offers.states[i] as number),
    rps: Float64Array.from(kept, (i) => offers.rps[i] as number),
  };
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
