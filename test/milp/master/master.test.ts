import { beforeAll, describe, expect, test } from 'vitest';
import { randomProblem, type Shape } from '../../../bench/refute/pooled/random-problem.js';
import { type HighsEngine, loadHighs } from '../../../src/lp/index.js';
import { LinearModel, type Term } from '../../../src/lp/linear-model.js';
import { ListedColumns } from '../../../src/milp/columns/column-source.js';
import { type Column, type ColumnSet, enumerateColumns } from '../../../src/milp/columns/columns.js';
import { LabelPricing } from '../../../src/milp/columns/label-pricing.js';
import type { PooledProblem } from '../../../src/milp/index.js';
import { boundAt, gpusByClass, type MasterResult, solveMaster } from '../../../src/milp/master/master.js';
import type { MasterGoal } from '../../../src/milp/master/master-rows.js';
import { type ClassTable, classesOf, type ModelTable, modelTable } from '../../../src/milp/tables/tables.js';
import { cases } from '../../cases.js';

const SHAPE: Shape = { classes: 2, blocks: 4, batches: 2, virtual: [1, 2], models: 2, mostGpus: 4 };

let highs: HighsEngine;
beforeAll(async () => {
  highs = await loadHighs();
});

interface Case {
  readonly classes: ClassTable;
  readonly tables: readonly ModelTable[];
  readonly columns: readonly (readonly Column[])[];
  readonly goal: MasterGoal;
  readonly problem: PooledProblem;
}

/** A case of a few models with prices per GPU and rates. Every other case asks for a minimum share of a class. */
function caseOf(seed: number, kind: 'throughput' | 'price', rpsFactor = 1): Case {
  const objective = kind === 'price' ? 'cost' : 'throughput';
  const random = randomProblem(seed, SHAPE, { maxPartitions: 2, objective });
  const minShare: Record<string, number> = seed % 2 === 0 ? { C1: 0.4 } : {};
  const problem = { ...random, models: random.models.map((model) => ({ ...model, minShare })) };
  const classes = classesOf(problem);
  const tables = problem.models.map((_, m) => modelTable(problem, m));
  const columns = tables.map((table) => {
    const set = enumerateColumns(table, problem.planner, { limit: 1e5 }) as ColumnSet;
    return Array.from({ length: set.count }, (_, c) => set.column(c));
  });
  const goal: MasterGoal =
    kind === 'throughput'
      ? { kind, weights: tables.map(({ weight }) => weight) }
      : { kind, rps: tables.map(({ rps = 0 }) => rps * rpsFactor) };
  return { classes, tables, columns, goal, problem };
}

/**
 * Solves the LP over all columns at once, stated here: the GPUs that exist, the shares to keep, the rates of models.
 */
function statedLp({ classes, tables, columns, goal }: Case): number | 'infeasible' {
  const model = new LinearModel();
  const least = goal.kind === 'throughput' ? model.addVariable('least') : undefined;
  const all = columns.flat();
  const rates = model.addVariables(all.map((_, c) => `x${c}`));
  const gpus = all.map((one) => gpusByClass(one, tables[one.model] as ModelTable, classes.names.length));
  classes.available.forEach((there, k) => {
    const terms = rates.map((x, c): Term => [x, gpus[c]?.[k] as number]);
    model.addConstraint(`GPUs ${k}`, terms, { upper: there });
  });
  tables.forEach((table, m) => {
    const own = all.flatMap((one, c) => (one.model === m ? [c] : []));
    const terms = own.map((c): Term => [rates[c] as number, 1]);
    if (goal.kind === 'throughput') terms.push([least as number, -(goal.weights[m] as number)]);
    const lower = goal.kind === 'price' ? (goal.rps[m] as number) : 0;
    model.addConstraint(`rate ${m}`, terms, { lower });
    table.minShare.forEach((share, k) => {
      if (share === 0) return;
      const parts = own.map(
        (c): Term => [rates[c] as number, ((gpus[c]?.[k] as number) > 0 ? 1 : 0) - share],
      );
      model.addConstraint(`share ${m} ${k}`, parts, { lower: 0 });
    });
  });
  if (least !== undefined) model.addObjective('maximize', [[least, 1]]);
  else
    model.addObjective(
      'minimize',
      rates.map(
        (x, c): Term => [
          x,
          (gpus[c] as number[]).reduce((sum, n, k) => sum + n * (classes.unitCost[k] as number), 0),
        ],
      ),
    );
  const outcome = highs.solve(model);
  if (outcome.status === 'infeasible') return 'infeasible';
  if (outcome.status !== 'optimal') throw new Error(outcome.status);
  return outcome.objective;
}

