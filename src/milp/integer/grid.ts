import type { ColumnSet } from '../columns/index.js';
import type { UsedColumn } from '../plan/index.js';
import { ROUNDING, unitsFor } from '../rounding.js';
import type { ModelTable, Slot } from '../tables/index.js';
import { STOP_EVERY, type Stop } from '../work.js';
import { StateSet } from './state-set.js';
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

/** A rate that is not above another one by this factor counts as equal to it. */
const ABOVE_ROUNDING = 1 + ROUNDING;

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
 * budget is optimal for the integer problem. Few states are reached where GPUs are counted in fractions and the budget is
 * small, so only these are visited.
 */
export class ModelGrid {
  /** The highest rate of plans that use exactly these units; 0 if there are none. */
  readonly rps: Float64Array;
  /** stopped is true if `stop` ended it; the table then proves nothing. */
  readonly stopped: boolean;
  /** The states that some plan uses exactly, and that of no units. */
  private readonly reached: StateSet;
  private readonly via: Int32Array;
  private readonly basis: Item[] = [];

  constructor(
    readonly grid: Grid,
    readonly set: ColumnSet,
    readonly options: GridOptions,
  ) {
    this.rps = new Float64Array(grid.states);
    this.via = new Int32Array(grid.states);
    this.reached = new StateSet(grid.states);
    this.reached.add(0);
    const singles = new Singles(grid, set, { ...options, reached: this.reached });
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
   * eachKept visits the states whose plan loses at most the budget, in order, with that of no units first.
   * @param visit takes the state, its units by class, which are overwritten afterwards, and its loss in requests per
   *   second: the worth of its units at `gpuPrices` less its rate
   */
  eachKept(visit: (u: number, amounts: Int32Array, loss: number) => void): void {
    const { grid, rps, reached, options } = this;
    const amounts = new Int32Array(grid.units.length);
    for (let u = 0, last = 0; u < grid.states; last = u, u = reached.next(u + 1)) {
      moveAmounts(grid, amounts, last, u);
      const loss = worthOf(amounts, options.gpuPrices, grid.perGpu) - (rps[u] as number);
      if (loss <= options.budget) visit(u, amounts, loss);
    }
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
   * States are visited in order. Every state is reached from smaller ones, so each is final when its turn comes. Where
   * columns are priced, any state may turn out to be reached.
   * @returns false if it was stopped
   */
  private close(singles: Singles): boolean {
    const { grid, rps, via, options, reached } = this;
    const { pricing } = options;
    const amounts = new Int32Array(grid.units.length);
    const items = new SortedItems(amounts.length);
    let steps = 0;
    let last = 0;
    for (let u = 0; u < grid.states; last = u, u = pricing === undefined ? reached.next(u + 1) : u + 1) {
      moveAmounts(grid, amounts, last, u);
      if (pricing !== undefined && !this.price(u, amounts, singles, pricing)) return false;
      const own = singles.rpsAt(u);
      if (own > 0 || (rps[u] as number) > 0 || u === 0) {
        const worth = worthOf(amounts, options.gpuPrices, grid.perGpu);
        if (own > (rps[u] as number) * ABOVE_ROUNDING) {
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
    const known = Math.max(0, this.rps[u] as number, singles.rpsAt(u));
    const found = pricing.bestOn(amounts, worth, Math.max(known, worth - budget));
    if (found !== undefined) singles.take(u, this.set.add(found.column), found.rps);
    return !pricing.stopped;
  }

  /**
   * Each item is put on top of state u, the cheapest first, as far as the budget goes.
   * @returns the number of items looked at
   */
  private push(u: number, loss: number, amounts: Int32Array, items: SortedItems): number {
    const { rps, via, reached } = this;
    const { budget } = this.options;
    const { units: most } = this.grid;
    const { count, losses, rps: more, offsets, units, ids } = items;
    const classes = amounts.length;
    const so = rps[u] as number;
    let i = 0;
    next: for (; i < count; i++) {
      if (loss + (losses[i] as number) > budget) break;
      for (let k = 0, at = i * classes; k < classes; k++, at++)
        if ((amounts[k] as number) + (units[at] as number) > (most[k] as number)) continue next;
      const to = u + (offsets[i] as number);
      const total = so + (more[i] as number);
      if (total > (rps[to] as number) * ABOVE_ROUNDING) {
        rps[to] = total;
        via[to] = ids[i] as number;
        reached.add(to);
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

/** moveAmounts changes `amounts` from those of state u to those of a state v that is not before it. */
function moveAmounts({ strides, units }: Grid, amounts: Int32Array, u: number, v: number): void {
  const k = amounts.length - 1;
  const n = (amounts[k] as number) + v - u;
  // Most moves stay in the row of states in which only the last class changes.
  if (n <= (units[k] as number)) amounts[k] = n;
  else writeAmounts(strides, v, amounts);
}

function writeAmounts(strides: readonly number[], u: number, amounts: Int32Array): void {
  let rest = u;
  for (let k = 0; k < amounts.length; k++) {
    const stride = strides[k] as number;
    const n = Math.floor(rest / stride);
    amounts[k] = n;
    rest -= n * stride;
  }
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
  /** The place of each state's column in the lists, from 1 on; 0 if no column uses this amount. */
  private readonly places: Int32Array;
  private readonly rates: number[] = [0];
  private readonly columns: number[] = [-1];
  /** The units of each partition of the column that is looked at. */
  private readonly needed: Float64Array;
  private readonly classOf: Uint16Array;
  private readonly virtualOf: Uint16Array;

  constructor(
    private readonly grid: Grid,
    private readonly set: ColumnSet,
    private readonly options: GridOptions & { readonly reached: StateSet },
  ) {
    this.places = new Int32Array(grid.states);
    this.needed = new Float64Array(set.width);
    const { slots } = set.table;
    this.classOf = Uint16Array.from(slots, (slot) => slot.classIndex);
    this.virtualOf = Uint16Array.from(slots, (slot) => slot.virtual);
  }

  /** rpsAt is the rate of a state's column; 0 if it has none. */
  rpsAt(u: number): number {
    return this.rates[this.places[u] as number] as number;
  }

  /** take makes a column the best one of a state. */
  take(u: number, column: number, rps: number): void {
    const place = this.places[u] as number;
    if (place > 0) {
      this.columns[place] = column;
      this.rates[place] = rps;
      return;
    }
    this.places[u] = this.rates.push(rps) - 1;
    this.columns.push(column);
    this.options.reached.add(u);
  }

  /** item gives a state's column; it must have one. */
  item(u: number, amounts: ArrayLike<number>, worth: number): Item {
    const rps = this.rpsAt(u);
    return {
      column: this.columns[this.places[u] as number] as number,
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
    const { grid, options, needed } = this;
    let u = 0;
    let worth = 0;
    for (let e = 0; e < parts; e++) {
      const units = unitsFor(rps, rates[e] as number) * (steps[e] as number);
      const k = classes[e] as number;
      needed[e] = units;
      u += units * (grid.strides[k] as number);
      worth += (units / grid.perGpu) * (options.gpuPrices[k] as number);
    }
    if (!this.fits(parts, classes)) return false;
    const loss = worth - rps;
    if (loss <= options.budget && rps > this.rpsAt(u)) this.take(u, c, rps);
    return true;
  }

  /** Two partitions on one class share its GPUs. */
  private fits(parts: number, classes: Uint16Array): boolean {
    const { grid, needed } = this;
    for (let d = 0; d < parts; d++) {
      let units = 0;
      for (let e = 0; e < parts; e++) if (classes[e] === classes[d]) units += needed[e] as number;
      if (units > (grid.units[classes[d] as number] as number)) return false;
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
