import type { NoPlan, NoPlanReason } from '../../formats/index.js';
import type { InfeasibilityExplanation, PooledOutcome, PooledProblem } from '../../milp/index.js';
import type { PlanMissing } from '../spec-of.js';

/** Unplanned is the outcome of a search that gives no plan. */
export type Unplanned = Exclude<PooledOutcome, { status: 'optimal' | 'feasible' }>;

/** noPlanAnswer makes the answer to a spec without a plan: the reasons as codes, with names and figures. */
export function noPlanAnswer(
  outcome: Unplanned,
  { models }: PooledProblem,
  {
    explanation,
    notHeld,
  }: {
    readonly explanation?: InfeasibilityExplanation;
    /** The answer where plans were found, and none holds what it is to hold. */
    readonly notHeld?: Pick<NoPlan, 'notHeld' | 'reasons'>;
  } = {},
): PlanMissing['answer'] {
  const isProved = outcome.status === 'infeasible';
  return {
    status: outcome.status,
    ...(isProved || outcome.limit === undefined ? {} : { limit: outcome.limit }),
    reasons: isProved ? reasonsOf(outcome) : [],
    ...notHeld,
    models: models.map(({ name, spec: { sloMs } }, m) => {
      const smallest = isProved ? outcome.smallestFeasibleSloMs[m] : undefined;
      const feasible = explanation?.models[m]?.feasibleSloMs;
      return {
        name,
        sloMs,
        ...(smallest === undefined ? {} : { smallestFeasibleSloMs: smallest }),
        ...(feasible === undefined ? {} : { feasibleSloMs: feasible }),
      };
    }),
    ...(explanation === undefined ? {} : { explained: explanation.complete }),
    solver: outcome.solver,
  };
}

function reasonsOf({ reasons, causes = [] }: Extract<Unplanned, { status: 'infeasible' }>): NoPlanReason[] {
  return reasons.map((text, i) => ({ code: 'other', ...causes[i], text }));
}
