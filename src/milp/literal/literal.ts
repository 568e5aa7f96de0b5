import { pushAll } from '../../collections/index.js';
import {
  type HighsEngine,
  LinearModel,
  type SolveOutcome,
  type SolverOptions,
  type Term,
} from '../../lp/index.js';
import type { Column } from '../columns/index.js';
import { settledShares, type UsedColumn } from '../plan/index.js';
import type { PooledProblem, ResolvedPlanner } from '../problem.js';
import {
  type ClassTable,
  fitsMemory,
  type ModelTable,
  type ProblemTables,
  powerOfTwo,
  type Slot,
  slowerLink,
  spanUs,
  transferUs,
  virtualGpuRps,
} from '../tables/index.js';

/** Choice is one value of (v, b, i, j) of partition d of pipeline l, with its variables p and g. */
interface Choice {
  readonly slot: number;
  readonly batch: number;
  readonly first: number;
  readonly end: number;
  readonly rps: number;
  readonly latencyUs: number;
  readonly p: number;
  readonly g: number;
  /** The virtual GPUs that a unit of g stands for: v if each pool fills whole GPUs. */
  readonly perUnit: number;
}

/** Pipeline is a place for one pipeline, with a class for each partition. It may stay empty. */
interface Pipeline {
  readonly model: number;
  readonly name: string;
  readonly classes: readonly number[];
  readonly used: number;
  readonly x: number;
  readonly choices: Choice[][];
}

interface Literal {
  readonly model: LinearModel;
  readonly problem: PooledProblem;
  readonly classes: ClassTable;
  readonly tables: readonly ModelTable[];
  readonly pipelines: Pipeline[];
}

/** LiteralProblem is a problem with its tables. */
export interface LiteralProblem extends ProblemTables {
  readonly problem: PooledProblem;
}

/** LiteralOptions adds to the solver's limits the size of the formulation. */
export interface LiteralOptions extends SolverOptions {
  /** The number of pipelines of each sequence of classes. */
  readonly copies: number;
}

/** LiteralResult holds what the solver found, and the columns that its solution uses. */
export interface LiteralResult {
  readonly outcome: SolveOutcome;
  readonly used: readonly UsedColumn[];
}

/**
 * solveLiteral solves PPipe A.1/A.2 as printed, with one binary per (pipeline, partition, v, b, i, j), repaired where
 * it is too strict (docs/pooled-planner.md, Departures). A pipeline may be empty (Eqs. (2), (16) sum to `used` instead
 * of 1), the SLO binds only pipelines in use (an empty one has nothing to sum), and every sequence of classes has
 * several copies. Rows of our own are added: whole GPUs per pool, position or class, batch formation in (13), (27), the
 * link's share in X, minimum shares, prices. Small problems are checked against it; at ten blocks it has tens of
 * thousands of binaries. It does not state `virtualPer: server`; its caller refuses that.
 * @returns the solver's outcome, and the pipelines in use, which are none if it found no solution
 */
export function solveLiteral(
  engine: HighsEngine,
  problem: LiteralProblem,
  options: LiteralOptions,
): LiteralResult {
  const literal = literalModel(problem, options.copies);
  const outcome = engine.solve(literal.model, options);
  const found = outcome.status === 'optimal' || outcome.status === 'feasible';
  return { outcome, used: found ? settledShares(chosen(literal, outcome.values), problem.tables) : [] };
}

/** literalModel states the formulation of `solveLiteral` without solving it; `toText()` of its model prints it. */
export function literalModel({ problem, classes, tables }: LiteralProblem, copies: number): Literal {
  const literal: Literal = { model: new LinearModel(), problem, classes, tables, pipelines: [] };
  addPipelines(literal, copies);
  for (const pipeline of literal.pipelines) {
    addOneChoice(literal, pipeline);
    addAdjacency(literal, pipeline);
    addGpusOfChoice(literal, pipeline);
    addSlo(literal, pipeline);
    addThroughput(literal, pipeline);
  }
  addGpuCounts(literal);
  addMinShares(literal);
  addObjective(literal);
  return literal;
}

