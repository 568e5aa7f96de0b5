import type { HighsEngine, NewColumns, OpenModel } from '../../lp/index.js';
import type { Column, ColumnSource } from '../columns/index.js';
import type { ClassTable, ModelTable, ProblemTables, Slot } from '../tables/index.js';
import { type MasterGoal, type MasterRows, masterRows } from './master-rows.js';

/** MasterResult is the result of the LP over columns: a bound on every integer plan, and the prices that prove it. */
export interface MasterResult {
  /**
   * The bound is proved by exact pricing, whatever the solver's tolerances (see `boundAt`). It is Infinity if nothing
   * was proved.
   */
  readonly bound: number;
  readonly columns: readonly Column[];
  /** The throughput of each column in the last LP's optimum; empty if that LP was not solved. */
  readonly rps: readonly number[];
  /** The price of a GPU by class (the shadow price, for throughput). */
  readonly gpuPrices: readonly number[];
  /** The prices of minimum shares, by model and class. */
  readonly usePrices: readonly (readonly number[])[];
  /**
   * The price of one request per second by model. It is the price of the model's cheapest column, found by exact
   * pricing.
   */
  readonly modelPrices: readonly number[];
  /** The same prices without minimum shares. */
  readonly freeModelPrices: readonly number[];
  readonly rounds: number;
}

/** MasterProblem is the LP over columns: the classes and tables, the source of each model's columns, and the goal. */
export interface MasterProblem extends ProblemTables {
  readonly sources: readonly ColumnSource[];
  readonly goal: MasterGoal;
}

/** MasterOptions says where the rounds of the LP start and when they end. */
export interface MasterOptions {
  /** Columns that are known to be good, with which the LP starts. */
  readonly start?: readonly Column[];
  /** stop is asked after every round; true ends the search with the bound proved so far. */
  readonly stop?: () => boolean;
}

const MOST_ROUNDS = 200;
const MOST_ITERATIONS = 50_000;
const COLUMNS_PER_ROUND = 40;
const REDUCED_COST_TOLERANCE = 1e-9;

/**
 * The solver refuses larger entries. A column with such an entry is useless: it needs that many times the GPUs of the
 * best one.
 */
const LARGEST_ENTRY = 1e12;

/**
 * solveMaster solves the LP over columns by column generation. The duals of the LP over the columns so far price all
 * others, and up to 40 of the cheapest per model are added, until none is cheaper than its model's price, the goal's
 * `enough` or `tooLittle` is reached, 200 rounds are over, or `stop` returns true. The bound holds in every case.
 */
export function solveMaster(
  engine: HighsEngine,
  { classes, tables, sources, goal }: MasterProblem,
  { start = [], stop = () => false }: MasterOptions = {},
): MasterResult {
  const rows = masterRows(classes, tables, goal);
  const open = engine.open(rows.model);
  try {
    return new Generation(classes, tables, sources, goal, rows, open).run(start, stop);
  } finally {
    open.close();
  }
}

/** Proof holds prices and the bound that they prove. */
interface Proof {
  readonly prices: Prices;
  /** The price of one request per second by model, which is that of its cheapest column. */
  readonly perModel: readonly number[];
  readonly bound: number;
}

class Generation {
  private readonly columns: Column[] = [];
  private readonly known = new Set<string>();
  private readonly fixedVariables: number;
  private best: Proof | undefined;

  constructor(
    private readonly classes: ClassTable,
    private readonly tables: readonly ModelTable[],
    private readonly sources: readonly ColumnSource[],
    private readonly goal: MasterGoal,
    private readonly rows: MasterRows,
    private readonly open: OpenModel,
  ) {
    this.fixedVariables = rows.model.variableNames.length;
  }

  run(start: readonly Column[], stop: () => boolean): MasterResult {
    this.add(start);
    if (this.columns.length === 0) this.addFirst();
    for (let round = 1; ; round++) {
      const outcome = this.open.solve({ maxIterations: MOST_ITERATIONS });
      if (outcome.status !== 'optimal' || outcome.rowDuals === undefined) return this.result([], round);
      const prices = this.pricesOf(outcome.rowDuals);
      const bound = this.prove(prices);
      const objective = this.objectiveOf(outcome.objective);
      const closed = Math.abs(bound - objective) <= REDUCED_COST_TOLERANCE * Math.abs(objective);
      const ended = closed || this.priceIn(prices) === 0;
      if (ended || this.isDecided(objective, bound) || round >= MOST_ROUNDS || stop())
        return this.result(Array.from(outcome.values).slice(this.fixedVariables), round);
    }
  }

  private objectiveOf(solved: number): number {
    return this.goal.kind === 'throughput' ? solved : solved / this.rows.perGpu;
  }

  private isDecided(objective: number, bound: number): boolean {
    if (this.goal.kind === 'price') return false;
    const { enough = Infinity, tooLittle = -Infinity } = this.goal;
    return objective >= enough || bound < tooLittle;
  }

