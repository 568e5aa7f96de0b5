import type { PlanOptions } from '../options.js';
import type { PooledOutcome, PooledProblem, ProblemModel } from '../problem.js';
import { planPooled } from '../solve.js';
import { looserSlo, withSlo } from './slo-search.js';

/** Why there is no plan, and which SLOs would have one. */
export interface InfeasibilityExplanation {
  /** False where an interruption ended the search for SLOs that do. */
  readonly complete: boolean;
  /** Per model and class, in people's terms. */
  readonly reasons: readonly string[];
  readonly models: readonly {
    readonly name: string;
    readonly sloMs: number;
    /** The smallest SLO any pipeline of this model meets; undefined where none does. */
    readonly smallestFeasibleSloMs: number | undefined;
    /** An SLO at which, with those of the other models, there is a plan; undefined where none was found. */
    readonly feasibleSloMs: number | undefined;
  }[];
}

type Infeasible = Extract<PooledOutcome, { status: 'infeasible' }>;

/** Room for the rounding of an SLO and its margin. */
const ROUNDING = 1e-9;

/**
 * Explains why a problem has no plan. SLOs that are too tight are raised to the smallest that any pipeline meets; where
 * there is no plan even then (too few GPUs), all are raised together, up to twice that. Cost: up to fifteen solves.
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

/** What the raised SLOs must be multiplied by; undefined where up to two does not help. */
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
  return looserSlo(1, valueAt, (value) => value !== undefined, stopped)?.sloUs;
}
