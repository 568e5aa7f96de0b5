import type { ColumnSet } from '../../columns/index.js';
import type { UsedColumn } from '../../plan/index.js';
import { ROUNDING, unitsFor } from '../../rounding.js';
import { STOP_EVERY, type Stop } from '../../work.js';
import { type Grid, type ModelGrid, nextAmounts, virtualGpusOf } from '../grid/index.js';

/**
 * PositionResult is the result of a search over positions: the best plan within the budget, and whether no better one
 * is left.
 */
export interface PositionResult {
  readonly used: readonly UsedColumn[] | undefined;
  /** The rate of the plan; 0 if none was found. */
  readonly rps: number;
  /** exhausted is false if the nodes or `stop` ended the search, so that a better plan may exist. */
  readonly exhausted: boolean;
  readonly nodes: number;
}

/** Piece is a column at a throughput at which one partition is full, by (position, class). */
interface Piece {
  readonly column: number;
  readonly rps: number;
  readonly loss: number;
  /** The units, by position · classes + class. */
  readonly units: Int32Array;
  readonly byClass: Int32Array;
  readonly offset: number;
}

/** PositionGoal says what a search over positions is to find, and how long it may search. */
export interface PositionGoal {
  /** Only plans with a higher rate are sought. */
  readonly known: number;
  /** Counted work. */
  readonly maxNodes: number;
  /** stop is asked from time to time; true ends the search, as the end of the work does. */
  readonly stop?: Stop;
  /** The result of `leastLosses` for the table, where several searches share it. */
  readonly need?: Float64Array;
}

/**
 * searchPositions searches exactly for the plan of one model with the highest rate, above `known`, under the rule that
 * each (position, class) fills whole GPUs. The table of the weaker rule, fractions of GPUs per class, gives a lower
 * bound on the loss of filling the remaining GPUs. So only multisets of columns are considered whose losses, so far and
 * to come, stay within the budget (A*, by growing budgets). The budget is the worth of the GPUs less the known rate.
 * @param relaxed the model's grid by fractions of GPUs, kept to at least that budget
 * @param gpus the whole GPUs of each class that the model may use
 */
export function searchPositions(
  relaxed: ModelGrid,
  gpus: readonly number[],
  goal: PositionGoal,
): PositionResult {
  const { known } = goal;
  const search = new PositionSearch(relaxed, gpus, goal);
  const budget = search.worth - known;
  let limit = search.least + Math.max((budget - search.least) / 16, search.slack);
  for (;;) {
    const tried = Math.min(limit, budget);
    search.run(tried);
    const done = search.worth - search.best <= tried || !(tried < budget);
    if (done || search.isOver) {
      const used = search.columns();
      const rps = used === undefined ? 0 : search.best;
      return { used, rps, exhausted: !search.isOver, nodes: search.nodes };
    }
    limit = search.least + 2 * (limit - search.least);
  }
}

class PositionSearch {
  nodes = 0;
  /** The worth of all GPUs. */
  readonly worth: number;
  /** The least loss of any plan by fractions of GPUs on the whole cluster. */
  readonly least: number;
  /** Sums of worths and losses may be off by this much through rounding. */
  readonly slack: number;
  /** The rate of the best plan that is known. */
  best: number;
  private readonly need: Float64Array;
  private readonly maxNodes: number;
  private readonly stop: Stop;
  private readonly grid: Grid;
  private readonly set: ColumnSet;
  private readonly classes: number;
  private readonly all: number;
  private readonly cap: Int32Array;
  private pieces: Piece[] = [];
  private chosen: Piece[] = [];
  private bestChosen: Piece[] | undefined;
  private limit = 0;
  private steps = 0;
  private stopped = false;

  constructor(
    private readonly relaxed: ModelGrid,
    private readonly gpus: readonly number[],
    { known, maxNodes, stop = () => false, need = leastLosses(relaxed) }: PositionGoal,
  ) {
    this.best = known;
    this.maxNodes = maxNodes;
    this.stop = stop;
    this.need = need;
    this.grid = relaxed.grid;
    this.set = relaxed.set;
    this.classes = gpus.length;
    this.cap = Int32Array.from(gpus, (n) => n * this.grid.perGpu);
    this.all = this.cap.reduce((u, n, k) => u + n * (this.grid.strides[k] as number), 0);
    this.least = this.need[this.all] as number;
    this.worth = relaxed.worth(this.all);
    this.slack = ROUNDING * Math.max(this.worth, Math.abs(this.least));
  }

  /** isOver says whether the allowed work is done. */
  get isOver(): boolean {
    return this.stopped || this.nodes > this.maxNodes;
  }

  run(limit: number): void {
    this.limit = limit;
    this.pieces = this.piecesWithin(limit);
    this.extend(0, this.all, 0, 0, new Int32Array(this.set.width * this.classes), Int32Array.from(this.cap));
  }

  columns(): UsedColumn[] | undefined {
    return this.bestChosen?.map((piece) => ({
      column: this.set.column(piece.column),
      virtualGpus: virtualGpusOf(this.set, piece, false),
    }));
  }

  private extend(
    from: number,
    rest: number,
    loss: number,
    rps: number,
    used: Int32Array,
    left: Int32Array,
  ): void {
    this.nodes++;
    this.look(1);
    if (this.isOver) return;
    if (rps > this.best * (1 + ROUNDING) && this.fillsWhole(used)) {
      this.best = rps;
      this.bestChosen = [...this.chosen];
    }
    for (let i = from; i < this.pieces.length; i++) {
      this.steps++;
      const piece = this.pieces[i] as Piece;
      if (!fitsLeft(piece.byClass, left)) continue;
      const next = rest - piece.offset;
      const total = loss + piece.loss;
      if (total + (this.need[next] as number) > this.most) continue;
      add(used, piece.units, 1);
      add(left, piece.byClass, -1);
      this.chosen.push(piece);
      this.extend(i, next, total, rps + piece.rps, used, left);
      this.chosen.pop();
      add(used, piece.units, -1);
      add(left, piece.byClass, 1);
      if (this.isOver) return;
    }
  }

