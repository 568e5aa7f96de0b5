import { beforeAll, describe, expect, test } from 'vitest';
import { randomProblem } from '../../../bench/refute/pooled/random-problem.js';
import type { OpenModel, SolveOutcome, SolverOptions } from '../../../src/lp/highs.js';
import { type HighsEngine, loadHighs } from '../../../src/lp/index.js';
import type { ColumnSource } from '../../../src/milp/columns/column-source.js';
import { ListedColumns } from '../../../src/milp/columns/column-source.js';
import { type Column, type ColumnSet, enumerateColumns } from '../../../src/milp/columns/columns.js';
import { LabelPricing } from '../../../src/milp/columns/label-pricing.js';
import { boundAt, type MasterProblem, solveMaster } from '../../../src/milp/master/master.js';
import { classesOf, modelTable } from '../../../src/milp/tables/tables.js';
import { cases } from '../../cases.js';
import { type ModelByHand, problemByHand } from '../by-hand.js';

let highs: HighsEngine;
beforeAll(async () => {
  highs = await loadHighs();
});

/** A GPU of A serves 1000 requests per second of m and 500 of n, and one of B serves 400 and 500. */
const MODELS: readonly ModelByHand[] = [
  { name: 'm', sloMs: 9, rps: 100, latencyUs: { A: { 1: { 1: [1000] } }, B: { 1: { 1: [2500] } } } },
  { name: 'n', sloMs: 9, rps: 50, latencyUs: { A: { 1: { 1: [2000] } }, B: { 1: { 1: [2000] } } } },
];
const DEVICES = { A: { count: 2, hourlyCost: 3 }, B: { count: 4, hourlyCost: 2 } };

function masterOf(
  objective: 'throughput' | 'cost',
  models: readonly ModelByHand[] = MODELS,
  devices: Parameters<typeof problemByHand>[0] = DEVICES,
): MasterProblem {
  const problem = problemByHand(devices, models, { objective, maxPartitions: 1 });
  const classes = classesOf(problem);
  const tables = problem.models.map((_, m) => modelTable(problem, m));
  const sources = tables.map(
    (table) => new ListedColumns(enumerateColumns(table, problem.planner, { limit: 100 }) as ColumnSet),
  );
  const goal =
    objective === 'throughput'
      ? { kind: 'throughput' as const, weights: tables.map(({ weight }) => weight) }
      : { kind: 'price' as const, rps: tables.map(({ rps = 0 }) => rps) };
  return { classes, tables, sources, goal };
}

/** An engine whose open models come to these ends, one after another and then the last again and again. */
function ending(outcomes: readonly (SolveOutcome | 'solve')[]) {
  const seen = { opened: 0, closed: 0, columns: 0, options: [] as (SolverOptions | undefined)[] };
  const engine: HighsEngine = {
    ...highs,
    open: (model) => {
      const open = highs.open(model);
      seen.opened += 1;
      const solve: OpenModel['solve'] = (options) => {
        const end = outcomes[Math.min(seen.options.length, outcomes.length - 1)] as SolveOutcome | 'solve';
        seen.options.push(options);
        return end === 'solve' ? open.solve(options) : end;
      };
      const addColumns: OpenModel['addColumns'] = (columns) => {
        seen.columns += columns.costs.length;
        open.addColumns(columns);
      };
      const close = () => {
        seen.closed += 1;
        open.close();
      };
      return { ...open, solve, addColumns, close };
    },
  };
  return { engine, seen };
}

const STOPPED: SolveOutcome = { status: 'stopped', limit: 'iterations', nodes: 0 };

