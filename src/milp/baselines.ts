import { largestOf, pushAll, smallestOf } from '../collections/index.js';
import { fault, InputError } from '../formats/index.js';
import { type HighsEngine, LinearModel, milpWork, type Term } from '../lp/index.js';
import { type ColumnSet, enumerateColumns } from './columns/index.js';
import { dividedForPairs, type Replica } from './divided-for-pairs.js';
import { isOver, limitOf } from './integer/index.js';
import { withoutCuts } from './no-partitioning.js';
import type { PlanOptions } from './options.js';
import { Phases } from './phases.js';
import type { UsedColumn } from './plan/index.js';
import { assemblePlan } from './plan/index.js';
import type { PooledOutcome, PooledProblem } from './problem.js';
import { planPooled, tablesOf } from './solve.js';
import { classesOf, type ModelTable, type ProblemTables, powerOfTwo, type Slot } from './tables/index.js';
import { allowedSteps, type Stop, stopAfter } from './work.js';

/** Baseline is a planner of PPipe §7.1 that plans are compared with (see `planBaseline`). */
export type Baseline = 'no-partitioning' | 'dart-r';

/**
 * baselineProblem is the problem that a baseline's plan solves, and against which the plan is checked: whole GPUs,
 * blocks, and no cut for `no-partitioning` or at most one for `dart-r`. Classes without virtual size 1 keep theirs.
 */
export function baselineProblem(problem: PooledProblem, baseline: Baseline): PooledProblem {
  const whole = withoutCuts(problem);
  if (baseline === 'no-partitioning') return whole;
  return { ...whole, planner: { ...whole.planner, maxPartitions: 2 } };
}

/**
 * planBaseline plans the baselines of PPipe §7.1 as plans of the same kind. In `no-partitioning` every GPU runs whole
 * models. In `dart-r` pairs of GPUs of two classes run one partition each, and the remaining GPUs run whole models.
 * Several models first divide the GPUs as the no-partitioning plan does, and then the remainder evenly. Both use whole
 * GPUs only (except of classes without virtual size 1). The bound is that of the baseline, not of all plans, and
 * `baseline` in the plan says so. If `dart-r` is infeasible, its `smallestFeasibleSloMs` are undefined.
 * @throws InputError for `dart-r` with minimum shares or an objective other than throughput, and whatever `planPooled`
 *   throws
 */
export function planBaseline(
  problem: PooledProblem,
  baseline: Baseline,
  options: PlanOptions,
): PooledOutcome {
  if (baseline === 'dart-r') refuseForDart(problem);
  const outcome = planUnmarked(problem, baseline, options);
  if (outcome.status !== 'optimal' && outcome.status !== 'feasible') return outcome;
  const { kind, version, status, ...rest } = outcome.plan;
  return { ...outcome, plan: { kind, version, status, baseline, ...rest } };
}

/** A search lists at most this many pairs of GPUs of one model, with every cut and batch size. */
const MOST_PAIRS_LISTED = 5_000_000;

/** The MILP that counts pairs has one variable per pair of classes, so it needs few nodes. */
const MOST_NODES = 100_000;

function refuseForDart({ planner, models }: PooledProblem): void {
  const faults = [
    ...(planner.objective === 'throughput'
      ? []
      : [fault(`it serves as much as it can; the spec's objective is ${planner.objective}`)]),
    ...models.flatMap(({ name, minShare }) =>
      Object.keys(minShare).length === 0 ? [] : [fault(`it does not support minShare, which ${name} has`)],
    ),
  ];
  if (faults.length > 0) throw new InputError('plan the baseline dart-r', faults);
}

function planUnmarked(problem: PooledProblem, baseline: Baseline, options: PlanOptions): PooledOutcome {
  const whole = withoutCuts(problem);
  const outcome = planPooled(whole, options);
  if (
    baseline === 'no-partitioning' ||
    (outcome.status !== 'optimal' && outcome.status !== 'feasible' && outcome.status !== 'infeasible')
  )
    return outcome;
  const least = outcome.status === 'infeasible' ? 0 : outcome.plan.objective.value;
  return dart(problem, least, options);
}

