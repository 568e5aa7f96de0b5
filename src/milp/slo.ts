import type { PooledProblem, ProblemModel } from './problem.js';

/** A margin in milliseconds is the same at any SLO; a fraction scales with the SLO. */
function marginIsFixed({ planner, models }: PooledProblem, m: number): boolean {
  const { spec } = models[m] as ProblemModel;
  return (
    spec.sloMarginMs !== undefined || (spec.sloMargin === undefined && planner.sloMarginMs !== undefined)
  );
}

/**
 * withSlo is the same problem with another SLO for model m. A margin in milliseconds stays the same; a fraction scales
 * with the SLO.
 */
export function withSlo(problem: PooledProblem, m: number, sloUs: number): PooledProblem {
  const fixed = marginIsFixed(problem, m);
  const models = problem.models.map((model, i) => {
    if (i !== m) return model;
    const sloMarginUs = fixed ? model.sloMarginUs : (model.sloMarginUs / model.sloUs) * sloUs;
    return { ...model, sloUs, sloMarginUs, spec: { ...model.spec, sloMs: sloUs / 1000 } };
  });
  return { ...problem, models };
}

/**
 * sloLeaving is the SLO of model m, in µs, that leaves `allowedUs` after its margin, which scales unless it was given
 * in milliseconds.
 */
export function sloLeaving(problem: PooledProblem, m: number, allowedUs: number): number {
  const { sloUs, sloMarginUs } = problem.models[m] as ProblemModel;
  return marginIsFixed(problem, m) ? allowedUs + sloMarginUs : allowedUs / (1 - sloMarginUs / sloUs);
}