describe('solveMaster() where the solver solves no LP', () => {
  test.each<[string, SolveOutcome]>([
    ['it stopped', STOPPED],
    ['it failed', { status: 'failed', message: 'out of memory' }],
    ['its LP has no solution', { status: 'infeasible' }],
    [
      'it has no prices',
      { status: 'optimal', objective: 0, bound: 0, values: new Float64Array(9), nodes: 0 },
    ],
  ])('counts every GPU at its own price because %s', (_, end) => {
    const { engine, seen } = ending([end]);
    const price = solveMaster(engine, masterOf('cost'));
    // 100 requests per second on a tenth of an A for 0.3, and 50 on a tenth of a B for 0.2.
    expect(price).toMatchObject({
      bound: expect.closeTo(0.5, 12),
      rps: [],
      gpuPrices: [3, 2],
      usePrices: [
        [0, 0],
        [0, 0],
      ],
      rounds: 1,
    });
    expect(price.modelPrices).toEqual([expect.closeTo(0.003, 12), expect.closeTo(0.004, 12)]);
    expect(price.freeModelPrices).toEqual(price.modelPrices);
    expect(price.columns).toHaveLength(4);
    const most = solveMaster(engine, masterOf('throughput'));
    expect(most).toMatchObject({ bound: Infinity, gpuPrices: [0, 0], modelPrices: [0, 0], rounds: 1 });
    expect(seen).toMatchObject({ opened: 2, closed: 2 });
  });

  test('keeps what the rounds before have proved', () => {
    // Four of A serve 2000 of n, and all of B 1600 of m: both bind, until n is known on B as well.
    const master = masterOf('throughput', MODELS, { A: { count: 4 }, B: { count: 4 } });
    const whole = solveMaster(highs, master);
    const [m, n] = master.sources.map((source) => (source as ListedColumns).set);
    const start = [m!.column(0), m!.column(1), n!.column(0)];
    const { engine } = ending(['solve', STOPPED]);
    const part = solveMaster(engine, master, { start });
    expect(part.rounds).toBe(2);
    expect(part.rps).toEqual([]);
    expect(part.bound).toBeGreaterThan(whole.bound * (1 + 1e-9));
    expect(part.bound).toBeLessThan(Infinity);
  });

  test('closes the model even where the solver throws, and limits every LP', () => {
    const { engine, seen } = ending(['solve']);
    const sources = [{ cheaperThan: () => [] }] as unknown as ColumnSource[];
    expect(() => solveMaster(engine, { ...masterOf('throughput'), sources })).toThrow();
    expect(seen).toMatchObject({ opened: 1, closed: 1, options: [{ maxIterations: 50_000 }] });
  });
});

describe('solveMaster() gives the prices that prove its bound', () => {
  test('whichever round they are of', () => {
    const shape = { classes: 2, blocks: 4, batches: 2, virtual: [1, 2], models: 2, mostGpus: 4 };
    let rounds = 0;
    for (const seed of cases([4, 5], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]))
      for (const after of [2, Infinity]) {
        const problem = randomProblem(seed, shape, { maxPartitions: 2 });
        const classes = classesOf(problem);
        const tables = problem.models.map((_, m) => modelTable(problem, m));
        const sources = tables.map((table) => new LabelPricing(table, problem.planner));
        const goal = { kind: 'throughput' as const, weights: tables.map(({ weight }) => weight) };
        let asked = 0;
        const stop = () => ++asked >= after;
        const result = solveMaster(highs, { classes, tables, sources, goal }, { stop });
        const proved = boundAt(classes, goal, { perGpu: result.gpuPrices, perModel: result.modelPrices });
        if (Number.isFinite(result.bound)) expect(proved / result.bound).toBeCloseTo(1, 8);
        else expect(proved).toBe(Infinity);
        rounds = Math.max(rounds, result.rounds);
      }
    expect(rounds).toBeGreaterThan(2);
  });
});

describe('solveMaster() bounds by the tightest of all rounds', () => {
  // The rows are the GPUs of A, those of B, and the rate of m.
  const solvedWith = (rowDuals: readonly number[], objective = 0): SolveOutcome => ({
    status: 'optimal',
    objective,
    bound: objective,
    values: new Float64Array(9),
    rowDuals: Float64Array.from(rowDuals),
    nodes: 0,
  });

  /** furtherColumns has another column whenever it is asked, which changes no price. */
  const furtherColumns = (listed: ListedColumns): ColumnSource => {
    const whole = listed.set.column(0);
    let made = 0;
    const further = (): { column: Column; price: number } => {
      made += 1;
      return { column: { ...whole, parts: whole.parts.map((part) => ({ ...part, batch: made })) }, price: 0 };
    };
    return {
      cheapest: (prices, known) => listed.cheapest(prices, known),
      cheaperThan: () => [further()],
      cheapestOf: () => [further()],
    };
  };

  const solvedBy = (master: MasterProblem, outcomes: readonly SolveOutcome[]) => {
    const sources = master.sources.map((source) => furtherColumns(source as ListedColumns));
    let asked = 0;
    const stop = () => ++asked >= outcomes.length;
    return solveMaster(ending(outcomes).engine, { ...master, sources }, { stop });
  };

  /** Two of A and four of B serve 3600. At equal prices they bound 6 / 0.001, and where B is too cheap 2.8 / 0.0005. */
  const OF_RATE = [
    [1, 1, -1],
    [1, 0.4, -1],
    [1, 0.2, -1],
  ];

  test.each([
    { objective: 'throughput' as const, rps: 1, duals: OF_RATE, bounds: [6000, 3600, 5600] },
    {
      // The two of A serve 2000, and one of B the other 400. Where A costs 3, 5 and 7, a request costs 0.003, 0.005 and 0.005.
      objective: 'cost' as const,
      rps: 2400,
      duals: [
        [0, 0, 1],
        [-2, 0, 1],
        [-4, 0, 1],
      ],
      bounds: [7.2, 8, 4],
    },
  ])('of the $objective, though a later one proves less', ({ objective, rps, duals, bounds }) => {
    const master = masterOf(objective, [{ ...MODELS[0]!, rps }]);
    const boundOf = (rounds: readonly (readonly number[])[]) => {
      const result = solvedBy(
        master,
        rounds.map((one) => solvedWith(one)),
      );
      expect(result.rounds).toBe(rounds.length);
      const prices = { perGpu: result.gpuPrices, perModel: result.modelPrices };
      expect(boundAt(master.classes, master.goal, prices) / result.bound).toBeCloseTo(1, 9);
      return Number(result.bound.toPrecision(9));
    };
    expect(duals.map((one) => boundOf([one]))).toEqual(bounds);
    expect([1, 2, 3].map((rounds) => boundOf(duals.slice(0, rounds)))).toEqual([
      bounds[0],
      bounds[1],
      bounds[1],
    ]);
  });

  test('and ends once an LP reaches what a round before has proved', () => {
    const outcomes = [...OF_RATE, ...OF_RATE].map((duals, round) => solvedWith(duals, round < 2 ? 0 : 3600));
    const { rounds, bound } = solvedBy(masterOf('throughput', [MODELS[0]!]), outcomes);
    expect([rounds, bound]).toEqual([3, expect.closeTo(3600, 6)]);
  });
});

