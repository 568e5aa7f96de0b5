import { type DeviceProfile, layersBeforeBlocks, type PlanObjective } from '../formats/index.js';
import {
  type Column,
  type ColumnSource,
  enumerateColumns,
  LabelPricing,
  ListedColumns,
  plannedColumn,
  roundSteps,
} from './columns/index.js';
import { infeasibility } from './infeasible.js';
import {
  consistent,
  gapOf,
  type IntegerSearch,
  isMaximised,
  isOver,
  PROVEN,
  type SearchResult,
  SOLVER_TOLERANCE,
  searchPlan,
} from './integer/index.js';
import { lpBounds, type MasterResult } from './master/index.js';
import { withoutCuts } from './no-partitioning.js';
import type { PlanOptions, PlanProgress } from './options.js';
import { Phases } from './phases.js';
import { assemblePlan, inSpecUnits } from './plan/index.js';
import type {
  PlanBody,
  PooledOutcome,
  PooledProblem,
  ProblemModel,
  SearchLimit,
  SolverReport,
} from './problem.js';
import {
  type ClassTable,
  classesOf,
  type ModelTable,
  modelTable,
  normalised,
  type ProblemTables,
  type Scale,
} from './tables/index.js';
import { allowedSteps, stopAfter } from './work.js';

/** If there are too many columns to list, pricing starts from a plan with this many partitions. */
const START_PARTITIONS = 3;

/** At most this many columns of one model are listed; if there are more, they are priced. */
const MOST_LISTED = 400_000;

/** Listing looks at this many cuts at most. If most starts of a pipeline lead nowhere, pricing is quicker. */
const MOST_LISTING_STEPS = 1e8;

/**
 * planPooled plans pooled pipelines. An LP over columns (fully specified pipelines) gives a proven bound, and a search
 * over whole numbers gives the plan (PPipe §3, A.2). The same problem and options give the same plan, unless a time
 * limit or an interruption ended the search. The plan is not checked here: `checkedOutcome` does that.
 * @throws InputError for the literal formulation under `virtualPer: server`; Error if a bound and a plan contradict
 *   each other, which is a bug in the planner
 */
export function planPooled(problem: PooledProblem, options: PlanOptions): PooledOutcome {
  const relaxed = relaxation(problem, options);
  if (relaxed.status === 'infeasible') return relaxed.outcome;
  const { base, spec, master, steps, isStopped } = relaxed;
  base.options.onProgress?.({ phase: 'search', bound: master.bound });
  const search: IntegerSearch = { ...base, master, stop: stopAfter(steps, isStopped) };
  const result = base.phases.time('search', () => searchPlan(search));
  return outcome(search, spec, result);
}

/**
 * boundPooled gives a bound that no plan of the problem beats, and that fractions of GPUs reach: the LP's optimum, in
 * the unit of the objective. It takes a small part of the time of `planPooled`.
 * @returns undefined where the problem is infeasible in fractions of GPUs too
 */
export function boundPooled(problem: PooledProblem, options: PlanOptions): number | undefined {
  const relaxed = relaxation(problem, options);
  return relaxed.status === 'infeasible' ? undefined : relaxed.master.bound * relaxed.base.scale.value;
}

/** Relaxation is a problem with its tables, and the LP that bounds its plans, solved. */
type Relaxation =
  | { readonly status: 'infeasible'; readonly outcome: PooledOutcome }
  | {
      readonly status: 'bounded';
      readonly base: Omit<IntegerSearch, 'master' | 'stop'>;
      readonly spec: ProblemTables;
      readonly master: MasterResult;
      readonly steps: number;
      readonly isStopped: () => boolean;
    };