  /**
   * prove computes the bound that prices prove, and keeps the prices of the best bound, or the latest of several.
   * @returns the best bound so far
   */
  private prove(prices: Prices): number {
    const perModel = this.cheapest(prices);
    const bound = boundAt(this.classes, this.goal, { perGpu: prices.perGpu, perModel });
    const best = this.best?.bound;
    const tightest =
      best === undefined
        ? bound
        : this.goal.kind === 'throughput'
          ? Math.min(best, bound)
          : Math.max(best, bound);
    const isWorse = Math.abs(bound - tightest) > REDUCED_COST_TOLERANCE * Math.abs(tightest);
    const kept = this.best === undefined || !isWorse ? { prices, perModel } : this.best;
    this.best = { ...kept, bound: tightest };
    return tightest;
  }

  /**
   * cheapest is the price of one request per second by model, which is that of its cheapest column, by exact pricing.
   */
  private cheapest({ perGpu, perUse, perModel }: Prices): number[] {
    return this.sources.map((source, m) => {
      const table = this.tables[m] as ModelTable;
      const uses = perUse[m] as readonly number[];
      const refund = refundOf(uses, table);
      const known = this.cheapestKnown(m, perGpu, uses);
      const own = perModel[m] as number;
      return source.cheapest({ perGpu, perUse: uses }, Math.max(known, own - refund)) + refund;
    });
  }

  /** The price of the cheapest column of a model in the LP. */
  private cheapestKnown(m: number, perGpu: readonly number[], perUse: readonly number[]): number {
    let cheapest = Infinity;
    for (const column of this.columns) {
      if (column.model !== m) continue;
      const gpus = gpusByClass(column, this.tables[m] as ModelTable, perGpu.length);
      let price = 0;
      for (let k = 0; k < gpus.length; k++) {
        if (gpus[k] === 0) continue;
        price += (gpus[k] as number) * (perGpu[k] as number) - (perUse[k] as number);
      }
      cheapest = Math.min(cheapest, price);
    }
    return cheapest;
  }

  /**
   * addFirst adds columns that are cheap when one class is cheap, and columns that are cheap when all classes cost the
   * same, so that the first LP has a choice.
   */
  private addFirst(): void {
    const count = this.classes.names.length;
    const guesses = [
      new Array<number>(count).fill(1),
      ...this.classes.names.map((_, k) => this.classes.names.map((__, i) => (i === k ? 1e-3 : 1))),
    ];
    const perUse = new Array<number>(count).fill(0);
    for (const perGpu of guesses)
      for (const source of this.sources)
        this.add(source.cheaperThan(Infinity, { perGpu, perUse }, 4).map(({ column }) => column));
  }

  private priceIn(prices: Prices): number {
    let added = 0;
    this.sources.forEach((source, m) => {
      const own = prices.perModel[m] as number;
      const below =
        own -
        refundOf(prices.perUse[m] as number[], this.tables[m] as ModelTable) -
        REDUCED_COST_TOLERANCE * own;
      const cheap = source.cheaperThan(
        below,
        { perGpu: prices.perGpu, perUse: prices.perUse[m] as number[] },
        COLUMNS_PER_ROUND,
      );
      added += this.add(cheap.map(({ column }) => column));
    });
    return added;
  }

  /**
   * pricesOf converts duals from the LP's units of GPUs. For throughput, this concerns the prices of GPUs. For a price,
   * the objective itself is in these units, so it concerns the prices of rates instead.
   */
  private pricesOf(duals: Float64Array): Prices {
    const { gpus, shares, minShares, perGpu: units } = this.rows;
    const throughput = this.goal.kind === 'throughput';
    const sign = throughput ? 1 : -1;
    const [gpuUnit, rateUnit] = throughput ? [units, 1] : [1, 1 / units];
    // For prices, a GPU costs its own price and what its scarcity adds.
    const perGpu = gpus.map(
      (row, k) => Math.max(0, sign * (duals[row] as number) * gpuUnit) + (this.classes.unitCost[k] as number),
    );
    const rate = (row: number) => Math.max(0, -sign * (duals[row] as number) * rateUnit);
    const perModel = shares.map(rate);
    const perUse = minShares.map((list) => list.map((row) => (row === undefined ? 0 : rate(row))));
    return { perGpu, perModel, perUse };
  }

  /**
   * @returns the number of new columns
   */
  private add(columns: readonly Column[]): number {
    const fresh: { costs: number[]; starts: number[]; rows: number[]; coefficients: number[] } = {
      costs: [],
      starts: [],
      rows: [],
      coefficients: [],
    };
    for (const column of columns) {
      const key = columnKey(column);
      if (this.known.has(key)) continue;
      this.known.add(key);
      this.append(column, fresh);
    }
    this.open.addColumns(fresh satisfies NewColumns);
    return fresh.costs.length;
  }