describe('solveMaster() of a price', () => {
  test('comes to the same from whichever columns it starts, and never bounds above it', () => {
    const master = masterOf('cost');
    const listed = master.sources.flatMap((source) => {
      const { set } = source as ListedColumns;
      return Array.from({ length: set.count }, (_, c) => set.column(c));
    });
    for (const start of [listed, [listed[1]!, listed[2]!], [listed[0]!, listed[3]!]]) {
      const whole = solveMaster(highs, master, { start });
      // The A and the B that are cheapest for each model are there.
      expect(whole.bound).toBeCloseTo(0.5, 9);
      expect(whole.gpuPrices).toEqual([expect.closeTo(3, 9), expect.closeTo(2, 9)]);
      expect(whole.modelPrices).toEqual([expect.closeTo(0.003, 9), expect.closeTo(0.004, 9)]);
      expect(solveMaster(highs, master, { start, stop: () => true }).bound).toBeLessThanOrEqual(0.5 + 1e-9);
    }
    expect(solveMaster(highs, master, { start: [listed[1]!, listed[2]!] }).rounds).toBe(2);
  });

  test('counts what the scarcity of a class adds to the price of its GPUs', () => {
    // A alone serves 2000; what is asked for beyond that is served by B, at 2/400 instead of 3/1000 each.
    const models = [{ ...MODELS[0]!, rps: 2400 }];
    const master = masterOf('cost', models);
    const { gpuPrices, bound, modelPrices } = solveMaster(highs, master);
    expect(bound).toBeCloseTo(2 * 3 + 2, 6);
    expect(gpuPrices).toEqual([expect.closeTo(5, 6), expect.closeTo(2, 6)]);
    expect(modelPrices).toEqual([expect.closeTo(0.005, 9)]);
  });
});

describe('solveMaster() ends', () => {
  test('after 200 rounds, though its columns get better and better', () => {
    const master = masterOf('throughput', [MODELS[0]!]);
    const whole = (master.sources[0] as ListedColumns).set.column(0);
    let made = 0;
    // A source that finds a little better column every time it is asked.
    const better = (): { column: Column; price: number } => {
      made += 1;
      const parts = whole.parts.map((part) => ({ ...part, batch: made, rps: part.rps * (1 + made / 1000) }));
      return { column: { ...whole, parts }, price: 1 / parts[0]!.rps };
    };
    const source: ColumnSource = {
      cheapest: () => 1e-6,
      cheaperThan: () => [better()],
      cheapestOf: () => [better()],
    };
    // The rows are the GPUs of A, those of B, and the throughput; the LP always says the same of them.
    const { engine } = ending([
      {
        status: 'optimal',
        objective: 1,
        bound: 1,
        values: new Float64Array(9),
        rowDuals: Float64Array.of(1e-3, 1e-3, -1e-3),
        nodes: 0,
      },
    ]);
    const { rounds, bound, columns } = solveMaster(engine, { ...master, sources: [source] });
    expect(rounds).toBe(200);
    expect(columns.length).toBeGreaterThan(199);
    expect(bound).toBeGreaterThan(0);
  });

  test('without columns that need so many GPUs that no solver takes them', () => {
    const slow = [
      { ...MODELS[0]!, sloMs: 1e18, latencyUs: { A: { 1: { 1: [1000] } }, B: { 1: { 1: [2e17] } } } },
    ];
    const { columns, bound } = solveMaster(highs, masterOf('cost', slow));
    expect(columns.map(({ parts }) => parts[0]?.rps)).toEqual([expect.closeTo(1000, 9)]);
    expect(bound).toBeCloseTo(0.3, 9);
  });
});
