import type { ColumnSet } from '../../columns/index.js';
import type { UsedColumn } from '../../plan/index.js';
import { ROUNDING, unitsFor } from '../../rounding.js';
import type { ModelTable, Slot } from '../../tables/index.js';
import { STOP_EVERY } from '../../work.js';
import type { WholeGpuPricing } from '../pricing/index.js';
import { type Grid, worthOf } from './grid.js';
import type { GridOptions } from './grid-options.js';
import { Singles } from './singles.js';
import { type Item, SortedItems } from './sorted-items.js';
import { StateSet } from './state-set.js';

/** A rate that is not above another one by this factor counts as equal to it. */
const ABOVE_ROUNDING = 1 + ROUNDING;

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
