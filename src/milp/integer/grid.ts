import type { ColumnSet } from '../columns/index.js';
import type { UsedColumn } from '../plan/index.js';
import type { ModelTable, Slot } from '../tables/index.js';

/**
 * Amounts of GPUs as whole numbers: state u is one amount per class in units of 1/perGpu GPU. Where each pool fills whole
 * GPUs a unit is a GPU; where virtual GPUs of unlike sizes share one, the least common multiple of the sizes.
 */
export interface Grid {
  readonly perGpu: number;
  /** Most units by class. */
  readonly units: readonly number[];
  readonly strides: readonly number[];
  readonly states: number;
}

/** States the grids of all models may have: past it they do not fit the time or the memory of a default search. */
const MOST_STATES = 6_000_000;
const MOST_STATES_EACH = 2_000_000;

export function gridOf(available: readonly number[], perGpu: number, models: number): Grid | undefined {
  const units = available.map((n) => Math.floor(n * perGpu + 1e-9));
  const strides = new Array<number>(units.length).fill(1);
  for (let k = units.length - 2; k >= 0; k--)
    strides[k] = (strides[k + 1] as number) * ((units[k + 1] as number) + 1);
  const states = units.reduce((product, n) => product * (n + 1), 1);
  return states <= Math.min(MOST_STATES_EACH, MOST_STATES / models)
    ? { perGpu, units, strides, states }
    : undefined;
}

/** The least unit that every virtual size divides. */
export function leastCommonMultiple(sizes: readonly number[]): number {
  const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));
  return sizes.reduce((lcm, v) => (lcm * v) / gcd(lcm, v), 1);
}

export interface GridOptions {
  /** Whole GPUs per pool: partitions come in whole GPUs. */
  readonly pool: boolean;
  /** Price of a GPU by class in requests per second: LP duals over the model's own price. */
  readonly gpuPrices: readonly number[];
  /** Loss past which a state is not kept; Infinity keeps all. */
  readonly budget: number;
  /** Asked now and then; true leaves the table unfinished, and unfit for use. */
  readonly stop?: () => boolean;
}

/** States, columns or pairs between two questions whether to stop. */
export const STOP_EVERY = 4096;

/** A column at a throughput where at least one partition's GPUs are all busy. */
interface Item {
  readonly column: number;
  readonly rps: number;
  readonly loss: number;
  readonly units: readonly number[];
  readonly offset: number;
}

const WHOLE = 1e-9;

/**
 * The most one model can be served with, for every amount of GPUs at once. Any plan is a multiset of items; an item's *loss*
 * is what its GPUs are worth at the LP's prices less what it serves, never negative at optimal prices. The table holds the
 * least loss by amount, by dynamic programming over amounts; states that lose more than the budget cannot be part of a plan
 * within the budget of the bound and are left out. So what it finds within the budget is optimal for the integer problem.
 */
export class ModelGrid {
  /** Least loss of plans that use exactly these units. */
  readonly loss: Float64Array;
  /** Ended by `stop`: it proves nothing. */
  stopped = false;
  private readonly via: Int32Array;
  private readonly basis: Item[] = [];

  constructor(
    readonly grid: Grid,
    readonly set: ColumnSet,
    readonly options: GridOptions,
  ) {
    this.loss = new Float64Array(grid.states).fill(Infinity);
    this.via = new Int32Array(grid.states).fill(-1);
    const singles = new Singles(grid, set, options);
    this.stopped = !singles.fill() || !this.close(singles);
  }

  /** The columns of state u's plan, alike ones together. */
  columnsAt(u: number): UsedColumn[] {
    const used: UsedColumn[] = [];
    for (let at = u; at > 0; ) {
      const item = this.basis[this.via[at] as number] as Item;
      used.push({
        column: this.set.column(item.column),
        virtualGpus: virtualGpusOf(this.set, item.column, item.rps, this.options.pool),
      });
      at -= item.offset;
    }
    return used;
  }

  /** Worth of state u's units at the prices. */
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
   * States in order: what reaches a state is smaller than it, so each is final when its turn comes.
   * @returns false where it was stopped
   */
  private close(singles: Singles): boolean {
    const { grid, loss, via, options } = this;
    const classes = grid.units.length;
    const amounts = new Int32Array(classes);
    const items = new SortedItems(classes);
    loss[0] = 0;
    for (let u = 0; u < grid.states; u++) {
      if (u % STOP_EVERY === 0 && options.stop?.() === true) return false;
      const own = singles.loss[u] as number;
      if (own < (loss[u] as number) - WHOLE) {
        const item = singles.item(u, amounts);
        via[u] = this.basis.push(item) - 1;
        loss[u] = own;
        items.add(item, via[u] as number);
      }
      if ((loss[u] as number) <= options.budget && (loss[u] as number) < Infinity)
        this.push(u, amounts, items);
      for (let k = classes - 1; k >= 0; k--) {
        if ((amounts[k] as number) < (grid.units[k] as number)) {
          amounts[k] = (amounts[k] as number) + 1;
          break;
        }
        amounts[k] = 0;
      }
    }
    return true;
  }

