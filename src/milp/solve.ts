import type { DeviceProfile, PlanObjective } from '../artifacts/index.js';
import {
  blockEnds,
  type Column,
  type ColumnSource,
  enumerateColumns,
  LabelPricing,
  ListedColumns,
  plannedColumn,
} from './columns/index.js';
import { infeasibility } from './infeasible.js';
import { type IntegerSearch, isOver, type SearchResult, searchPlan } from './integer/index.js';
import { type MasterGoal, type MasterResult, solveMaster } from './lp/index.js';
import { withoutCuts } from './no-partitioning.js';
import type { PlanOptions } from './options.js';
import { Phases } from './phases.js';
import { assemblePlan } from './plan/index.js';
import type {
  PlanBody,
  PooledOutcome,
  PooledProblem,
  ProblemModel,
  SearchLimit,
  SolverReport,
} from './problem.js';
import { type ClassTable, classTable, type ModelTable, modelTable } from './tables/index.js';

/** Partitions of the plan that pricing starts from, where columns are too many to list. */
const START_PARTITIONS = 3;

/** Columns of one model that are listed at most; past them they are priced. */
const MOST_LISTED = 400_000;

/**
 * Plans pooled pipelines: the LP over columns gives a proven bound, a search over integer counts the plan (DESIGN.md, idea
 * 2; PPipe §3, A.2). Same problem and options, same plan, unless a time limit or an interruption ended it.
 */
export function planPooled(problem: PooledProblem, options: PlanOptions): PooledOutcome {
  const phases = new Phases(options.clock);
  const classes = classTable(problem);
  const tables = phases.time('tables', () => tablesOf(problem, options));
  options.onProgress?.({ phase: 'columns' });
  const stop = () => isOver(options, phases);
  const sources = phases.time('columns', () => tables.map((table) => sourceOf(problem, table, stop)));
  const empty = tables.filter(
    (_, m) => (sources[m] as ColumnSource).cheapest(freePrices(classes), Infinity) === Infinity,
  );
  if (empty.some((table) => table.weight > 0 || table.rps !== undefined))
    return infeasibility(problem, classes, tables, [], report(phases, [], 0, 0));
  options.onProgress?.({ phase: 'bound' });
  const start = phases.time('start', () => startColumns(problem, tables, sources, options));
  const masters = phases.time('bound', () =>
    bounds(problem, options, phases, classes, tables, sources, start),
  );
  const master = masters.at(-1) as MasterResult;
  if (masters.length > 1 && (masters[0] as MasterResult).bound < 1 - 1e-9)
    return infeasibility(problem, classes, tables, masters, report(phases, master.columns, master.rounds, 0));
  options.onProgress?.({ phase: 'search', bound: master.bound });
  const search: IntegerSearch = { problem, classes, tables, sources, master, options, phases };
  const result = phases.time('search', () => searchPlan(search));
  return outcome(search, result);
}

/** Which latencies of layers were not measured but shared out. */
function layerNotes({ planner, cluster }: PooledProblem, { profile, classes, name }: ProblemModel): string[] {
  if (planner.granularity === 'block') return [];
  return classes.flatMap((device) => {
    const { blockLatencyUs, layerLatencyUs } = profile.devices[device] as DeviceProfile;
    const shared = (cluster.devices[device]?.virtual ?? [1]).flatMap((v) =>
      Object.keys(blockLatencyUs[v] ?? {})
        .filter((batch) => layerLatencyUs?.[v]?.[batch] === undefined)
        .map((batch) => `1/${v} batch ${batch}`),
    );
    const how = "its blocks' latencies shared out among their layers as measured at 1/1 batch 1";
    return shared.length === 0 ? [] : [`${name} on ${device}: layers at ${shared.join(', ')} are ${how}`];
  });
}

function freePrices(classes: ClassTable) {
  const zeros = new Array<number>(classes.names.length).fill(0);
  return { perGpu: zeros, perUse: zeros };
}

/** Tables of all models; batch formation that stands on the plan without partitioning solves that first. */
export function tablesOf(problem: PooledProblem, options: PlanOptions): ModelTable[] {
  const estimates = needsEstimate(problem) ? noPartitioningRps(problem, options) : [];
  return problem.models.map((_, m) => modelTable(problem, m, estimates[m]));
}

function needsEstimate(problem: PooledProblem): boolean {
  return problem.models.some(
    ({ batchFormation }) => batchFormation !== 'none' && batchFormation.estimatedRps === 'no-partitioning',
  );
}

/** Each model's throughput when nothing is cut and batches need no time to fill. */
function noPartitioningRps(problem: PooledProblem, options: PlanOptions): number[] {
  const whole = withoutCuts(problem);
  const models = problem.models.map((model) => ({ ...model, batchFormation: 'none' as const }));
  const planner = { ...whole.planner, objective: 'throughput' as const };
  const { onProgress: _, formulation: __, ...quietly } = options;
  const outcome = planPooled({ ...whole, models, planner }, quietly);
  if (outcome.status !== 'optimal' && outcome.status !== 'feasible') return [];
  return outcome.plan.models.map(({ throughputRps }) => throughputRps);
}

/** All columns where they are blocks and few enough; exact pricing over the cuts elsewhere. */
function sourceOf({ planner }: PooledProblem, table: ModelTable, stop: () => boolean): ColumnSource {
  const listed =
    planner.granularity === 'block' ? enumerateColumns(table, planner, MOST_LISTED, stop) : undefined;
  return listed === undefined ? new LabelPricing(table, planner, stop) : new ListedColumns(listed);
}

/**
 * What to start from where columns are not listed: the pipelines of the plan by blocks, or with one partition less. The plan
 * then never falls behind that one.
 */
