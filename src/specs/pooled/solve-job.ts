import { performance } from 'node:perf_hooks';
import { checkedOutcome } from '../../checks/index.js';
import type { JobContext } from '../../jobs/index.js';
import type { HighsEngine } from '../../lp/index.js';
import {
  type Baseline,
  baselineProblem,
  boundPooled,
  explainInfeasible,
  explainPlan,
  type InfeasibilityExplanation,
  type PlanBody,
  type PlanExplanation,
  type PlanOptions,
  type PlanProgress,
  type PooledOutcome,
  type PooledProblem,
  planBaseline,
  planPooled,
} from '../../milp/index.js';
import type { SearchLimits } from '../solve-limits.js';
import { threadsNowMs } from '../threads-clock.js';

/** InfeasibleOutcome is the outcome of a problem that has no plan, with the reasons. */
export type InfeasibleOutcome = Extract<PooledOutcome, { status: 'infeasible' }>;

/** SolveJob is a question to a solver thread. */
export type SolveJob = SearchLimits & { readonly problem: PooledProblem } & (
    | {
        readonly kind: 'plan';
        readonly formulation?: 'columns' | 'literal';
        /** When the search may stop, by `threadsNowMs`, also where the job waits for a thread before. */
        readonly endsAtMs?: number;
      }
    | { readonly kind: 'bound' }
    | { readonly kind: 'baseline'; readonly baseline: Baseline }
    | { readonly kind: 'explain'; readonly plan: PlanBody }
    | { readonly kind: 'explain-infeasible'; readonly outcome: InfeasibleOutcome }
  );

/** SolveAnswers gives the type of the answer to each kind of job. */
export interface SolveAnswers {
  readonly plan: PooledOutcome;
  /** The LP's bound; undefined where the problem is infeasible. */
  readonly bound: number | undefined;
  readonly baseline: PooledOutcome;
  readonly explain: PlanExplanation;
  readonly 'explain-infeasible': InfeasibilityExplanation;
}

/**
 * answerSolveJob answers a question in this thread, which it blocks until the search ends or is interrupted.
 * @throws InputError where the planner refuses its input
 */
export function answerSolveJob(
  job: SolveJob,
  highs: HighsEngine,
  { tell, interrupted }: Pick<JobContext<undefined, PlanProgress>, 'tell' | 'interrupted'>,
): SolveAnswers[keyof SolveAnswers] {
  const { gap, work, timeLimitMs, problem } = job;
  const options: PlanOptions = {
    ...(gap === undefined ? {} : { gap }),
    ...(work === undefined ? {} : { work }),
    ...(timeLimitMs === undefined ? {} : { timeLimitMs }),
    highs,
    clock: () => performance.now(),
    interrupted,
    onProgress: tell,
  };
  switch (job.kind) {
    case 'plan':
      return checkedOutcome(
        planPooled(problem, {
          ...options,
          ...(job.endsAtMs === undefined ? {} : { timeLimitMs: Math.max(1, job.endsAtMs - threadsNowMs()) }),
          formulation: job.formulation ?? 'columns',
        }),
        problem,
      );
    case 'bound':
      return boundPooled(problem, options);
    case 'baseline':
      return checkedOutcome(
        planBaseline(problem, job.baseline, options),
        baselineProblem(problem, job.baseline),
      );
    case 'explain':
      return explainPlan(problem, job.plan, options);
    case 'explain-infeasible':
      return explainInfeasible(problem, job.outcome, options);
  }
}
