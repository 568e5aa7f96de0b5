import type { ColumnSet } from '../columns/index.js';
import type { UsedColumn } from '../plan/index.js';
import { ROUNDING, unitsFor } from '../rounding.js';
import type { ModelTable, Slot } from '../tables/index.js';
import { STOP_EVERY, type Stop } from '../work.js';
import type { WholeGpuPricing } from './whole-gpu-pricing.js';

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

/** GridOptions says which states of a table are kept. */
export interface GridOptions {
  /** If true, partitions come in whole GPUs. */
  readonly pool: boolean;
  /** The price of a GPU by class in requests per second: LP duals over the model's own price. */
  readonly gpuPrices: readonly number[];
  /** A state that loses more is not kept; Infinity keeps all. */
  readonly budget: number;
  /** stop is asked from time to time; true leaves the table unfinished and unfit for use. */
  readonly stop?: Stop;
  /** If columns are too many to list, `pricing` finds the best of all of them. Each one is added to the set. */
  readonly pricing?: WholeGpuPricing | undefined;
}

/** Item is a column at a throughput at which the GPUs of at least one partition are all busy. */
interface Item {
  readonly column: number;
  readonly rps: number;
  readonly loss: number;
  readonly units: readonly number[];
  readonly offset: number;
}

/**
 * ModelGrid holds the highest rate of one model for every amount of GPUs at once. Any plan is a multiset of items. An
 * item's *loss* is the worth of its GPUs at the LP's prices less its rate; it is never negative if no column is cheaper
 * than the model's price. The table is filled by dynamic programming over amounts. States that lose more than the
 * budget cannot be part of a plan within the budget of the bound, and are left out. So a plan that it finds within the
 * budget is optimal for the integer problem.
 */
export class ModelGrid {
  /** The highest rate of plans that use exactly these units; −Infinity if there are none. */
  readonly rps: Float64Array;
  /** stopped is true if `stop` ended it; the table then proves nothing. */
  stopped = false;
  private readonly via: Int32Array;
  private readonly basis: Item[] = [];

  constructor(
    readonly grid: Grid,
    readonly set: ColumnSet,
    readonly options: GridOptions,
  ) {
    this.rps = new Float64Array(grid.states).fill(-Infinity);
    this.via = new Int32Array(grid.states).fill(-1);
    const singles = new Singles(grid, set, options);
    this.stopped = !singles.fill() || !this.close(singles);
  }

  /** columnsAt gives the columns of state u's plan; none for state 0. A column that is used twice comes twice. */
  columnsAt(u: number): UsedColumn[] {
    const used: UsedColumn[] = [];
    for (let at = u; at > 0; ) {
      const item = this.basis[this.via[at] as number] as Item;
      used.push({
        column: this.set.column(item.column),
        virtualGpus: virtualGpusOf(this.set, item, this.options.pool),
      });
      at -= item.offset;
    }
    return used;
  }

  /**
   * lossAt is the loss of state u's plan in requests per second: the worth of its units at `gpuPrices` less its rate
   * (`rps[u]`). It is Infinity if no plan that uses exactly these units was kept.
   * @param amounts state u's units by class; the caller steps through the states and so has them at hand
   */
  lossAt(u: number, amounts: ArrayLike<number>): number {
    return worthOf(amounts, this.options.gpuPrices, this.grid.perGpu) - (this.rps[u] as number);
  }

  /** worth is the worth of state u's units at `gpuPrices`, in requests per second. */
  worth(u: number): number {
    let rest = u;
    let sum = 0;
    this.grid.strides.forEach((stride, k) => {
      const n = Math.floor(rest / stride);
      rest -= n * stride;
      sum += (n * (this.options.gpuPrices[k] as number)) / this.grid.perGpu;
    });
    return sum;
  }

  /**
   * States are visited in order. Every state is reached from smaller ones, so each is final when its turn comes.
   * @returns false if it was stopped
   */
  private close(singles: Singles): boolean {
    const { grid, rps, via, options } = this;
    const { pricing } = options;
    const amounts = new Int32Array(grid.units.length);
    const items = new SortedItems(amounts.length);
    rps[0] = 0;
    let steps = 0;
    for (let u = 0; u < grid.states; u++, nextAmounts(amounts, grid.units)) {
      if (pricing !== undefined && !this.price(u, amounts, singles, pricing)) return false;
      const own = singles.rps[u] as number;
      // Most states are reached by no plan within the budget, so this comes before their worth is computed.
      if (own > 0 || (rps[u] as number) >= 0) {
        const worth = worthOf(amounts, options.gpuPrices, grid.perGpu);
        if (own > (rps[u] as number) * (1 + ROUNDING)) {
          const item = singles.item(u, amounts, worth);
          via[u] = this.basis.push(item) - 1;
          rps[u] = own;
          items.add(item, via[u] as number);
        }
        const loss = worth - (rps[u] as number);
        if (loss <= options.budget) steps += this.push(u, loss, amounts, items);
      }
      if (++steps < STOP_EVERY) continue;
      if (options.stop?.(steps) === true) return false;
      steps = 0;
    }
    return true;
  }

