import type { PipelineSpec } from '../../artifacts/index.js';
import type { PipelineExplanation } from '../../inferline/index.js';
import type { GivenReason, OpenProblem, PipelineFiles } from '../../pipeline/index.js';
import type { PipelinePlanBody } from '../../plans/index.js';
import type { Trace } from '../../workload/index.js';

/** PlannedOpen is the answer to a spec whose stages are to be chosen. */
export type PlannedOpen =
  | {
      readonly status: 'feasible';
      readonly plan: PipelinePlanBody;
      readonly finished: boolean;
      readonly estimates: number;
      readonly explanation?: PipelineExplanation;
    }
  | {
      readonly status: 'undecided';
      readonly estimates: number;
      /** What ended the search; absent where it came to its end and found no plan that holds over links. */
      readonly limit?: 'work' | 'time';
      /** What was in the way of the plans that the search tried. */
      readonly reasons: readonly GivenReason[];
    }
  | {
      readonly status: 'infeasible';
      readonly reasons: readonly GivenReason[];
      /** For each objective, the SLO that the others' would leave it; absent where none was found. */
      readonly smallestFeasibleSlosMs?: readonly number[];
      readonly estimates: number;
    };

/** PipelineLimits ends a search: after so many estimates, or so many seconds. */
export interface PipelineLimits {
  readonly work?: number | undefined;
  readonly timeLimit?: number | undefined;
}

/** PipelineOrigin is a spec with the files that it names. */
export interface PipelineOrigin {
  readonly spec: PipelineSpec;
  readonly files: PipelineFiles;
  readonly trace?: Trace | undefined;
}

/** PlanningJob is a spec whose stages are to be chosen, with the limits of the search. */
export interface PlanningJob extends PipelineLimits, PipelineOrigin {
  readonly open: OpenProblem;
  /** Whether the answer is to say what each change of the plan would bring. */
  readonly explain?: boolean | undefined;
  /** Whether an answer without a plan is to name an SLO that can be met; true where absent. */
  readonly tellsSlo?: boolean | undefined;
}