  /** One more item on top of state u, cheapest first, as far as the budget goes. */
  private push(u: number, amounts: Int32Array, items: SortedItems): void {
    const { loss, via, options, grid } = this;
    const classes = amounts.length;
    const so = loss[u] as number;
    next: for (let i = 0; i < items.count; i++) {
      const total = so + (items.losses[i] as number);
      if (total > options.budget) return;
      for (let k = 0; k < classes; k++)
        if ((amounts[k] as number) + (items.units[i * classes + k] as number) > (grid.units[k] as number))
          continue next;
      const to = u + (items.offsets[i] as number);
      if (total < (loss[to] as number) - WHOLE) {
        loss[to] = total;
        via[to] = items.ids[i] as number;
      }
    }
  }
}

/** Items by rising loss, in flat arrays. */
class SortedItems {
  count = 0;
  losses = new Float64Array(256);
  offsets = new Int32Array(256);
  ids = new Int32Array(256);
  units: Int32Array;

  constructor(private readonly classes: number) {
    this.units = new Int32Array(256 * classes);
  }

  add({ loss, offset, units }: Item, id: number): void {
    if (this.count === this.losses.length) this.grow();
    let at = this.count;
    while (at > 0 && (this.losses[at - 1] as number) > loss) at--;
    const { count, classes } = this;
    this.losses.copyWithin(at + 1, at, count);
    this.offsets.copyWithin(at + 1, at, count);
    this.ids.copyWithin(at + 1, at, count);
    this.units.copyWithin((at + 1) * classes, at * classes, count * classes);
    this.losses[at] = loss;
    this.offsets[at] = offset;
    this.ids[at] = id;
    this.units.set(units, at * classes);
    this.count++;
  }

  private grow(): void {
    const size = this.losses.length * 2;
    const { losses, offsets, ids, units } = this;
    this.losses = new Float64Array(size);
    this.losses.set(losses);
    this.offsets = new Int32Array(size);
    this.offsets.set(offsets);
    this.ids = new Int32Array(size);
    this.ids.set(ids);
    this.units = new Int32Array(size * this.classes);
    this.units.set(units);
  }
}

/** For every amount of GPUs the best single column that uses exactly it. */
class Singles {
  readonly loss: Float64Array;
  private readonly column: Int32Array;
  private readonly rps: Float64Array;
  private readonly classOf: Uint16Array;
  private readonly virtualOf: Uint16Array;

  constructor(
    private readonly grid: Grid,
    private readonly set: ColumnSet,
    private readonly options: GridOptions,
  ) {
    this.loss = new Float64Array(grid.states).fill(Infinity);
    this.column = new Int32Array(grid.states);
    this.rps = new Float64Array(grid.states);
    const { slots } = set.table;
    this.classOf = Uint16Array.from(slots, (slot) => slot.classIndex);
    this.virtualOf = Uint16Array.from(slots, (slot) => slot.virtual);
  }

  item(u: number, amounts: ArrayLike<number>): Item {
    return {
      column: this.column[u] as number,
      rps: this.rps[u] as number,
      loss: this.loss[u] as number,
      units: Array.from(amounts),
      offset: u,
    };
  }

  /** @returns false where it was stopped */
  fill(): boolean {
    const { set, options } = this;
    const rates = new Float64Array(set.width);
    const steps = new Float64Array(set.width);
    const classes = new Uint16Array(set.width);
    for (let c = 0; c < set.count; c++) {
      if (c % STOP_EVERY === 0 && options.stop?.() === true) return false;
      this.levels(c, rates, steps, classes);
    }
    return true;
  }

  /** A column at every throughput at which one of its partitions is full: in between GPUs stand idle. */
  private levels(c: number, rates: Float64Array, steps: Float64Array, classes: Uint16Array): void {
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
    for (let d = 0; d < parts; d++) {
      const rate = rates[d] as number;
      const most =
        parts === 1 ? 1 : Math.floor((grid.units[classes[d] as number] as number) / (steps[d] as number));
      for (let g = 1; g <= most && g * rate <= mostRps; g++)
        if (!this.level(c, parts, g * rate, rates, steps, classes)) break;
    }
  }

  /** @returns false where the GPUs do not suffice */
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
      const units = Math.ceil(rps / (rates[e] as number) - WHOLE) * (steps[e] as number);
      const k = classes[e] as number;
      u += units * (grid.strides[k] as number);
      worth += (units / grid.perGpu) * (options.gpuPrices[k] as number);
      if (units > (grid.units[k] as number)) return false;
    }
    if (!this.fits(parts, rps, rates, steps, classes)) return false;
    const loss = worth - rps;
    if (loss <= options.budget && loss < (this.loss[u] as number)) {
      this.loss[u] = loss;
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
        if (classes[e] === classes[d])
          units += Math.ceil(rps / (rates[e] as number) - WHOLE) * (steps[e] as number);
      if (units > (this.grid.units[classes[d] as number] as number)) return false;
    }
    return true;
  }
}

/** Virtual GPUs that serve a throughput with a column. */
export function virtualGpusOf(set: ColumnSet, c: number, rps: number, pool: boolean): number[] {
  const table: ModelTable = set.table;
  return Array.from({ length: set.parts[c] as number }, (_, d) => {
    const at = c * set.width + d;
    const v = (table.slots[set.slots[at] as number] as Slot).virtual;
    const perGpu = 1 / (set.gpusPerRps[at] as number);
    return pool ? Math.ceil(rps / perGpu - WHOLE) * v : Math.ceil((rps * v) / perGpu - WHOLE);
  });
}
