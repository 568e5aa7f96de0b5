import { type Grid, nextAmounts } from './grid.js';
import type { ModelGrid } from './model-grid.js';

/**
 * WholeGpuTable holds the highest rate of a model with whole GPUs of each class, and the grid state that reaches it. It
 * is the grid's table read at whole GPUs, where fewer GPUs are always allowed.
 */
export interface WholeGpuTable {
  /** The whole GPUs by class; the strides are over (count + 1) per class. */
  readonly counts: readonly number[];
  readonly strides: readonly number[];
  readonly states: number;
  readonly rps: Float64Array;
  /** The grid state whose plan reaches the rate; 0 if there is none. */
  readonly at: Int32Array;
}

/**
 * wholeGpuTable gives for every number of whole GPUs up to `available` the highest rate of a plan that uses at most
 * these, from the grid's states within its budget. The rate is 0 if there is none.
 */
export function wholeGpuTable(model: ModelGrid, available: readonly number[]): WholeGpuTable {
  return ratesWithin(model, available, model.grid.perGpu);
}

/**
 * unitTable is the same table as `wholeGpuTable`, but for every amount in the grid's own units (parts of GPUs), for
 * models that share GPUs.
 */
export function unitTable(model: ModelGrid): WholeGpuTable {
  return ratesWithin(model, model.grid.units, 1);
}

/** ratesWithin rounds each state that is kept up to lots of `lot` units, and then allows fewer lots everywhere. */
function ratesWithin(model: ModelGrid, counts: readonly number[], lot: number): WholeGpuTable {
  const strides = stridesOf(counts);
  const states = counts.reduce((product, n) => product * (n + 1), 1);
  const exact = new Float64Array(states);
  const stateOf = new Int32Array(states);
  model.eachKept((u, amounts) => {
    let n = 0;
    for (let k = 0; k < amounts.length; k++)
      n += Math.ceil((amounts[k] as number) / lot) * (strides[k] as number);
    const rps = model.rps[u] as number;
    if (rps <= (exact[n] as number)) return;
    exact[n] = rps;
    stateOf[n] = u;
  });
  const { rps, from } = topped({ counts, strides, states, rps: exact });
  return { counts, strides, states, rps, at: from.map((n) => stateOf[n] as number) };
}

/** Topped holds for every state the best figure of the states within it, and which state has it. */
export interface Topped {
  readonly rps: Float64Array;
  readonly from: Int32Array;
}

/** topped finds these best figures in one pass over a table. Of states with equal figures it names the smaller. */
export function topped({ states, strides, counts, rps }: Omit<WholeGpuTable, 'at'>): Topped {
  const best = rps.slice();
  const from = new Int32Array(states);
  for (let n = 0; n < states; n++) from[n] = n;
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

function stridesOf(counts: readonly number[]): number[] {
  const strides = new Array<number>(counts.length).fill(1);
  for (let k = counts.length - 2; k >= 0; k--)
    strides[k] = (strides[k + 1] as number) * ((counts[k + 1] as number) + 1);
  return strides;
}

/**
 * atWholeGpus reads a table over a grid's states at whole GPUs.
 * The table has the highest rate, and the state that reaches it, by state of the grid.
 * @param counts the whole GPUs by class
 */
export function atWholeGpus(
  grid: Grid,
  counts: readonly number[],
  { rps: best, at: from }: Pick<WholeGpuTable, 'rps' | 'at'>,
): WholeGpuTable {
  const strides = stridesOf(counts);
  const states = counts.reduce((product, n) => product * (n + 1), 1);
  const rps = new Float64Array(states);
  const at = new Int32Array(states);
  const amounts = new Int32Array(counts.length);
  for (let n = 0; n < states; n++) {
    let u = 0;
    for (let k = 0; k < counts.length; k++)
      u += (amounts[k] as number) * grid.perGpu * (grid.strides[k] as number);
    rps[n] = best[u] as number;
    at[n] = from[u] as number;
    nextAmounts(amounts, counts);
  }
  return { counts, strides, states, rps, at };
}
