import { type Grid, type ModelGrid, nextAmounts } from './grid.js';

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
  const { best, from } = bestUpTo(model);
  return atWholeGpus(model.grid, available, { rps: best, at: from });
}

/**
 * unitTable is the same table as `wholeGpuTable`, but for every amount in the grid's own units (parts of GPUs), for
 * models that share GPUs.
 */
export function unitTable(model: ModelGrid): WholeGpuTable {
  const { units, strides, states } = model.grid;
  const { best, from } = bestUpTo(model);
  return { counts: units, strides, states, rps: best, at: from };
}

/** bestUpTo walks the states by rows, in which only the amount of the last class changes. */
function bestUpTo(model: ModelGrid): { best: Float64Array; from: Int32Array } {
  const { grid, options } = model;
  const best = new Float64Array(grid.states);
  const from = new Int32Array(grid.states);
  const last = grid.units.length - 1;
  const width = (grid.units[last] as number) + 1;
  const amounts = new Int32Array(grid.units.length);
  for (let first = 0; first < grid.states; first += width) {
    const smaller = grid.strides.filter((_, k) => k < last && (amounts[k] as number) > 0);
    for (let n = 0; n < width; n++, nextAmounts(amounts, grid.units)) {
      const u = first + n;
      const own = model.rps[u] as number;
      const within = own > 0 && model.lossAt(u, amounts) <= options.budget;
      best[u] = within ? own : 0;
      from[u] = within ? u : 0;
      for (let i = 0; i < smaller.length; i++) takeBetter(best, from, u, u - (smaller[i] as number));
      if (n > 0) takeBetter(best, from, u, u - 1);
    }
  }
  return { best, from };
}

/** takeBetter gives state u what a smaller state reaches, if that is more. */
function takeBetter(best: Float64Array, from: Int32Array, u: number, less: number): void {
  if ((best[less] as number) <= (best[u] as number)) return;
  best[u] = best[less] as number;
  from[u] = from[less] as number;
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
  const strides = new Array<number>(counts.length).fill(1);
  for (let k = counts.length - 2; k >= 0; k--)
    strides[k] = (strides[k + 1] as number) * ((counts[k + 1] as number) + 1);
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

/** eachState visits every state of a grid in order, with its amounts. */
export function eachState(grid: Grid, visit: (u: number, amounts: Int32Array) => void): void {
  const amounts = new Int32Array(grid.units.length);
  for (let u = 0; u < grid.states; u++) {
    visit(u, amounts);
    nextAmounts(amounts, grid.units);
  }
}