function dart(problem: PooledProblem, least: number, options: PlanOptions): PooledOutcome {
  const phases = new Phases(options.clock);
  const pairs = baselineProblem(problem, 'dart-r');
  const classes = classesOf(pairs);
  const tables = tablesOf(pairs, options);
  const stop = stopAfter(allowedSteps(options.work), () => isOver(options, phases));
  const best = phases.time('pairs', () => bestReplicas({ classes, tables }, { pairs, least, stop }, options));
  const used = best ?? [];
  const solver = { ms: phases.elapsed(), phases: phases.ms, columns: used.length, rounds: 0, nodes: 0 };
  if (best === undefined) return { status: 'no-plan-in-time', limit: limitOf(options, phases), solver };
  const unknown = problem.models.map(() => undefined);
  if (used.length === 0) {
    const reasons = ['no pair of GPUs and no GPU alone meets the SLO'];
    return { status: 'infeasible', reasons, smallestFeasibleSloMs: unknown, solver };
  }
  const objective = { kind: problem.planner.objective, value: 0, bound: 0, gap: 0 };
  const facts = { used, status: 'optimal' as const, objective, reproducible: true, shadowPrices: [] };
  const plan = assemblePlan(pairs, { classes, tables }, facts);
  if (plan === undefined) throw new Error('a plan by pairs that cannot be placed');
  const value = smallestOf(plan.models.flatMap((m) => (m.weight > 0 ? [m.throughputRps / m.weight] : [])));
  if (value <= 0) {
    const idle = plan.models.filter((m) => m.weight > 0 && m.throughputRps === 0).map(({ name }) => name);
    const reasons = [`no pair of GPUs and no GPU alone of its share meets the SLO of ${idle.join(', ')}`];
    return { status: 'infeasible', reasons, smallestFeasibleSloMs: unknown, solver };
  }
  return {
    status: 'optimal',
    plan: { ...plan, objective: { ...objective, value, bound: value } },
    notes: [...new Set(problem.models.flatMap(({ notes }) => notes))],
    solver,
  };
}

/** ReplicaGoal is what the replicas of `dart-r` are chosen for. */
interface ReplicaGoal {
  readonly pairs: PooledProblem;
  /** The least throughput/weight of the plan without partitioning; 0 if there is none. */
  readonly least: number;
  readonly stop: Stop;
}

/** bestReplicas counts the pairs and single GPUs of every model. It returns undefined if it was stopped. */
function bestReplicas(
  { classes, tables }: ProblemTables,
  { pairs, least, stop }: ReplicaGoal,
  options: PlanOptions,
): UsedColumn[] | undefined {
  const used: UsedColumn[] = [];
  const replicas: Replica[][] = [];
  for (const table of tables) {
    const columns = enumerateColumns(table, pairs.planner, { limit: MOST_PAIRS_LISTED, stop });
    if (columns === undefined) return undefined;
    replicas.push(bestByClasses(table, columns));
  }
  const shares = dividedForPairs({ classes, tables, replicas, least }, options.highs);
  for (const [m, own] of replicas.entries()) {
    const counted = mostServed(own, shares[m] as number[], options.highs);
    if (counted === undefined) return undefined;
    pushAll(used, counted);
  }
  return used;
}

/** bestByClasses keeps for each GPU alone and each pair of classes the column that serves most. */
function bestByClasses(table: ModelTable, columns: ColumnSet): Replica[] {
  const kept = new Map<string, Replica>();
  for (let c = 0; c < columns.count; c++) {
    const column = columns.column(c);
    const classes = column.parts.map(({ slot }) => (table.slots[slot] as Slot).classIndex);
    if (new Set(classes).size < classes.length) continue;
    const rps = smallestOf(column.parts.map((part) => part.rps));
    const key = [...classes].sort().join();
    if (rps > (kept.get(key)?.rps ?? 0)) kept.set(key, { column, rps, classes });
  }
  return [...kept.values()];
}

/** mostServed counts the replicas that serve most with a model's GPUs. It returns undefined if the solver did not find out. */
function mostServed(
  items: readonly Replica[],
  gpus: readonly number[],
  highs: HighsEngine,
): UsedColumn[] | undefined {
  if (items.length === 0) return [];
  const model = new LinearModel();
  const counts = items.map(({ classes }) =>
    model.addVariable(`replicas[${classes.join('-')}]`, { integer: true }),
  );
  gpus.forEach((n, k) => {
    const terms = items.flatMap(({ classes }, i): Term[] =>
      classes.includes(k) ? [[counts[i] as number, 1]] : [],
    );
    model.addConstraint(`GPUs of class ${k}`, terms, { upper: n });
  });
  const unit = powerOfTwo(Math.max(0, largestOf(items.map(({ rps }) => rps))));
  model.addObjective(
    'maximize',
    items.map(({ rps }, i): Term => [counts[i] as number, rps / unit]),
  );
  const outcome = highs.solve(model, milpWork(MOST_NODES));
  if (outcome.status !== 'optimal') return undefined;
  return items.flatMap(({ column }, i): UsedColumn[] => {
    const n = Math.round(outcome.values[counts[i] as number] as number);
    return n > 0 ? [{ column, virtualGpus: column.parts.map(() => n) }] : [];
  });
}