function solved({ classes, tables, goal, problem }: Case, how: 'listed' | 'priced'): MasterResult {
  const sources = tables.map((table) =>
    how === 'listed'
      ? new ListedColumns(enumerateColumns(table, problem.planner, { limit: 1e5 }) as ColumnSet)
      : new LabelPricing(table, problem.planner),
  );
  if (goal.kind === 'throughput') return solveMaster(highs, { classes, tables, sources, goal });
  // The search starts from columns that can meet the rates, as the planner does.
  const free = { ...classes, unitCost: classes.unitCost.map(() => 0) };
  const reach: MasterGoal = { kind: 'throughput', weights: goal.rps, enough: 1 };
  const { columns } = solveMaster(highs, { classes: free, tables, sources, goal: reach });
  return solveMaster(highs, { classes, tables, sources, goal }, { start: columns });
}

/** The GPUs of each class that the LP's plan uses. */
function gpusOf({ classes, tables }: Case, { columns, rps }: MasterResult): number[] {
  const used = classes.names.map(() => 0);
  columns.forEach((column, c) => {
    const gpus = gpusByClass(column, tables[column.model] as ModelTable, used.length);
    gpus.forEach((n, k) => {
      used[k] = (used[k] as number) + n * (rps[c] as number);
    });
  });
  return used;
}

describe('solveMaster() proves the optimum of the LP over all columns', () => {
  for (const how of ['listed', 'priced'] as const)
    test(`of the least throughput/weight, with columns ${how}`, () => {
      for (let seed = 1; seed <= cases(8, 20); seed++) {
        const one = caseOf(seed, 'throughput');
        const result = solved(one, how);
        const best = statedLp(one);
        expect({ seed, bound: result.bound / (best as number) }).toEqual({
          seed,
          bound: expect.closeTo(1, 6),
        });
        gpusOf(one, result).forEach((n, k) => {
          expect(n).toBeLessThanOrEqual((one.classes.available[k] as number) * (1 + 1e-6));
          // A class with GPUs left over has the price 0.
          if (n < 0.999 * (one.classes.available[k] as number))
            expect((result.gpuPrices[k] as number) / result.bound).toBeCloseTo(0, 6);
        });
      }
    });

  for (const how of ['listed', 'priced'] as const)
    test(`of the price, with GPUs that are scarce and columns ${how}`, () => {
      let scarce = 0;
      let feasible = 0;
      for (let seed = 1; seed <= cases(15, 30); seed++) {
        const one = caseOf(seed, 'price', 0.5 + (seed % 5));
        const best = statedLp(one);
        if (best === 'infeasible') continue;
        feasible++;
        const result = solved(one, how);
        expect({ seed, bound: result.bound / best }).toEqual({ seed, bound: expect.closeTo(1, 6) });
        result.gpuPrices.forEach((price, k) => {
          const own = one.classes.unitCost[k] as number;
          expect(price).toBeGreaterThanOrEqual(own);
          if (price > own * (1 + 1e-6)) scarce++;
        });
      }
      expect(feasible).toBeGreaterThan(cases(3, 10));
      expect(scarce).toBeGreaterThan(cases(0, 3));
    });
});

describe('solveMaster() when it ends early', () => {
  test('proves a valid bound on the LP after one round', () => {
    for (const kind of ['throughput', 'price'] as const) {
      const one = caseOf(3, kind);
      const best = statedLp(one) as number;
      const sources = one.tables.map(
        (table) =>
          new ListedColumns(enumerateColumns(table, one.problem.planner, { limit: 1e5 }) as ColumnSet),
      );
      const { classes, tables, goal } = one;
      const early = solveMaster(highs, { classes, tables, sources, goal }, { stop: () => true });
      expect(early.rounds).toBe(1);
      const ratio = early.bound / best;
      if (kind === 'throughput') expect(ratio).toBeGreaterThanOrEqual(1 - 1e-9);
      else expect(ratio).toBeLessThanOrEqual(1 + 1e-9);
    }
  });

  test('ends once enough is reached, or once it is proven out of reach', () => {
    const one = caseOf(3, 'throughput');
    const best = statedLp(one) as number;
    const whole = solved(one, 'listed');
    const goal = one.goal as Extract<MasterGoal, { kind: 'throughput' }>;
    const enough = solved({ ...one, goal: { ...goal, enough: 0.1 * best } }, 'listed');
    expect(whole.rounds).toBeGreaterThan(1);
    expect(enough.rounds).toBe(1);
    expect(enough.bound).toBeGreaterThanOrEqual(best * (1 - 1e-9));
    const little = solved({ ...one, goal: { ...goal, tooLittle: 100 * best } }, 'listed');
    expect(little.bound).toBeGreaterThanOrEqual(best * (1 - 1e-9));
    expect(little.rounds).toBe(1);
  });

  test('needs no second round when it starts from the columns of its own answer', () => {
    const one = caseOf(3, 'throughput');
    const { classes, tables, goal, problem } = one;
    const sources = tables.map((table) => new LabelPricing(table, problem.planner));
    const { columns, bound } = solveMaster(highs, { classes, tables, sources, goal });
    const again = solveMaster(highs, { classes, tables, sources, goal }, { start: columns });
    expect(again.rounds).toBe(1);
    expect(again.bound / bound).toBeCloseTo(1, 9);
    expect(again.columns).toHaveLength(columns.length);
  });
});

