import type { Column, ColumnPrices, ColumnSource } from '../columns/index.js';
import type { ClassTable, ModelTable, Slot } from '../tables/index.js';
import type { HighsEngine, NewColumns, OpenModel } from './highs.js';
import { LinearModel, type Term } from './linear-model.js';

/** What the master maximises or minimises: the least throughput/weight, or the price of the GPUs that meet given rates. */
export type MasterGoal =
  | {
      readonly kind: 'throughput';
      readonly weights: readonly number[];
      /** Whether so much is reached is all that is asked: rounds end once it is. */
      readonly enough?: number;
      /** Rounds end once the bound falls below. */
      readonly tooLittle?: number;
    }
  | { readonly kind: 'price'; readonly rps: readonly number[] };

/** The LP over columns at its optimum: a bound on every integer plan, and the prices that prove it. */
export interface MasterResult {
  /** Proven by exact pricing, whatever the solver's tolerances: see `provenBound`. Infinity where nothing was proved. */
  readonly bound: number;
  readonly columns: readonly Column[];
  /** Throughput of each column in the LP's optimum. */
  readonly rps: readonly number[];
  /** Price of a GPU by class (the shadow price, for throughput). */
  readonly gpuPrices: readonly number[];
  /** Prices by model for its minimum shares. */
  readonly usePrices: readonly (readonly number[])[];
  /** Price of one request per second by model. */
  readonly modelPrices: readonly number[];
  readonly rounds: number;
  /** Where rates cannot be met even with fractions of GPUs. */
  readonly infeasible: boolean;
  /** No column is cheaper than its model's price; false where the rounds were ended before. */
  readonly closed: boolean;
}

const MOST_ROUNDS = 200;
const COLUMNS_PER_ROUND = 40;
const REDUCED_COST_TOLERANCE = 1e-9;

/** Rows of the master: per class, per model, per model and class with a minimum share. */
interface Rows {
  readonly model: LinearModel;
  readonly gpus: readonly number[];
  readonly shares: readonly number[];
  readonly minShares: readonly (readonly (number | undefined)[])[];
}

/**
 * Solves the LP over columns by column generation: the restricted LP's duals price columns, the cheapest are added, until
 * none is cheaper than its model's price (DESIGN.md, idea 2).
 * @param start columns known to be good
 * @param stop asked after every round; true ends with the bound proved so far
 */
export function solveMaster(
  engine: HighsEngine,
  classes: ClassTable,
  tables: readonly ModelTable[],
  sources: readonly ColumnSource[],
  goal: MasterGoal,
  start: readonly Column[],
  stop: () => boolean = () => false,
): MasterResult {
  const rows = masterRows(classes, tables, goal);
  const open = engine.open(rows.model);
  try {
    return new Generation(classes, tables, sources, goal, rows, open).run(start, stop);
  } finally {
    open.close();
  }
}

function masterRows(classes: ClassTable, tables: readonly ModelTable[], goal: MasterGoal): Rows {
  const model = new LinearModel();
  const t = goal.kind === 'throughput' ? model.addVariable('least throughput/weight') : undefined;
  const gpus = classes.names.map((name, k) =>
    model.addConstraint(`GPUs of ${name}`, -Infinity, [], classes.available[k] as number),
  );
  const shares = tables.map((table, m) => {
    const least: Term[] =
      goal.kind === 'throughput' && t !== undefined ? [[t, -(goal.weights[m] as number)]] : [];
    const lower = goal.kind === 'price' ? (goal.rps[m] as number) : 0;
    return model.addConstraint(`throughput of ${table.name}`, lower, least, Infinity);
  });
  const minShares = tables.map((table) =>
    classes.names.map((name, k) =>
      (table.minShare[k] as number) > 0
        ? model.addConstraint(`share of ${name} in ${table.name}`, 0, [], Infinity)
        : undefined,
    ),
  );
  model.addObjective(goal.kind === 'throughput' ? 'maximize' : 'minimize', t === undefined ? [] : [[t, 1]]);
  return { model, gpus, shares, minShares };
}

class Generation {
  private readonly columns: Column[] = [];
  private readonly known = new Set<string>();
  private readonly fixedVariables: number;

  constructor(
    private readonly classes: ClassTable,
    private readonly tables: readonly ModelTable[],
    private readonly sources: readonly ColumnSource[],
    private readonly goal: MasterGoal,
    private readonly rows: Rows,
    private readonly open: OpenModel,
  ) {
    this.fixedVariables = rows.model.variableNames.length;
  }

  run(start: readonly Column[], stop: () => boolean): MasterResult {
    this.add(start);
    if (this.columns.length === 0) this.addFirst();
    let best = Number.NaN;
    for (let round = 1; ; round++) {
      const outcome = this.open.solve();
      if (outcome.status !== 'optimal' || outcome.rowDuals === undefined)
        return this.result(best, [], undefined, round, outcome.status === 'infeasible');
      const prices = this.pricesOf(outcome.rowDuals);
      const bound = provenBound(
        this.classes,
        this.tables,
        this.sources,
        this.goal,
        prices.perGpu,
        prices.perUse,
        prices.perModel,
      );
      best = Number.isNaN(best)
        ? bound
        : this.goal.kind === 'throughput'
          ? Math.min(best, bound)
          : Math.max(best, bound);
      const closed =
        Math.abs(best - outcome.objective) <= REDUCED_COST_TOLERANCE * Math.abs(outcome.objective);
      const ended = closed || this.priceIn(prices) === 0;
      if (ended || this.isDecided(outcome.objective, best) || round >= MOST_ROUNDS || stop()) {
        const rps = Array.from(outcome.values).slice(this.fixedVariables);
        return { ...this.result(best, rps, prices, round, false), closed: ended };
      }
    }
  }

