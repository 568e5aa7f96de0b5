import { ROUNDING } from '../../rounding.js';

/**
 * Grid holds amounts of GPUs as whole numbers: state u is one amount per class, in units of 1/perGpu GPU. If each pool
 * fills whole GPUs, a unit is a GPU. If virtual GPUs of unlike sizes share one, perGpu is the least common multiple of
 * the sizes.
 */
export interface Grid {
  readonly perGpu: number;
  /** The largest number of units, by class. */
  readonly units: readonly number[];
  readonly strides: readonly number[];
  readonly states: number;
}

/**
 * The grids of all models have at most this many states. With more, they exceed the time and the memory of a default
 * search.
 */
const MOST_STATES = 6_000_000;
const MOST_STATES_EACH = 2_000_000;

/**
 * gridOf makes the grid over the available GPUs of each class.
 * @param models the number of models, whose grids share the allowed states
 * @returns undefined if it has more than two million states, or more than six million for all models together
 */
export function gridOf(available: readonly number[], perGpu: number, models: number): Grid | undefined {
  const units = available.map((n) => Math.floor(n * perGpu * (1 + ROUNDING)));
  const strides = new Array<number>(units.length).fill(1);
  for (let k = units.length - 2; k >= 0; k--)
    strides[k] = (strides[k + 1] as number) * ((units[k + 1] as number) + 1);
  const states = units.reduce((product, n) => product * (n + 1), 1);
  return states <= Math.min(MOST_STATES_EACH, MOST_STATES / models)
    ? { perGpu, units, strides, states }
    : undefined;
}

/** leastCommonMultiple is the smallest number that every virtual size divides; 1 for no sizes. */
export function leastCommonMultiple(sizes: readonly number[]): number {
  const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));
  return sizes.reduce((lcm, v) => (lcm * v) / gcd(lcm, v), 1);
}

/** worthOf is the worth of amounts, in units of 1/perGpu GPU by class, at the prices of whole GPUs. */
export function worthOf(amounts: ArrayLike<number>, gpuPrices: readonly number[], perGpu: number): number {
  let worth = 0;
  for (let k = 0; k < amounts.length; k++)
    worth += ((amounts[k] as number) * (gpuPrices[k] as number)) / perGpu;
  return worth;
}

/**
 * nextAmounts changes `amounts` to the next ones in the order of states; the last class changes fastest. After the last
 * ones, which are `most`, come zeros again.
 */
export function nextAmounts(amounts: Int32Array, most: readonly number[]): void {
  for (let k = most.length - 1; k >= 0; k--) {
    if ((amounts[k] as number) < (most[k] as number)) {
      amounts[k] = (amounts[k] as number) + 1;
      return;
    }
    amounts[k] = 0;
  }
}
