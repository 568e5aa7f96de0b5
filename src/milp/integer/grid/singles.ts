import type { ColumnSet } from '../../columns/index.js';
import { unitsFor } from '../../rounding.js';
import { STOP_EVERY } from '../../work.js';
import type { Grid } from './grid.js';
import type { GridOptions } from './grid-options.js';
import type { Item } from './sorted-items.js';
import type { StateSet } from './state-set.js';

/** Singles holds for every amount of GPUs the best single column that uses exactly this amount. */
export class Singles {
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