describe('solveMaster() prices minimum shares', () => {
  test('so that model prices without shares differ where a share binds, and are the same where none does', () => {
    let cheaper = 0;
    for (let seed = 1; seed <= 8; seed++) {
      const { modelPrices, freeModelPrices, usePrices } = solved(caseOf(seed, 'throughput'), 'listed');
      const isAsked = usePrices.flat().some((price) => price > 0);
      if (!isAsked) expect(freeModelPrices).toEqual(modelPrices);
      freeModelPrices.forEach((price, m) => {
        // The columns that keep a share get part of its cost back.
        if (isAsked && Math.abs(price - (modelPrices[m] as number)) > 1e-9) cheaper++;
      });
    }
    expect(cheaper).toBeGreaterThan(0);
  });
});

describe('boundAt()', () => {
  const classes: ClassTable = { names: ['A', 'B'], available: [4, 10], perServer: [1, 1], unitCost: [0, 0] };

  test('is the worth of all GPUs over the cost of the models, for throughput', () => {
    const goal = { kind: 'throughput', weights: [2, 3] } as const;
    expect(boundAt(classes, goal, { perGpu: [5, 1], perModel: [0.1, 0.2] })).toBeCloseTo(30 / 0.8, 12);
    // A model without a weight does not count, even where it cannot be served.
    expect(
      boundAt(classes, { ...goal, weights: [2, 0] }, { perGpu: [5, 1], perModel: [0.1, Infinity] }),
    ).toBeCloseTo(150, 12);
    expect(boundAt(classes, goal, { perGpu: [5, 1], perModel: [0.1, Infinity] })).toBe(0);
    // Refunds may make a model's cost negative, which proves no more than a cost of 0.
    expect(boundAt(classes, goal, { perGpu: [5, 1], perModel: [-1, 0.2] })).toBeCloseTo(50, 12);
    expect(boundAt(classes, goal, { perGpu: [5, 1], perModel: [0, -1] })).toBe(Infinity);
  });

  test('is the cost of the rates less the scarcity of GPUs, for a price', () => {
    const priced = { ...classes, unitCost: [3, 1] };
    const goal = { kind: 'price', rps: [100, 50] } as const;
    expect(boundAt(priced, goal, { perGpu: [3, 1], perModel: [0.2, 0.4] })).toBeCloseTo(40, 12);
    expect(boundAt(priced, goal, { perGpu: [5, 1.5], perModel: [0.2, 0.4] })).toBeCloseTo(40 - 8 - 5, 12);
    expect(boundAt(priced, goal, { perGpu: [50, 1], perModel: [0.2, 0.4] })).toBe(0);
    expect(boundAt(priced, goal, { perGpu: [3, 1], perModel: [-1, 0.4] })).toBeCloseTo(20, 12);
  });

  test('is valid at any prices of GPUs, with every model at the price of its cheapest column', () => {
    for (let seed = 1; seed <= 15; seed += 2)
      for (const kind of ['throughput', 'price'] as const) {
        const one = caseOf(seed, kind);
        const best = statedLp(one);
        if (best === 'infeasible') continue;
        for (let i = 1; i <= 10; i++) {
          const perGpu = one.classes.unitCost.map((cost, k) => cost + ((i * (k + 3)) % 7) / 7);
          const perModel = one.columns.map((own) =>
            Math.min(
              ...own.map((column) =>
                gpusByClass(column, one.tables[column.model] as ModelTable, perGpu.length).reduce(
                  (sum, n, k) => sum + n * (perGpu[k] as number),
                  0,
                ),
              ),
            ),
          );
          const bound = boundAt(one.classes, one.goal, { perGpu, perModel });
          if (kind === 'throughput') expect(bound).toBeGreaterThanOrEqual(best * (1 - 1e-6));
          else expect(bound).toBeLessThanOrEqual(best * (1 + 1e-6));
        }
      }
  });
});