function addPipelines(literal: Literal, copies: number): void {
  const { model, tables, classes, problem } = literal;
  tables.forEach((table, m) => {
    for (const sequence of sequences(classes.names.length, problem.planner.maxPartitions))
      for (let copy = 0; copy < copies; copy++) {
        const name = `${m}.${sequence.map((k) => classes.names[k]).join('-')}.${copy}`;
        const used = model.addVariable(`used[${name}]`, { upper: 1, integer: true });
        const x = model.addVariable(`x[${name}]`);
        const choices = sequence.map((k, d) => choicesOf(literal, table, k, d, sequence.length, name));
        literal.pipelines.push({ model: m, name, classes: sequence, used, x, choices });
      }
  });
}

/**
 * Every sequence of 1 to `longest` classes. For two classes and three partitions, these are the paper's 14 pipelines.
 */
function sequences(count: number, longest: number): number[][] {
  let last: number[][] = [[]];
  const all: number[][] = [];
  for (let length = 1; length <= longest; length++) {
    last = last.flatMap((head) => Array.from({ length: count }, (_, k) => [...head, k]));
    pushAll(all, last);
  }
  return all;
}

/**
 * Eqs. (3), (17) demand i < j. By Eqs. (5), (6), (19), (20) the first partition begins with the model and the last ends
 * with it.
 */
function choicesOf(
  literal: Literal,
  table: ModelTable,
  k: number,
  d: number,
  length: number,
  name: string,
): Choice[] {
  const { cuts, slots, batches, units } = table;
  const choices: Choice[] = [];
  slots.forEach((slot, s) => {
    if (slot.classIndex !== k) return;
    batches.forEach((_, b) => {
      for (const first of cuts)
        for (const end of cuts)
          if (first < end && (d === 0) === (first === 0) && (d === length - 1) === (end === units)) {
            const choice = choiceOf(literal, table, s, b, first, end, `${name},${d}`);
            if (choice !== undefined) choices.push(choice);
          }
    });
  });
  return choices;
}

function choiceOf(
  { model, problem, classes }: Literal,
  table: ModelTable,
  s: number,
  b: number,
  first: number,
  end: number,
  name: string,
): Choice | undefined {
  const slot = table.slots[s] as Slot;
  const latencies = table.latencies[s * table.batches.length + b];
  if (latencies === undefined) return undefined;
  if (!fitsMemory(slot, (table.weightPrefix[end] as number) - (table.weightPrefix[first] as number)))
    return undefined;
  const latencyUs = spanUs(latencies, first, end);
  const size = table.batches[b] as number;
  const [inBytes, outBytes] = [table.cutBytes[first] as number, table.cutBytes[end] as number];
  const rps = virtualGpuRps(slot, size, latencyUs, inBytes, outBytes, problem.planner.linkThroughput);
  const perUnit = problem.planner.wholeGpusPer === 'pool' ? slot.virtual : 1;
  const most = ((classes.available[slot.classIndex] as number) * slot.virtual) / perUnit;
  const index = `${name},1/${slot.virtual},b${size},${first}..${end}`;
  const p = model.addVariable(`p[${index}]`, { upper: 1, integer: true });
  const g = model.addVariable(`g[${index}]`, { upper: most, integer: true });
  return { slot: s, batch: b, first, end, rps, latencyUs, p, g, perUnit };
}

/** addOneChoice adds Eqs. (2), (16), and allows an empty pipeline. */
function addOneChoice({ model }: Literal, { name, choices, used }: Pipeline): void {
  choices.forEach((list, d) => {
    const terms = list.map(({ p }): Term => [p, 1]);
    model.addConstraint(`(16)[${name},${d}]`, [...terms, [used, -1]], { lower: 0, upper: 0 });
  });
}

/**
 * addAdjacency adds Eqs. (4), (18): a partition begins where the previous one ends, at the same batch size if batches
 * are unified.
 */