function relaxation(problem: PooledProblem, options: PlanOptions): Relaxation {
  const phases = new Phases(options.clock);
  const spec: ProblemTables = {
    classes: classesOf(problem),
    tables: phases.time('tables', () => tablesOf(problem, options)),
  };
  const kind = problem.planner.objective === 'throughput' ? 'throughput' : 'price';
  const { classes, tables, scale } = normalised(spec.classes, spec.tables, kind);
  options.onProgress?.({ phase: 'columns' });
  const isStopped = () => isOver(options, phases);
  const steps = allowedSteps(options.work);
  const sources = phases.time('columns', () =>
    tables.map((table) => sourceOf(problem, table, steps / tables.length, isStopped)),
  );
  const empty = tables.filter(
    (_, m) => (sources[m] as ColumnSource).cheapest(freePrices(classes), Infinity) === Infinity,
  );
  if (empty.some((table) => table.weight > 0 || table.rps !== undefined)) {
    const solver = report(phases, [], 0, 0);
    return { status: 'infeasible', outcome: infeasibility(problem, spec, { solver }) };
  }
  options.onProgress?.({ phase: 'bound' });
  const start = phases.time('start', () => startColumns(problem, tables, sources, options));
  const base = { problem, classes, tables, sources, scale, phases, options: inSearchUnits(options, scale) };
  const masters = phases.time('bound', () => bounds(base, start));
  const master = masters.at(-1) as MasterResult;
  if (masters.length > 1 && (masters[0] as MasterResult).bound < 1 - PROVEN) {
    const solver = report(phases, master.columns, master.rounds, 0);
    const outcome = infeasibility(problem, spec, { reach: masters[0], solver });
    return { status: 'infeasible', outcome };
  }
  return { status: 'bounded', base, spec, master, steps, isStopped };
}

/** Progress is reported in the units of the spec. */
function inSearchUnits(options: PlanOptions, { value: unit }: Scale): PlanOptions {
  const { onProgress } = options;
  if (onProgress === undefined) return options;
  const tell = ({ phase, value, bound }: PlanProgress) =>
    onProgress({
      phase,
      ...(value === undefined ? {} : { value: value * unit }),
      ...(bound === undefined ? {} : { bound: bound * unit }),
    });
  return { ...options, onProgress: tell };
}

/** layerNotes says which latencies of layers were not measured but shared out. */
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

/**
 * tablesOf makes the tables of all models, in the units of the spec. If a model's batch formation is estimated from the
 * plan without partitioning, that plan is solved first, for the highest throughput; if there is none, such models keep
 * only batches of one.
 */
export function tablesOf(problem: PooledProblem, options: PlanOptions): ModelTable[] {
  const estimates = needsEstimate(problem) ? noPartitioningRps(problem, options) : [];
  return problem.models.map((_, m) => modelTable(problem, m, estimates[m]));
}

function needsEstimate(problem: PooledProblem): boolean {
  return problem.models.some(
    ({ batchFormation }) => batchFormation !== 'none' && batchFormation.estimatedRps === 'no-partitioning',
  );
}

/** The throughput of each model if nothing is cut and batches need no time to fill. */
function noPartitioningRps(problem: PooledProblem, options: PlanOptions): number[] {
  const whole = withoutCuts(problem);
  const models = problem.models.map((model) => ({ ...model, batchFormation: 'none' as const }));
  const planner = { ...whole.planner, objective: 'throughput' as const };
  const { onProgress: _, formulation: __, ...quietly } = options;
  const outcome = planPooled({ ...whole, models, planner }, quietly);
  if (outcome.status !== 'optimal' && outcome.status !== 'feasible') return [];
  return outcome.plan.models.map(({ throughputRps }) => throughputRps);
}

/**
 * sourceOf lists all columns if they are made of blocks and few enough. Otherwise they are priced exactly over the
 * cuts.
 */
function sourceOf(
  { planner }: PooledProblem,
  table: ModelTable,
  steps: number,
  isStopped: () => boolean,
): ColumnSource {
  const listing = stopAfter(MOST_LISTING_STEPS, isStopped);
  const listed =
    planner.granularity === 'block'
      ? enumerateColumns(table, planner, { limit: MOST_LISTED, stop: listing })
      : undefined;
  if (listed !== undefined) return new ListedColumns(listed);
  return new LabelPricing(table, planner, stopAfter(steps, isStopped));
}

/**
 * startColumns gives the columns from which pricing starts if columns are not listed: the pipelines of the plan by
 * blocks, or of a plan with one partition less. So the result is never worse than that plan.
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
    const before = layered
      ? layersBeforeBlocks(profile.blocks)
      : [...profile.blocks.keys(), profile.blocks.length];
    return pipelines.flatMap(
      (one) => plannedColumn(tables[m] as ModelTable, { pipeline: one, before }, planner) ?? [],
    );
  });
}

/** bounds solves the LP that bounds all plans (see `lpBounds`), within the work that is allowed. */
function bounds(
  { problem, options, phases, classes, tables, sources }: Omit<IntegerSearch, 'master' | 'stop'>,
  start: readonly Column[],
): readonly MasterResult[] {
  const made = roundSteps(sources);
  const isLate = stopAfter(allowedSteps(options.work), () => isOver(options, phases));
  const { objective } = problem.planner;
  return lpBounds(
    options.highs,
    { classes, tables, sources, objective },
    { start, stop: () => isLate(made) },
  );
}