  private isDecided(objective: number, bound: number): boolean {
    if (this.goal.kind === 'price') return false;
    const { enough = Infinity, tooLittle = -Infinity } = this.goal;
    return objective >= enough || bound < tooLittle;
  }

  /** Columns that are cheap for one class at a time and for all alike, so that the first LP has something to choose from. */
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

  private pricesOf(duals: Float64Array): Prices {
    const sign = this.goal.kind === 'throughput' ? 1 : -1;
    // For prices: a class's own price per GPU plus what its scarcity adds.
    const perGpu = this.rows.gpus.map(
      (row, k) => Math.max(0, sign * (duals[row] as number)) + (this.classes.unitCost[k] as number),
    );
    const perModel = this.rows.shares.map((row) => Math.max(0, -sign * (duals[row] as number)));
    const perUse = this.rows.minShares.map((list) =>
      list.map((row) => (row === undefined ? 0 : Math.max(0, -sign * (duals[row] as number)))),
    );
    return { perGpu, perModel, perUse };
  }

  /** @returns how many were new */
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
      this.columns.push(column);
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
    const gpus = gpusByClass(column, table, this.classes.names.length);
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

  private result(
    bound: number,
    rps: number[],
    prices: Prices | undefined,
    rounds: number,
    infeasible: boolean,
  ): MasterResult {
    return {
      bound: Number.isNaN(bound) ? (this.goal.kind === 'throughput' ? Infinity : 0) : bound,
      columns: this.columns,
      rps,
      gpuPrices: prices?.perGpu ?? [],
      usePrices: prices?.perUse ?? [],
      modelPrices: prices?.perModel ?? [],
      rounds,
      infeasible,
      closed: false,
    };
  }
}

interface Prices {
  readonly perGpu: number[];
  readonly perModel: number[];
  readonly perUse: number[][];
}

/** GPUs of each class that a column takes per request per second. */
export function gpusByClass(column: Column, table: ModelTable, classes: number): number[] {
  const gpus = new Array<number>(classes).fill(0);
  for (const { slot, rps } of column.parts) {
    const { classIndex, virtual } = table.slots[slot] as Slot;
    gpus[classIndex] = (gpus[classIndex] as number) + 1 / (rps * virtual);
  }
  return gpus;
}

/** Two columns are the same pipeline where these agree. */
export function columnKey({ model, parts }: Column): string {
  return `${model}:${parts.map((p) => `${p.end},${p.slot},${p.batch}`).join(';')}`;
}

/** Every column of a model pays for the share that is asked for; those that use the class get it back. */
function refundOf(perUse: readonly number[], table: ModelTable): number {
  return perUse.reduce((sum, price, k) => sum + price * (table.minShare[k] as number), 0);
}

/**
 * A bound on the objective of every plan, integer or not, from prices alone: with μ the price of a GPU and π_m the price of
 * model m's cheapest column, Σ_m π_m·throughput_m ≤ Σ_k μ_k·N_k. For throughput, t·Σ w_m·π_m ≤ Σ μ_k·N_k; for rates, cost ≥
 * Σ π_m·rps_m − Σ (μ_k − price_k)·N_k. It needs no optimal LP, only exact pricing, so tolerances cannot make it false.
 */
export function provenBound(
  classes: ClassTable,
  tables: readonly ModelTable[],
  sources: readonly ColumnSource[],
  goal: MasterGoal,
  perGpu: readonly number[],
  perUse: readonly (readonly number[])[],
  perModel: readonly number[],
): number {
  const cheapest = sources.map((source, m) => {
    const uses = perUse[m] as readonly number[];
    const prices: ColumnPrices = { perGpu, perUse: uses };
    const refund = refundOf(uses, tables[m] as ModelTable);
    return source.cheapest(prices, (perModel[m] as number) - refund) + refund;
  });
  const scarcity = classes.available.reduce(
    (sum, n, k) => sum + n * ((perGpu[k] as number) - (classes.unitCost[k] as number)),
    0,
  );
  if (goal.kind === 'price') {
    const value = goal.rps.reduce((sum, rps, m) => sum + rps * Math.max(0, cheapest[m] as number), 0);
    return Math.max(0, value - scarcity);
  }
  let denominator = 0;
  for (let m = 0; m < cheapest.length; m++) {
    const weight = goal.weights[m] as number;
    if (weight === 0) continue;
    if (cheapest[m] === Infinity) return 0;
    denominator += weight * Math.max(0, cheapest[m] as number);
  }
  return denominator > 0 ? scarcity / denominator : Infinity;
}