function startColumns(
  problem: PooledProblem,
  tables: readonly ModelTable[],
  sources: readonly ColumnSource[],
  options: PlanOptions,
): Column[] {
  if (sources.every((source) => source instanceof ListedColumns)) return [];
  const layered = problem.planner.granularity === 'layer';
  const maxPartitions = layered
    ? problem.planner.maxPartitions
    : Math.min(START_PARTITIONS, problem.planner.maxPartitions - 1);
  if (maxPartitions === 0) return [];
  const planner = { ...problem.planner, granularity: 'block' as const, maxPartitions };
  const { onProgress: _, formulation: __, ...quietly } = options;
  const outcome = planPooled({ ...problem, planner }, quietly);
  if (outcome.status !== 'optimal' && outcome.status !== 'feasible') return [];
  return outcome.plan.models.flatMap(({ pipelines }, m) => {
    const { profile } = problem.models[m] as ProblemModel;
    const ends = layered ? blockEnds(profile) : Int32Array.from(profile.blocks, (___, b) => b + 1);
    return pipelines.flatMap((one) => plannedColumn(tables[m] as ModelTable, planner, one, ends) ?? []);
  });
}

/** The LP bound; for cost and power first whether the rates can be met at all. */
function bounds(
  { planner, models }: PooledProblem,
  options: PlanOptions,
  phases: Phases,
  classes: ClassTable,
  tables: readonly ModelTable[],
  sources: readonly ColumnSource[],
  known: readonly Column[],
): MasterResult[] {
  const stop = () => isOver(options, phases);
  // How much can be served knows no prices.
  const free: ClassTable = { ...classes, unitCost: classes.names.map(() => 0) };
  const solve = (goal: MasterGoal, start: readonly Column[]) =>
    solveMaster(options.highs, goal.kind === 'price' ? classes : free, tables, sources, goal, start, stop);
  if (planner.objective === 'throughput')
    return [solve({ kind: 'throughput', weights: models.map(({ weight }) => weight) }, known)];
  const rps = models.map((model) => model.rps ?? 0);
  const reach = solve({ kind: 'throughput', weights: rps, enough: 1 }, known);
  return reach.bound < 1 ? [reach, reach] : [reach, solve({ kind: 'price', rps }, reach.columns)];
}

function report(phases: Phases, columns: readonly Column[], rounds: number, nodes: number): SolverReport {
  return { ms: phases.elapsed(), phases: phases.ms, columns: columns.length, rounds, nodes };
}

function outcome(search: IntegerSearch, result: SearchResult): PooledOutcome {
  const { problem, classes, tables, master, phases } = search;
  const solver = report(phases, master.columns, master.rounds, result.nodes);
  if (result.status === 'infeasible') return infeasibility(problem, classes, tables, [master], solver);
  if (result.status === 'none') return { status: 'no-plan-in-time', limit: result.limit, solver };
  const facts = {
    status: result.limit === undefined ? ('optimal' as const) : ('feasible' as const),
    objective: objectiveOf(problem, result.value, result.bound),
    // What the clock cut short may have led elsewhere, whatever the gap it came to.
    reproducible: !clockEnded(result.limit) && !isOver(search.options, phases),
    shadowPrices: problem.planner.objective === 'throughput' ? master.gpuPrices : [],
  };
  const assembled = assemblePlan(problem, classes, tables, result.used, facts);
  if (assembled === undefined) return outcomeByPools(search, result.bound);
  const plan = priced(search, assembled, result.bound);
  const notes = problem.models.flatMap((model) => [...model.notes, ...layerNotes(problem, model)]);
  return {
    status: plan.status,
    plan,
    ...(result.limit === undefined ? {} : { limit: result.limit }),
    notes,
    solver,
  };
}

function clockEnded(limit: SearchLimit | undefined): boolean {
  return limit === 'time' || limit === 'interrupted';
}

/** Fractions of unlike sizes that add up may still not fit GPUs: pools of whole GPUs always do, and keep every rule. */
function outcomeByPools(search: IntegerSearch, bound: number): PooledOutcome {
  const { problem } = search;
  if (problem.planner.wholeGpusPer === 'pool') throw new Error('pools of whole GPUs that cannot be placed');
  const planner = { ...problem.planner, wholeGpusPer: 'pool' as const };
  const pools = outcome(
    { ...search, problem: { ...problem, planner } },
    searchPlan({ ...search, problem: { ...problem, planner } }),
  );
  if (pools.status !== 'optimal' && pools.status !== 'feasible') return pools;
  const { value } = pools.plan.objective;
  const objective = objectiveOf(problem, value, bound);
  const plan: PlanBody = {
    ...pools.plan,
    status: 'feasible',
    planner: { ...pools.plan.planner, wholeGpusPer: problem.planner.wholeGpusPer },
    objective,
  };
  return { ...pools, status: 'feasible', plan, limit: 'gap' };
}

/** A price is that of the GPUs the plan occupies. */
function priced({ problem, classes }: IntegerSearch, plan: PlanBody, bound: number): PlanBody {
  if (problem.planner.objective === 'throughput') return plan;
  const price = classes.names.reduce(
    (sum, name, k) => sum + (plan.classes[name]?.used ?? 0) * (classes.unitCost[k] as number),
    0,
  );
  return { ...plan, objective: objectiveOf(problem, price, Math.min(bound, price)) };
}

function objectiveOf({ planner }: PooledProblem, value: number, bound: number): PlanObjective {
  const gap = planner.objective === 'throughput' ? bound / value - 1 : value / bound - 1;
  return { kind: planner.objective, value, bound, gap: value === bound ? 0 : Math.max(0, gap) };
}