function report(phases: Phases, columns: readonly Column[], rounds: number, nodes: number): SolverReport {
  return { ms: phases.elapsed(), phases: phases.ms, columns: columns.length, rounds, nodes };
}

function outcome(search: IntegerSearch, spec: ProblemTables, result: SearchResult): PooledOutcome {
  const { problem, master, phases, scale } = search;
  const solver = report(phases, master.columns, master.rounds, result.nodes);
  // The LP met the rates, so there are too few whole GPUs.
  if (result.status === 'infeasible') return infeasibility(problem, spec, { solver });
  if (result.status === 'none') return { status: 'no-plan-in-time', limit: result.limit, solver };
  const bound = result.bound * scale.value;
  const objective = objectiveOf(search, result.value * scale.value, bound);
  const facts = {
    status: statusOf(result.limit, objective),
    objective,
    // A search that the clock cut short may find another plan next time, whatever its gap.
    reproducible: !clockEnded(result.limit) && !isOver(search.options, phases),
    shadowPrices: isMaximised(search) ? master.gpuPrices.map((price) => price * scale.value) : [],
  };
  const used = inSpecUnits(result.used, scale);
  const assembled = assemblePlan(problem, spec, { used, ...facts });
  if (assembled === undefined) return outcomeByPools(search, spec, bound);
  const plan = priced(search, spec, assembled, bound);
  const told = problem.models.flatMap((model) => [...model.notes, ...layerNotes(problem, model)]);
  return {
    status: plan.status,
    plan,
    ...(plan.status === 'optimal' ? {} : { limit: result.limit ?? ('gap' as const) }),
    notes: [...new Set(told)],
    solver,
  };
}

/** A plan without a gap is optimal, whatever ended the search. */
function statusOf(limit: SearchLimit | undefined, { gap }: PlanObjective): PlanBody['status'] {
  return limit === undefined || gap <= PROVEN ? 'optimal' : 'feasible';
}

function clockEnded(limit: SearchLimit | undefined): boolean {
  return limit === 'time' || limit === 'interrupted';
}

/**
 * Fractions of GPUs of unlike sizes may add up and still not fit on GPUs. Pools of whole GPUs always fit and keep every
 * rule, so they are planned instead.
 */
function outcomeByPools(search: IntegerSearch, spec: ProblemTables, bound: number): PooledOutcome {
  const { problem } = search;
  if (problem.planner.wholeGpusPer === 'pool') throw new Error('pools of whole GPUs that cannot be placed');
  const planner = { ...problem.planner, wholeGpusPer: 'pool' as const };
  const byPools = { ...search, problem: { ...problem, planner } };
  const pools = outcome(byPools, spec, searchPlan(byPools));
  if (pools.status !== 'optimal' && pools.status !== 'feasible') return pools;
  const objective = objectiveOf(search, pools.plan.objective.value, bound);
  const status = statusOf('gap', objective);
  const plan: PlanBody = {
    ...pools.plan,
    status,
    planner: { ...pools.plan.planner, wholeGpusPer: problem.planner.wholeGpusPer },
    objective,
  };
  if (status === 'feasible') return { ...pools, status, plan, limit: 'gap' };
  const { limit: _, ...proved } = pools;
  return { ...proved, status, plan };
}

/**
 * A plan's price is that of the GPUs that it occupies. These may be more than what its parts of GPUs add up to, and
 * then nothing proves it optimal.
 */
function priced(search: IntegerSearch, { classes }: ProblemTables, plan: PlanBody, bound: number): PlanBody {
  if (isMaximised(search)) return plan;
  const price = classes.names.reduce(
    (sum, name, k) => sum + (plan.classes[name]?.used ?? 0) * (classes.unitCost[k] as number),
    0,
  );
  const objective = objectiveOf(search, price, bound);
  return { ...plan, status: objective.gap <= PROVEN ? plan.status : 'feasible', objective };
}

function objectiveOf(search: IntegerSearch, value: number, proved: number): PlanObjective {
  const bound = consistent(search, { bound: proved, value, tolerance: SOLVER_TOLERANCE });
  const gap = Math.min(Number.MAX_VALUE, gapOf(search, value, bound));
  return { kind: search.problem.planner.objective, value, bound, gap };
}
