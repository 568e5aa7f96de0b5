import { largestOf } from '../../collections/index.js';
import type { DeviceClass } from '../../formats/index.js';
import type { PlanOptions } from '../options.js';
import type { PlanBody, PooledOutcome, PooledProblem, ProblemModel } from '../problem.js';
import { sloLeaving, withSlo } from '../slo.js';
import { planPooled } from '../solve.js';
import { unusableNote } from '../tables/index.js';
import { type AllowedValue, looserSlo } from './slo-search.js';

/** PlanExplanation says why a plan is as it is. */
export interface PlanExplanation {
  /** complete is false if an interruption ended the explanation: missing classes and models were not examined. */
  readonly complete: boolean;
  readonly classes: readonly ClassExplanation[];
  readonly models: readonly ModelExplanation[];
}

/** ClassExplanation says whether a device class limits the plan, by its whole GPUs in use and those that are free. */
export interface ClassExplanation {
  readonly name: string;
  readonly used: number;
  readonly count: number;
  /** binds is true if all free GPUs of the class are used and one more would change the objective's value. */
  readonly binds: boolean;
  /** The change of the LP's bound per GPU, for throughput only. */
  readonly shadowPrice: number | undefined;
  /**
   * The change of the objective's value with one GPU more or less, solved again; undefined if that has no plan. With
   * one less it is 0 for a class that has a GPU left over, and undefined for a class without GPUs.
   */
  readonly oneMore: number | undefined;
  readonly oneLess: number | undefined;
  /** The reason why the class is not used. */
  readonly whyUnused: string | undefined;
}

/** ModelExplanation says how an SLO limits a model, and which SLOs would change the plan. */
export interface ModelExplanation {
  readonly name: string;
  readonly sloMs: number;
  /** The latency of the slowest of its pipelines, with batch formation, and the time that the SLO allows. */
  readonly slowestMs: number;
  readonly allowedMs: number;
  /**
   * The smallest SLO at which this very plan holds, and the best value of the objective just below it (undefined if
   * there is no plan).
   */
  readonly tighterSloMs: number | undefined;
  readonly tighterValue: number | undefined;
  /**
   * An SLO, to within 1/200, from which on the objective is better than that of any plan at this SLO, and the
   * objective's value there.
   */
  readonly looserSloMs: number | undefined;
  readonly looserValue: number | undefined;
}

/** Values that differ by at most this part belong to the same plan. */
const SAME = 1e-6;

/** The next plan is sought this far below the SLO that a plan needs. */
const JUST_BELOW = 1e-6;

/**
 * explainPlan explains a plan by solving its problem again with one GPU more or less of each class and with other SLOs
 * (up to twice the spec's). It costs up to two solves per class and fifteen per model, by columns, whatever the
 * `formulation` of the options. If it is interrupted, it returns the classes and models that it has finished.
 */
export function explainPlan(problem: PooledProblem, plan: PlanBody, options: PlanOptions): PlanExplanation {
  const { onProgress, formulation: _, copies: __, ...quietly } = options;
  const solve: Solve = (other) => valueOfOutcome(planPooled(other, quietly));
  const stopped = () => options.interrupted?.() === true;
  const classes: ClassExplanation[] = [];
  const models: ModelExplanation[] = [];
  for (const name of Object.keys(problem.cluster.devices)) {
    onProgress?.({ phase: `explaining ${name}` });
    const explained = explainClass(problem, plan, name, solve);
    if (stopped()) return { complete: false, classes, models };
    classes.push(explained);
  }
  for (const [m, { name }] of problem.models.entries()) {
    onProgress?.({ phase: `explaining the SLO of ${name}` });
    const explained = explainModel(problem, plan, m, solve, stopped);
    if (stopped()) return { complete: false, classes, models };
    models.push(explained);
  }
  return { complete: true, classes, models };
}

type Solve = (problem: PooledProblem) => number | undefined;

function valueOfOutcome(outcome: PooledOutcome): number | undefined {
  return outcome.status === 'optimal' || outcome.status === 'feasible'
    ? outcome.plan.objective.value
    : undefined;
}