  /**
   * price finds the best single column of a state among those that are not listed.
   * @returns false if it was stopped
   */
  private price(u: number, amounts: Int32Array, singles: Singles, pricing: WholeGpuPricing): boolean {
    const { gpuPrices, budget } = this.options;
    if (u === 0) return true;
    const worth = worthOf(amounts, gpuPrices, this.grid.perGpu);
    const known = Math.max(0, this.rps[u] as number, singles.rps[u] as number);
    const found = pricing.bestOn(amounts, worth, Math.max(known, worth - budget));
    if (found !== undefined) singles.take(u, this.set.add(found.column), found.rps);
    return !pricing.stopped;
  }

  /**
   * Each item is put on top of state u, the cheapest first, as far as the budget goes.
   * @returns the number of items looked at
   */
  private push(u: number, loss: number, amounts: Int32Array, items: SortedItems): number {
    const { rps, via, options, grid } = this;
    const classes = amounts.length;
    const so = rps[u] as number;
    let i = 0;
    next: for (; i < items.count; i++) {
      if (loss + (items.losses[i] as number) > options.budget) break;
      for (let k = 0; k < classes; k++)
        if ((amounts[k] as number) + (items.units[i * classes + k] as number) > (grid.units[k] as number))
          continue next;
      const to = u + (items.offsets[i] as number);
      const total = so + (items.rps[i] as number);
      if (total > (rps[to] as number) * (1 + ROUNDING)) {
        rps[to] = total;
        via[to] = items.ids[i] as number;
      }
    }
    return i;
  }
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

/** The items by rising loss, in flat arrays. */
class SortedItems {
  count = 0;
  losses = new Float64Array(256);
  rps = new Float64Array(256);
  offsets = new Int32Array(256);
  ids = new Int32Array(256);
  units: Int32Array;

  constructor(private readonly classes: number) {
    this.units = new Int32Array(256 * classes);
  }

  add({ loss, rps, offset, units }: Item, id: number): void {
    if (this.count === this.losses.length) this.grow();
    let at = this.count;
    while (at > 0 && (this.losses[at - 1] as number) > loss) at--;
    const { count, classes } = this;
    this.losses.copyWithin(at + 1, at, count);
    this.rps.copyWithin(at + 1, at, count);
    this.offsets.copyWithin(at + 1, at, count);
    this.ids.copyWithin(at + 1, at, count);
    this.units.copyWithin((at + 1) * classes, at * classes, count * classes);
    this.losses[at] = loss;
    this.rps[at] = rps;
    this.offsets[at] = offset;
    this.ids[at] = id;
    this.units.set(units, at * classes);
    this.count++;
  }

  private grow(): void {
    const size = this.losses.length * 2;
    const { losses, rps, offsets, ids, units } = this;
    this.losses = new Float64Array(size);
    this.losses.set(losses);
    this.rps = new Float64Array(size);
    this.rps.set(rps);
    this.offsets = new Int32Array(size);
    this.offsets.set(offsets);
    this.ids = new Int32Array(size);
    this.ids.set(ids);
    this.units = new Int32Array(size * this.classes);
    this.units.set(units);
  }
}

/** Singles holds for every amount of GPUs the best single column that uses exactly this amount. */
class Singles {
  /** The rate; 0 if no column uses this amount. */
  readonly rps: Float64Array;
  private readonly column: Int32Array;
  private readonly classOf: Uint16Array;
  private readonly virtualOf: Uint16Array;

  constructor(
    private readonly grid: Grid,
    private readonly set: ColumnSet,
    private readonly options: GridOptions,
  ) {
    this.column = new Int32Array(grid.states);
    this.rps = new Float64Array(grid.states);
    const { slots } = set.table;
    this.classOf = Uint16Array.from(slots, (slot) => slot.classIndex);
    this.virtualOf = Uint16Array.from(slots, (slot) => slot.virtual);
  }