function addAdjacency({ model, tables, problem }: Literal, { model: m, name, choices }: Pipeline): void {
  const { cuts, batches } = tables[m] as ModelTable;
  const apart = problem.planner.unifiedBatch ? batches.map((_, b) => [b]) : [batches.map((_, b) => b)];
  for (let d = 0; d + 1 < choices.length; d++)
    for (const cut of cuts)
      for (const group of apart) {
        const ends = (choices[d] as Choice[]).filter((c) => c.end === cut && group.includes(c.batch));
        const begins = (choices[d + 1] as Choice[]).filter((c) => c.first === cut && group.includes(c.batch));
        if (ends.length + begins.length === 0) continue;
        const terms: Term[] = [...ends.map(({ p }): Term => [p, 1]), ...begins.map(({ p }): Term => [p, -1])];
        model.addConstraint(`(18)[${name},${d},${cut},b${group.join('/')}]`, terms, { lower: 0, upper: 0 });
      }
}

/** addGpusOfChoice adds Eqs. (7), (8), (21), (22): a choice in use has at least one GPU, and any other has none. */
function addGpusOfChoice({ model }: Literal, { name, choices }: Pipeline): void {
  for (const { p, g } of choices.flat()) {
    model.addConstraint(
      `(21)[${name},${model.variableNames[p]}]`,
      [
        [g, 1],
        [p, -(model.upper[g] as number)],
      ],
      { upper: 0 },
    );
    model.addConstraint(
      `(22)[${name},${model.variableNames[p]}]`,
      [
        [g, 1],
        [p, -1],
      ],
      { lower: 0 },
    );
  }
}

/** addSlo adds Eqs. (10), (12), (13), (24), (26), (27), with the time that the largest batch takes to fill. */
function addSlo({ model, tables }: Literal, { model: m, name, classes, choices }: Pipeline): void {
  const table = tables[m] as ModelTable;
  // The SLO is counted in units near 10⁵, so that the solver's tolerance is far below the checker's.
  const unitUs = powerOfTwo(table.allowedUs) / 2 ** 17;
  const formation = model.addVariable(`batch formation[${name}]`);
  const fillUs = (b: number) =>
    Math.min(table.allowedUs * 2, table.allowedUs - (table.budgetUs[b] as number)) / unitUs;
  const terms: Term[] = [[formation, 1]];
  choices.forEach((list, d) => {
    const fills = list.map(({ p, batch }): Term => [p, -fillUs(batch)]);
    model.addConstraint(`batch formation[${name},${d}]`, [[formation, 1], ...fills], { lower: 0 });
    for (const choice of list) {
      const next = classes[d + 1];
      const link = next === undefined ? undefined : linkOf(table, choice.slot, next);
      const size = table.batches[choice.batch] as number;
      const crossUs = size * transferUs(table.cutBytes[choice.end] as number, link);
      terms.push([choice.p, (choice.latencyUs + crossUs) / unitUs]);
    }
  });
  model.addConstraint(`(27)[${name}]`, terms, { upper: table.allowedUs / unitUs });
}

function linkOf(table: ModelTable, from: number, toClass: number): number | undefined {
  const to = table.slots.find((slot) => slot.classIndex === toClass);
  return to === undefined ? undefined : slowerLink(table.slots[from] as Slot, to);
}

/** addThroughput adds Eqs. (11), (14), (25), (28). */
function addThroughput({ model }: Literal, { name, choices, x }: Pipeline): void {
  choices.forEach((list, d) => {
    const served = list.map(({ g, rps, perUnit }): Term => [g, -rps * perUnit]);
    model.addConstraint(`(28)[${name},${d}]`, [[x, 1], ...served], { upper: 0 });
  });
}

/** Eqs. (9), (23) are stated in whole GPUs, as `wholeGpusPer` says. */
function addGpuCounts(literal: Literal): void {
  const { model, classes, problem, tables } = literal;
  const totals: Term[][] = classes.names.map(() => []);
  const positions = new Map<string, Term[]>();
  for (const { model: m, classes: sequence, choices } of literal.pipelines)
    choices.forEach((list, d) => {
      const k = sequence[d] as number;
      const terms = list.map(
        ({ g, slot, perUnit }): Term => [
          g,
          perUnit / ((tables[m] as ModelTable).slots[slot] as Slot).virtual,
        ],
      );
      const key = wholeKey(problem.planner, m, d, k);
      if (key === undefined) pushAll(totals[k] ?? [], terms);
      else positions.set(key, [...(positions.get(key) ?? []), ...terms]);
    });
  for (const [key, terms] of positions) {
    const n = model.addVariable(`n[${key}]`, { integer: true });
    model.addConstraint(`whole GPUs[${key}]`, [...terms, [n, -1]], { upper: 0 });
    totals[Number(key.split('/')[0])]?.push([n, 1]);
  }
  totals.forEach((terms, k) => {
    model.addConstraint(`(23)[${classes.names[k]}]`, terms, { upper: classes.available[k] as number });
  });
}

