import { ROUNDING } from '../../rounding.js';
import { nextAmounts, type WholeGpuTable } from '../grid/index.js';

/** Division holds the state of its table that each model gets, for all models of a cluster. */
export interface Division {
  readonly value: number;
  readonly states: readonly number[];
}

/**
 * MOST_PAIRS is the number of pairs of states that a division looks at. With more, the tables are too large for a
 * default search.
 */
export const MOST_PAIRS = 200_000_000;

/** amountsOf gives the units of each class in every state: entry state · classes + class. */
export function amountsOf(table: WholeGpuTable): Int32Array {
  const classes = table.counts.length;
  const all = new Int32Array(table.states * classes);
  const amounts = new Int32Array(classes);
  for (let n = 0, at = 0; n < table.states; n++, nextAmounts(amounts, table.counts))
    for (let k = 0; k < classes; k++) all[at++] = amounts[k] as number;
  return all;
}

/**
 * fits says whether the cluster has the units of two states together. It takes four arguments rather than an object
 * because it is called for every pair of states.
 */
export function fits(amounts: Int32Array, counts: readonly number[], p: number, q: number): boolean {
  const classes = counts.length;
  for (let k = 0; k < classes; k++)
    if ((amounts[p * classes + k] as number) + (amounts[q * classes + k] as number) > (counts[k] as number))
      return false;
  return true;
}

/**
 * smallestMeeting gives a test of states: whether a state meets the rate, to within rounding, and would miss it with
 * one unit less of any class.
 */
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

/** GivenStates are the states that a division by dynamic programming gave to the models, one after another. */
interface GivenStates {
  /** The models in the order of the division. */
  readonly order: readonly number[];
  /** The state that was given last in each total, by place in the order. */
  readonly given: readonly Int32Array[];
  /** The number of models. */
  readonly models: number;
}

/**
 * backtrack finds the state of every model in `order` from the total that they take together; other models get state 0.
 * @param end the total
 */
export function backtrack({ order, given, models }: GivenStates, end: number): number[] {
  const states = new Array<number>(models).fill(0);
  let u = end;
  for (let i = order.length - 1; i >= 0; i--) {
    const q = given[i]?.[u] as number;
    states[order[i] as number] = q;
    u -= q;
  }
  return states;
}