  /** take makes a column the best one of a state. */
  take(u: number, column: number, rps: number): void {
    this.column[u] = column;
    this.rps[u] = rps;
  }

  item(u: number, amounts: ArrayLike<number>, worth: number): Item {
    const rps = this.rps[u] as number;
    return {
      column: this.column[u] as number,
      rps,
      loss: worth - rps,
      units: Array.from(amounts),
      offset: u,
    };
  }

  /**
   * @returns false if it was stopped
   */
  fill(): boolean {
    const { set, options } = this;
    const rates = new Float64Array(set.width);
    const steps = new Float64Array(set.width);
    const classes = new Uint16Array(set.width);
    let made = 0;
    for (let c = 0; c < set.count; c++) {
      made += this.levels(c, rates, steps, classes);
      if (made < STOP_EVERY) continue;
      if (options.stop?.(made) === true) return false;
      made = 0;
    }
    return true;
  }

  /**
   * A column is entered at every throughput at which one of its partitions is full, because GPUs stand idle in
   * between.
   * @returns the number of entries
   */
  private levels(c: number, rates: Float64Array, steps: Float64Array, classes: Uint16Array): number {
    const { set, grid, options } = this;
    const parts = set.parts[c] as number;
    let price = 0;
    for (let d = 0; d < parts; d++) {
      const at = c * set.width + d;
      const slot = set.slots[at] as number;
      const v = this.virtualOf[slot] as number;
      const gpusPerRps = set.gpusPerRps[at] as number;
      classes[d] = this.classOf[slot] as number;
      rates[d] = options.pool ? 1 / gpusPerRps : 1 / (gpusPerRps * v);
      steps[d] = options.pool ? 1 : grid.perGpu / v;
      price += (options.gpuPrices[classes[d] as number] as number) * gpusPerRps;
    }
    const reducedCost = Math.max(0, price - 1);
    const mostRps = reducedCost > 0 ? options.budget / reducedCost : Infinity;
    let count = 1;
    for (let d = 0; d < parts; d++) {
      const rate = rates[d] as number;
      const most =
        parts === 1 ? 1 : Math.floor((grid.units[classes[d] as number] as number) / (steps[d] as number));
      for (let g = 1; g <= most && g * rate <= mostRps; g++, count++)
        if (!this.level(c, parts, g * rate, rates, steps, classes)) break;
    }
    return count;
  }

  /**
   * @returns false if the GPUs are not enough
   */
  private level(
    c: number,
    parts: number,
    rps: number,
    rates: Float64Array,
    steps: Float64Array,
    classes: Uint16Array,
  ): boolean {
    const { grid, options } = this;
    let u = 0;
    let worth = 0;
    for (let e = 0; e < parts; e++) {
      const units = unitsFor(rps, rates[e] as number) * (steps[e] as number);
      const k = classes[e] as number;
      u += units * (grid.strides[k] as number);
      worth += (units / grid.perGpu) * (options.gpuPrices[k] as number);
    }
    if (!this.fits(parts, rps, rates, steps, classes)) return false;
    const loss = worth - rps;
    if (loss <= options.budget && rps > (this.rps[u] as number)) {
      this.column[u] = c;
      this.rps[u] = rps;
    }
    return true;
  }

  /** Two partitions on one class share its GPUs. */
  private fits(
    parts: number,
    rps: number,
    rates: Float64Array,
    steps: Float64Array,
    classes: Uint16Array,
  ): boolean {
    for (let d = 0; d < parts; d++) {
      let units = 0;
      for (let e = 0; e < parts; e++)
        if (classes[e] === classes[d]) units += unitsFor(rps, rates[e] as number) * (steps[e] as number);
      if (units > (this.grid.units[classes[d] as number] as number)) return false;
    }
    return true;
  }
}

/**
 * virtualGpusOf gives the fewest virtual GPUs of each partition with which a column serves a throughput, in whole GPUs
 * if `pool` is true.
 */
export function virtualGpusOf(
  set: ColumnSet,
  { column: c, rps }: { readonly column: number; readonly rps: number },
  pool: boolean,
): number[] {
  const table: ModelTable = set.table;
  return Array.from({ length: set.parts[c] as number }, (_, d) => {
    const at = c * set.width + d;
    const v = (table.slots[set.slots[at] as number] as Slot).virtual;
    const perGpu = 1 / (set.gpusPerRps[at] as number);
    return pool ? unitsFor(rps, perGpu) * v : unitsFor(rps, perGpu / v);
  });
}