/** The units of a pool are whole GPUs already. */
function wholeKey({ wholeGpusPer }: ResolvedPlanner, m: number, d: number, k: number): string | undefined {
  if (wholeGpusPer === 'pool') return undefined;
  return wholeGpusPer === 'position' ? `${k}/${m}/${d}` : `${k}`;
}

function addMinShares({ model, tables, classes, pipelines }: Literal): void {
  tables.forEach((table, m) => {
    classes.names.forEach((name, k) => {
      const share = table.minShare[k] as number;
      if (share === 0) return;
      const own = pipelines.filter((pipeline) => pipeline.model === m);
      const terms = own.map(({ x, classes: sequence }): Term => [x, (sequence.includes(k) ? 1 : 0) - share]);
      model.addConstraint(`share of ${name} in ${table.name}`, terms, { lower: 0 });
    });
  });
}

/**
 * Eqs. (1), (15) are the objective: the least throughput/weight of several models (§3), or the price of the GPUs in
 * use.
 */
function addObjective({ model, tables, classes, problem, pipelines }: Literal): void {
  const throughput = problem.planner.objective === 'throughput';
  const least = throughput ? model.addVariable('least throughput/weight') : undefined;
  tables.forEach(({ name, weight, rps }, m) => {
    const terms = pipelines.flatMap(({ model: own, x }): Term[] => (own === m ? [[x, 1]] : []));
    if (least !== undefined)
      model.addConstraint(`throughput of ${name}`, [...terms, [least, -weight]], { lower: 0 });
    else model.addConstraint(`throughput of ${name}`, terms, { lower: rps ?? 0 });
  });
  if (least !== undefined) {
    model.addObjective('maximize', [[least, 1]]);
    return;
  }
  const prices = classes.names.flatMap((name, k): Term[] => {
    const row = model.constraintNames.indexOf(`(23)[${name}]`);
    const terms: Term[] = [];
    for (let e = model.starts[row] as number; e < (model.starts[row + 1] as number); e++)
      terms.push([
        model.indices[e] as number,
        (model.coefficients[e] as number) * (classes.unitCost[k] as number),
      ]);
    return terms;
  });
  model.addObjective('minimize', prices);
}

/** chosen gives the pipelines in use as columns. */
function chosen({ pipelines, tables }: Literal, values: ArrayLike<number>): UsedColumn[] {
  return pipelines.flatMap(({ model, choices, used, x }): UsedColumn[] => {
    if (Math.round(values[used] as number) === 0) return [];
    const picked = choices.map(
      (list) => list.find(({ p }) => Math.round(values[p] as number) === 1) as Choice,
    );
    const table = tables[model] as ModelTable;
    const latencyUs = picked.reduce((sum, choice, d) => {
      const next = picked[d + 1];
      const link =
        next === undefined
          ? undefined
          : slowerLink(table.slots[choice.slot] as Slot, table.slots[next.slot] as Slot);
      const size = table.batches[choice.batch] as number;
      return sum + choice.latencyUs + size * transferUs(table.cutBytes[choice.end] as number, link);
    }, 0);
    const parts = picked.map(({ slot, batch, first, end, rps }) => ({ slot, batch, first, end, rps }));
    const column: Column = { model, parts, latencyUs };
    const shared = table.minShare.some((share) => share > 0);
    const rps = shared ? { rps: values[x] as number } : {};
    return [
      {
        ...rps,
        column,
        virtualGpus: picked.map(({ g, perUnit }) => Math.round(values[g] as number) * perUnit),
      },
    ];
  });
}
