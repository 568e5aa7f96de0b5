/** The solver thread: it takes one job after another and keeps its HiGHS between them. */
import { performance } from 'node:perf_hooks';
import { parentPort, workerData } from 'node:worker_threads';
import { type Fault, InputError } from '../artifacts/index.js';
import {
  type Baseline,
  explainInfeasible,
  explainPlan,
  type HighsEngine,
  type InfeasibilityExplanation,
  loadHighs,
  type PlanBody,
  type PlanExplanation,
  type PlanOptions,
  type PlanProgress,
  type PooledOutcome,
  type PooledProblem,
  planBaseline,
  planPooled,
} from '../milp/index.js';

/** When a search may stop. */
export interface SearchLimits {
  readonly gap?: number;
  readonly work?: number;
  readonly timeLimitMs?: number;
}

export type InfeasibleOutcome = Extract<PooledOutcome, { status: 'infeasible' }>;

/** What a solver thread can be asked. */
export type SolveJob = SearchLimits & { readonly problem: PooledProblem } & (
    | { readonly kind: 'plan'; readonly formulation?: 'columns' | 'literal' }
    | { readonly kind: 'baseline'; readonly baseline: Baseline }
    | { readonly kind: 'explain'; readonly plan: PlanBody }
    | { readonly kind: 'explain-infeasible'; readonly outcome: InfeasibleOutcome }
  );

/** The answer to each kind of job. */
export interface SolveAnswers {
  readonly plan: PooledOutcome;
  readonly baseline: PooledOutcome;
  readonly explain: PlanExplanation;
  readonly 'explain-infeasible': InfeasibilityExplanation;
}

export type SolveMessage =
  | { readonly kind: 'progress'; readonly progress: PlanProgress }
  | { readonly kind: 'answer'; readonly answer: SolveAnswers[keyof SolveAnswers] }
  | {
      readonly kind: 'refused';
      readonly task: string;
      readonly faults: readonly Fault[];
      readonly advice: string | undefined;
    }
  | { readonly kind: 'failed'; readonly message: string; readonly stack: string };

/** Set to 1 to end what is running with what it has. */
const interrupt = workerData as Int32Array;

const tell = (message: SolveMessage): void => parentPort?.postMessage(message);
const engine = loadHighs();

parentPort?.on('message', async (job: SolveJob) => {
  try {
    tell({ kind: 'answer', answer: answer(job, await engine) });
  } catch (error) {
    if (error instanceof InputError) {
      const { task, faults, advice } = error;
      tell({ kind: 'refused', task, faults, advice });
    } else tell({ kind: 'failed', message: (error as Error).message, stack: (error as Error).stack ?? '' });
  }
});

function answer(job: SolveJob, highs: HighsEngine): SolveAnswers[keyof SolveAnswers] {
  const { gap, work, timeLimitMs, problem } = job;
  const options: PlanOptions = {
    ...(gap === undefined ? {} : { gap }),
    ...(work === undefined ? {} : { work }),
    ...(timeLimitMs === undefined ? {} : { timeLimitMs }),
    highs,
    clock: () => performance.now(),
    interrupted: () => Atomics.load(interrupt, 0) === 1,
    onProgress: (progress) => tell({ kind: 'progress', progress }),
  };
  switch (job.kind) {
    case 'plan':
      return planPooled(problem, { ...options, formulation: job.formulation ?? 'columns' });
    case 'baseline':
      return planBaseline(problem, job.baseline, options);
    case 'explain':
      return explainPlan(problem, job.plan, options);
    case 'explain-infeasible':
      return explainInfeasible(problem, job.outcome, options);
  }
}