function explainClass(problem: PooledProblem, plan: PlanBody, name: string, solve: Solve): ClassExplanation {
  const use = plan.classes[name];
  const [used, count] = [use?.used ?? 0, use?.count ?? 0];
  const off = (by: number) => {
    const other = solve(withCount(problem, name, by));
    return other === undefined ? undefined : gainOf(plan, other - plan.objective.value, by);
  };
  const oneMore = off(1);
  return {
    name,
    used,
    count,
    binds: used === count && oneMore !== undefined && Math.abs(oneMore) > SAME * plan.objective.value,
    shadowPrice: use?.shadowPrice,
    oneMore,
    oneLess: used < count ? 0 : count > 0 ? off(-1) : undefined,
    whyUnused: used > 0 ? undefined : whyUnused(problem, name, use?.shadowPrice),
  };
}

/**
 * With one GPU more, the plan itself still holds, so a worse result comes only from the gap of the search. The same
 * holds the other way with one GPU less.
 */
function gainOf(plan: PlanBody, change: number, by: number): number {
  const rises = plan.objective.kind === 'throughput' ? by > 0 : by < 0;
  return rises ? Math.max(0, change) : Math.min(0, change);
}

function withCount(problem: PooledProblem, name: string, by: number): PooledProblem {
  const device = problem.cluster.devices[name] as DeviceClass;
  const devices = { ...problem.cluster.devices, [name]: { ...device, count: device.count + by } };
  return { ...problem, cluster: { ...problem.cluster, devices } };
}

function whyUnused(problem: PooledProblem, name: string, shadowPrice: number | undefined): string {
  const { count, taken = 0 } = problem.cluster.devices[name] as DeviceClass;
  if (count === 0) return 'the cluster has none';
  if (count - taken === 0) return `all ${count} are taken`;
  const notes = problem.models.flatMap((model) => unusableNote(problem.cluster, name, model) ?? []);
  if (notes.length === problem.models.length) return notes.join('; ');
  if (shadowPrice !== undefined && shadowPrice > 0)
    return 'its GPUs would help only in fractions: there are too few of them to fill a pool';
  return problem.planner.objective === 'throughput'
    ? 'no pipeline with it meets an SLO and serves more than the others do without it'
    : 'others meet the rates at a lower price';
}

function explainModel(
  problem: PooledProblem,
  plan: PlanBody,
  m: number,
  solve: Solve,
  stopped: () => boolean,
): ModelExplanation {
  const model = problem.models[m] as ProblemModel;
  const slowestUs = slowestOf(plan, m);
  const tighterUs = slowestUs > 0 ? sloLeaving(problem, m, slowestUs) : undefined;
  const at = (sloUs: number) => solve(withSlo(problem, m, sloUs));
  const isBetter = (value: AllowedValue) => value !== undefined && passes(plan, value);
  const looser = looserSlo(model.sloUs, { valueAt: at, accepts: isBetter, stopped });
  return {
    name: model.name,
    sloMs: model.sloUs / 1000,
    slowestMs: slowestUs / 1000,
    allowedMs: (model.sloUs - model.sloMarginUs) / 1000,
    tighterSloMs: tighterUs === undefined ? undefined : tighterUs / 1000,
    tighterValue: tighterUs === undefined ? undefined : at(tighterUs * (1 - JUST_BELOW)),
    looserSloMs: looser === undefined ? undefined : looser.sloUs / 1000,
    looserValue: looser?.value,
  };
}

/** The latency of the slowest of a model's pipelines, with the time that its largest batch takes to fill. */
function slowestOf(plan: PlanBody, m: number): number {
  const planned = plan.models[m];
  const perRequestUs = planned?.batchFormationUsPerRequest ?? 0;
  const takes = (planned?.pipelines ?? []).map(({ latencyUs, partitions }) => {
    const largest = largestOf(partitions.map(({ batch }) => batch));
    return latencyUs + perRequestUs * (largest - 1);
  });
  return Math.max(0, largestOf(takes));
}

/**
 * passes says whether a value is beyond the bound of the explained problem, so that no plan of it has this
 * value.
 */
function passes({ objective }: PlanBody, value: number): boolean {
  const { kind, bound } = objective;
  return kind === 'throughput' ? value > bound * (1 + SAME) : value < bound * (1 - SAME);
}