  private append(
    column: Column,
    to: { costs: number[]; starts: number[]; rows: number[]; coefficients: number[] },
  ): void {
    const table = this.tables[column.model] as ModelTable;
    const gpus = gpusByClass(column, table, this.classes.names.length).map((g) => g * this.rows.perGpu);
    if (gpus.some((g) => g > LARGEST_ENTRY)) return;
    this.columns.push(column);
    to.starts.push(to.rows.length);
    to.costs.push(gpus.reduce((sum, g, k) => sum + g * (this.classes.unitCost[k] as number), 0));
    gpus.forEach((g, k) => {
      if (g === 0) return;
      to.rows.push(this.rows.gpus[k] as number);
      to.coefficients.push(g);
    });
    to.rows.push(this.rows.shares[column.model] as number);
    to.coefficients.push(1);
    this.rows.minShares[column.model]?.forEach((row, k) => {
      if (row === undefined) return;
      const coefficient = ((gpus[k] as number) > 0 ? 1 : 0) - (table.minShare[k] as number);
      if (coefficient === 0) return;
      to.rows.push(row);
      to.coefficients.push(coefficient);
    });
  }

  private result(rps: number[], rounds: number): MasterResult {
    const { prices, perModel, bound } = this.best ?? this.withoutLp();
    const free = prices.perUse.map((uses) => uses.map(() => 0));
    const shared = prices.perUse.some((uses) => uses.some((price) => price > 0));
    return {
      bound,
      columns: this.columns,
      rps,
      gpuPrices: prices.perGpu,
      usePrices: prices.perUse,
      modelPrices: perModel,
      freeModelPrices: shared ? this.cheapest({ ...prices, perUse: free }) : perModel,
      rounds,
    };
  }

  /** withoutLp is the proof if no LP was solved: every GPU at its own price. */
  private withoutLp(): Proof {
    const perGpu = [...this.classes.unitCost];
    const perUse = this.tables.map(() => perGpu.map(() => 0));
    const prices = { perGpu, perUse, perModel: this.tables.map(() => 0) };
    const perModel = this.cheapest(prices);
    return { prices, perModel, bound: boundAt(this.classes, this.goal, { perGpu, perModel }) };
  }
}

interface Prices {
  readonly perGpu: readonly number[];
  /** The LP's own price of one request per second for each model, which no column in the LP undercuts. */
  readonly perModel: readonly number[];
  readonly perUse: readonly (readonly number[])[];
}

/**
 * gpusByClass is the number of whole GPUs of each class, by class index and with fractions, that a column takes per
 * request per second.
 * @param classes the number of classes of the cluster
 */
export function gpusByClass(column: Column, table: ModelTable, classes: number): number[] {
  const gpus = new Array<number>(classes).fill(0);
  for (const { slot, rps } of column.parts) {
    const { classIndex, virtual } = table.slots[slot] as Slot;
    gpus[classIndex] = (gpus[classIndex] as number) + 1 / (rps * virtual);
  }
  return gpus;
}

/** columnKey is equal for two columns that are the same pipeline: the same model, cuts, slots and batches. */
export function columnKey({ model, parts }: Column): string {
  return `${model}:${parts.map((p) => `${p.end},${p.slot},${p.batch}`).join(';')}`;
}

/**
 * refundOf is the price of the minimum shares of a model, which every column pays and which columns that use the class
 * get back.
 */
function refundOf(perUse: readonly number[], table: ModelTable): number {
  return perUse.reduce((sum, price, k) => sum + price * (table.minShare[k] as number), 0);
}

/** BoundPrices are the prices that a bound holds at. */
interface BoundPrices {
  /** μ, by class. */
  readonly perGpu: readonly number[];
  /** π, by model. */
  readonly perModel: readonly number[];
}

/**
 * boundAt is a bound on the objective of every plan, integer or not, from prices alone. Let μ be the price of a GPU and
 * π_m the price of model m's cheapest column; then Σ_m π_m·throughput_m ≤ Σ_k μ_k·N_k. For throughput, t·Σ w_m·π_m ≤ Σ
 * μ_k·N_k. For rates, cost ≥ Σ π_m·rps_m − Σ (μ_k − price_k)·N_k. The bound needs exact pricing but no optimal LP, so
 * tolerances cannot make it false. For throughput it is 0 if a model with a weight has no column (π_m is Infinity), and
 * Infinity if the prices prove nothing; for a price it is at least 0. For throughput, `unitCost` must be 0.
 */
export function boundAt(classes: ClassTable, goal: MasterGoal, { perGpu, perModel }: BoundPrices): number {
  const scarcity = classes.available.reduce(
    (sum, n, k) => sum + n * ((perGpu[k] as number) - (classes.unitCost[k] as number)),
    0,
  );
  if (goal.kind === 'price') {
    const value = goal.rps.reduce((sum, rps, m) => sum + rps * Math.max(0, perModel[m] as number), 0);
    return Math.max(0, value - scarcity);
  }
  let denominator = 0;
  for (let m = 0; m < perModel.length; m++) {
    const weight = goal.weights[m] as number;
    if (weight === 0) continue;
    if (perModel[m] === Infinity) return 0;
    denominator += weight * Math.max(0, perModel[m] as number);
  }
  return denominator > 0 ? scarcity / denominator : Infinity;
}
