import type { DeviceClass } from '../artifacts/index.js';
import type { PlanOptions } from './options.js';
import type { PlanBody, PooledOutcome, PooledProblem } from './problem.js';
import { planPooled } from './solve.js';

/** Why a plan is as it is. */
export interface PlanExplanation {
  readonly classes: readonly ClassExplanation[];
  readonly models: readonly ModelExplanation[];
}

export interface ClassExplanation {
  readonly name: string;
  readonly used: number;
  readonly count: number;
  /** All its GPUs are used and one more would help. */
  readonly binds: boolean;
  /** Change of the LP's bound per GPU; throughput only. */
  readonly shadowPrice: number | undefined;
  /** Change of the objective's value with one GPU more and less, re-solved; undefined where that has no plan. */
  readonly oneMore: number | undefined;
  readonly oneLess: number | undefined;
  /** Where it is unused. */
  readonly whyUnused: string | undefined;
}

export interface ModelExplanation {
  readonly name: string;
  /** The longest of its pipelines, batch formation counted, and what the SLO leaves. */
  readonly slowestMs: number;
  readonly allowedMs: number;
  /** SLOs around the spec's at which the value changes: the next one below and above among those tried. */
  readonly tighterSloMs: number | undefined;
  readonly looserSloMs: number | undefined;
}

/** SLOs tried around the spec's, as parts of it. */
const SLO_STEPS = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5];

/** Values closer than this are the same plan's. */
const SAME = 1e-6;

/**
 * Explains a plan by re-solving its problem with one GPU more or less of each class and with other SLOs.
 * Cost: two solves per class and up to fourteen per model.
 */
export function explainPlan(problem: PooledProblem, plan: PlanBody, options: PlanOptions): PlanExplanation {
  const solve = (other: PooledProblem) => valueOfOutcome(planPooled(other, options));
  return {
    classes: Object.keys(problem.cluster.devices).map((name) => explainClass(problem, plan, name, solve)),
    models: problem.models.map((_, m) => explainModel(problem, plan, m, solve)),
  };
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
    return other === undefined ? undefined : other - plan.objective.value;
  };
  const oneMore = off(1);
  return {
    name,
    used,
    count,
    binds: used === count && oneMore !== undefined && Math.abs(oneMore) > SAME * plan.objective.value,
    shadowPrice: use?.shadowPrice,
    oneMore,
    oneLess: count > 0 ? off(-1) : undefined,
    whyUnused: used > 0 ? undefined : whyUnused(problem, name, use?.shadowPrice),
  };
}

function withCount(problem: PooledProblem, name: string, by: number): PooledProblem {
  const device = problem.cluster.devices[name] as DeviceClass;
  const devices = { ...problem.cluster.devices, [name]: { ...device, count: device.count + by } };
  return { ...problem, cluster: { ...problem.cluster, devices } };
}

function whyUnused(problem: PooledProblem, name: string, shadowPrice: number | undefined): string {
  const { count, taken = 0 } = problem.cluster.devices[name] as DeviceClass;
  if (count - taken === 0) return `all ${count} are taken`;
  const notes = problem.models.flatMap((model) =>
    model.classes.includes(name) ? [] : model.notes.filter((note) => note.includes(` ${name}: `)),
  );
  if (notes.length === problem.models.length) return notes.join('; ');
  if (shadowPrice !== undefined && shadowPrice > 0)
    return 'its GPUs are worth something only in fractions: too few of them to fill a pool';
  return problem.planner.objective === 'throughput'
    ? 'no pipeline with it meets an SLO and serves more than the others do without it'
    : 'others meet the rates at a lower price';
}

function explainModel(problem: PooledProblem, plan: PlanBody, m: number, solve: Solve): ModelExplanation {
  const model = problem.models[m] as PooledProblem['models'][number];
  const planned = plan.models[m];
  const perRequestUs = planned?.batchFormationUsPerRequest ?? 0;
  const takes = (planned?.pipelines ?? []).map(({ latencyUs, partitions }) => {
    const largest = Math.max(...partitions.map(({ batch }) => batch));
    return latencyUs + perRequestUs * (largest - 1);
  });
  const changes = (sign: number) => {
    for (const step of SLO_STEPS) {
      const sloUs = model.sloUs * (1 + sign * step);
      const value = solve(withSlo(problem, m, sloUs));
      if (value === undefined || Math.abs(value / plan.objective.value - 1) > SAME) return sloUs / 1000;
    }
    return undefined;
  };
  return {
    name: model.name,
    slowestMs: Math.max(0, ...takes) / 1000,
    allowedMs: (model.sloUs - model.sloMarginUs) / 1000,
    tighterSloMs: changes(-1),
    looserSloMs: changes(1),
  };
}

/** A margin in milliseconds stays, a fraction scales with the SLO. */
function withSlo(problem: PooledProblem, m: number, sloUs: number): PooledProblem {
  const models = problem.models.map((model, i) => {
    if (i !== m) return model;
    const fixed =
      model.spec.sloMarginMs !== undefined ||
      (model.spec.sloMargin === undefined && problem.planner.sloMarginMs !== undefined);
    const sloMarginUs = fixed ? model.sloMarginUs : (model.sloMarginUs / model.sloUs) * sloUs;
    return { ...model, sloUs, sloMarginUs, spec: { ...model.spec, sloMs: sloUs / 1000 } };
  });
  return { ...problem, models };
}
