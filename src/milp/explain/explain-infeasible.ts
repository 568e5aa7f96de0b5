import type { PlanOptions } from '../options.js';
import type { PooledOutcome, PooledProblem, ProblemModel } from '../problem.js';
import { withSlo } from '../slo.js';
import { planPooled } from '../solve.js';
import { looserSlo } from './slo-search.js';

/** InfeasibilityExplanation says why there is no plan, and with which SLOs there would be one. */
export interface InfeasibilityExplanation {
  /** complete is false if an interruption ended the search for SLOs that have a plan. */
  readonly complete: boolean;
  /** The reasons per model and class, as sentences. */
  readonly reasons: readonly string[];
  readonly models: readonly {
    readonly name: string;
    readonly sloMs: number;
    /** The smallest SLO that any pipeline of this model meets; undefined if there is none. */
    readonly smallestFeasibleSloMs: number | undefined;
    /** An SLO at which there is a plan, if the other models get theirs too; undefined if none was found. */
    readonly feasibleSloMs: number | undefined;
  }[];
}

type Infeasible = Extract<PooledOutcome, { status: 'infeasible' }>;

/** Rounding may change an SLO and its margin by this part. */
const ROUNDING = 1e-9;

/**
 * explainInfeasible repeats the reasons of an infeasible outcome and looks for SLOs that have a plan. SLOs that are too
 * tight are raised to the smallest that any pipeline may meet. If there is still no plan (too few GPUs), all are raised
 * together, by a factor of up to two. It looks for none if a model meets no SLO at all. It costs up to fifteen solves
 * by columns, whatever the `formulation` of the options.
 */
export function explainInfeasible(
  problem: PooledProblem,
  { reasons, smallestFeasibleSloMs }: Infeasible,
  options: PlanOptions,
): InfeasibilityExplanation {
  const { onProgress, formulation: _, copies: __, ...quietly } = options;
  const stopped = () => options.interrupted?.() === true;
  onProgress?.({ phase: 'looking for SLOs that have a plan' });
  const hopeless = smallestFeasibleSloMs.some((slo) => slo === undefined);
  const factor = hopeless ? undefined : feasibleFactor(problem, smallestFeasibleSloMs, quietly, stopped);
  const models = problem.models.map((model, m) => {
    const smallest = smallestFeasibleSloMs[m];
    return {
      name: model.name,
      sloMs: model.spec.sloMs,
      smallestFeasibleSloMs: smallest,
      feasibleSloMs: factor === undefined ? undefined : (raised(model, smallest) * factor) / 1000,
    };
  });
  return { complete: factor !== undefined || !stopped(), reasons, models };
}

function raised(model: ProblemModel, smallestMs: number | undefined): number {
  return Math.max(model.sloUs, (smallestMs ?? 0) * 1000 * (1 + ROUNDING));
}

/** The factor for the raised SLOs; undefined if no factor up to two helps. */
function feasibleFactor(
  problem: PooledProblem,
  smallestMs: readonly (number | undefined)[],
  options: PlanOptions,
  stopped: () => boolean,
): number | undefined {
  const valueAt = (factor: number) => {
    const others = problem.models.reduce(
      (changed, model, m) => withSlo(changed, m, raised(model, smallestMs[m]) * factor),
      problem,
    );
    const outcome = planPooled(others, options);
    return outcome.status === 'optimal' || outcome.status === 'feasible' ? factor : undefined;
  };
  const found = valueAt(1);
  if (found !== undefined || stopped()) return found;
  return looserSlo(1, { valueAt, accepts: (value) => value !== undefined, stopped })?.sloUs;
}
