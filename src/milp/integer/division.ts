import { ROUNDING } from '../rounding.js';
import { nextAmounts } from './grid.js';
import type { WholeGpuTable } from './whole-gpus.js';

/** How a cluster is divided among models: for each, the state of its table it gets. */
export interface Division {
  readonly value: number;
  readonly states: readonly number[];
}

/** Pairs of states a division may look at; past it the tables are too large for a default search. */
export const MOST_PAIRS = 200_000_000;

/** The units of each class in every state, state by state. */
export function amountsOf(table: WholeGpuTable): Int32Array {
  const classes = table.counts.length;
  const all = new Int32Array(table.states * classes);
  const amounts = new Int32Array(classes);
  for (let n = 0; n < table.states; n++, nextAmounts(amounts, table.counts)) all.set(amounts, n * classes);
  return all;
}

/** Whether the units of two states together are there. */
export function fits(amounts: Int32Array, counts: readonly number[], p: number, q: number): boolean {
  const classes = counts.length;
  for (let k = 0; k < classes; k++)
    if ((amounts[p * classes + k] as number) + (amounts[q * classes + k] as number) > (counts[k] as number))
      return false;
  return true;
}

/** Whether a state meets a rate and no unit can be taken from it. */
export function smallestMeeting(table: WholeGpuTable, rps: number): (state: number) => boolean {
  const enough = rps * (1 - ROUNDING);
  return (state) => {
    if ((table.rps[state] as number) < enough) return false;
    let rest = state;
    for (const stride of table.strides) {
      const n = Math.floor(rest / stride);
      rest -= n * stride;
      if (n > 0 && (table.rps[state - stride] as number) >= enough) return false;
    }
    return true;
  };
}

/** For every state, what everything at most as large serves at most, and which state that is. */
export interface Topped {
  readonly rps: Float64Array;
  readonly from: Int32Array;
}

export function topped({ states, strides, counts, rps }: WholeGpuTable): Topped {
  const best = Float64Array.from(rps);
  const from = Int32Array.from({ length: states }, (_, n) => n);
  const amounts = new Int32Array(counts.length);
  for (let n = 0; n < states; n++, nextAmounts(amounts, counts))
    for (let k = 0; k < strides.length; k++) {
      const less = n - (strides[k] as number);
      if (amounts[k] === 0 || (best[less] as number) < (best[n] as number)) continue;
      best[n] = best[less] as number;
      from[n] = from[less] as number;
    }
  return { rps: best, from };
}

/** The state of every model but the last, from the total they take together. */
export function backtrack(
  order: readonly number[],
  given: readonly Int32Array[],
  end: number,
  models: number,
): number[] {
  const states = new Array<number>(models).fill(0);
  let u = end;
  for (let i = order.length - 1; i >= 0; i--) {
    const q = given[i]?.[u] as number;
    states[order[i] as number] = q;
    u -= q;
  }
  return states;
}