  /** The largest loss allowed: a plan that loses more is outside the limit, or no better than the best. */
  private get most(): number {
    return Math.min(this.limit, this.worth - this.best * (1 + ROUNDING)) + this.slack;
  }

  private look(steps: number): void {
    this.steps += steps;
    if (this.steps < STOP_EVERY) return;
    if (this.stop(this.steps)) this.stopped = true;
    this.steps = 0;
  }

  /**
   * fillsWhole says whether the cluster has enough GPUs of every class for the positions, each rounded up to
   * whole GPUs.
   */
  private fillsWhole(used: Int32Array): boolean {
    for (let k = 0; k < this.classes; k++) {
      let gpus = 0;
      for (let at = k; at < used.length; at += this.classes)
        gpus += Math.ceil((used[at] as number) / this.grid.perGpu);
      if (gpus > (this.gpus[k] as number)) return false;
    }
    return true;
  }

  /**
   * The pieces that a plan within the limit can hold, large ones first; of pieces with the same units, only the best.
   */
  private piecesWithin(limit: number): Piece[] {
    const found = new Map<string, Piece>();
    for (let c = 0; c < this.set.count && !this.stopped; c++)
      for (const piece of this.levels(c, limit)) {
        this.look(1);
        const key = piece.units.join(',');
        const known = found.get(key);
        if (known === undefined || piece.rps > known.rps * (1 + ROUNDING)) found.set(key, piece);
      }
    return [...found.values()].sort((a, b) => b.rps - a.rps || b.offset - a.offset || a.column - b.column);
  }

  private *levels(c: number, limit: number): Generator<Piece> {
    const { set, grid, relaxed } = this;
    const parts = set.parts[c] as number;
    const rates = new Float64Array(parts);
    const steps = new Int32Array(parts);
    const classOf = new Int32Array(parts);
    let price = 0;
    for (let d = 0; d < parts; d++) {
      const at = c * set.width + d;
      const slot = set.table.slots[set.slots[at] as number] as { classIndex: number; virtual: number };
      const gpusPerRps = set.gpusPerRps[at] as number;
      rates[d] = 1 / (gpusPerRps * slot.virtual);
      steps[d] = grid.perGpu / slot.virtual;
      classOf[d] = slot.classIndex;
      price += (relaxed.options.gpuPrices[slot.classIndex] as number) * gpusPerRps;
    }
    const reducedCost = Math.max(0, price - 1);
    const mostRps =
      reducedCost > 0 ? (limit - this.least + this.slack) / reducedCost + limit / reducedCost : Infinity;
    for (let d = 0; d < parts; d++) {
      const most =
        parts === 1 ? 1 : Math.floor((this.cap[classOf[d] as number] as number) / (steps[d] as number));
      for (let g = 1; g <= most && g * (rates[d] as number) <= mostRps; g++) {
        const piece = this.piece(c, g * (rates[d] as number), rates, steps, classOf);
        if (piece === undefined) break;
        if (piece.loss + (this.need[this.all - piece.offset] as number) <= limit + this.slack) yield piece;
      }
    }
  }

  private piece(
    c: number,
    rps: number,
    rates: Float64Array,
    steps: Int32Array,
    classOf: Int32Array,
  ): Piece | undefined {
    const { grid, classes } = this;
    const units = new Int32Array(this.set.width * classes);
    const byClass = new Int32Array(classes);
    rates.forEach((rate, d) => {
      const n = unitsFor(rps, rate) * (steps[d] as number);
      const k = classOf[d] as number;
      units[d * classes + k] = n;
      byClass[k] = (byClass[k] as number) + n;
    });
    if (!fitsLeft(byClass, this.cap)) return undefined;
    const offset = byClass.reduce((u, n, k) => u + n * (grid.strides[k] as number), 0);
    return { column: c, rps, loss: this.relaxed.worth(offset) - rps, units, byClass, offset };
  }
}

function fitsLeft(units: Int32Array, left: ArrayLike<number>): boolean {
  for (let k = 0; k < units.length; k++) if ((units[k] as number) > (left[k] as number)) return false;
  return true;
}

function add(to: Int32Array, units: Int32Array, times: number): void {
  for (let i = 0; i < units.length; i++) to[i] = (to[i] as number) + times * (units[i] as number);
}

/**
 * leastLosses gives, for every state of a model's table, the least loss of filling its GPUs, where idle units lose their
 * worth.
 */
export function leastLosses(model: ModelGrid): Float64Array {
  const { grid, options } = model;
  const { strides } = grid;
  const idle = options.gpuPrices.map((price) => price / grid.perGpu);
  const need = new Float64Array(grid.states).fill(Infinity);
  model.eachKept((u, _, loss) => {
    need[u] = loss;
  });
  const amounts = new Int32Array(strides.length);
  for (let u = 0; u < grid.states; u++, nextAmounts(amounts, grid.units))
    for (let k = 0; k < amounts.length; k++) {
      if (amounts[k] === 0) continue;
      const less = (need[u - (strides[k] as number)] as number) + (idle[k] as number);
      if (less < (need[u] as number)) need[u] = less;
    }
  return need;
}
