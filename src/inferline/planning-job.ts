import type { PipelineSpec, PlanServing } from '../formats/index.js';
import type { GivenReason, OpenProblem, PipelineFiles } from '../pipeline/index.js';
import type { PipelinePlanBody } from '../plans/index.js';
import type { PipelineExplanation } from './explain.js';
import type { Sample } from './problem.js';

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
      /**
       * The limit that ended the search; absent where the search ended by itself and found no plan that holds
       * over links.
       */
      readonly limit?: 'work' | 'time';
      /** The reasons why the plans that the search tried fail. */
      readonly reasons: readonly GivenReason[];
    }
  | {
      readonly status: 'infeasible';
      readonly reasons: readonly GivenReason[];
      /**
       * isProved says whether no scheduler could serve a plan that holds; false where that is known only of
       * plans that are served in order of arrival, and the spec's are not.
       */
      readonly isProved: boolean;
      /** For each objective, the SLO that the others' would leave it; absent where none was found. */
      readonly smallestFeasibleSlosMs?: readonly number[];
      readonly estimates: number;
    };

/** PipelineLimits ends a search: after this many estimates, or this many seconds, or once a plan is proved so near to the best. */
export interface PipelineLimits {
  readonly work?: number | undefined;
  readonly timeLimit?: number | undefined;
  readonly gap?: number | undefined;
}

/**
 * ServedBySimulator serves draws of a sample by a plan over the links of its servers, under a scheduler and without a tuner.
 * It gives the latency of each request, in ns, and Infinity for one that is dropped.
 */
export type ServedBySimulator = (
  plan: PipelinePlanBody,
  /** The stages in the order of the spec, in which samples have their verdicts. */
  names: readonly string[],
  serving: PlanServing,
) => (sample: Sample, draw: number, misses?: Misses) => Float64Array;

/** Misses counts, by stage in the order of the spec and last at the entry, the requests that missed their SLO there. */
export type Misses = Float64Array;

/** PlanningTools are what planning is handed, since it draws nothing and simulates nothing by itself. */
export interface PlanningTools {
  /** Draws the sample of the load of the spec. */
  readonly drawn: () => Promise<readonly Sample[]>;
  readonly simulated: ServedBySimulator;
}

/** OpenPlanning is a spec whose stages are to be chosen, with the limits of the search. */
export interface OpenPlanning extends PipelineLimits {
  readonly open: OpenProblem;
  readonly spec: PipelineSpec;
  readonly files: PipelineFiles;
  /** explain says whether the answer is to say what each change of the plan would bring. */
  readonly explain?: boolean | undefined;
  /** tellsSlo says whether an answer without a plan is to name an SLO that can be met; true where absent. */
  readonly tellsSlo?: boolean | undefined;
}
