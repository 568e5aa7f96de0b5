import type { NoPlanReason, WorkflowPlan, WorkflowSample } from '../formats/index.js';
import type { PlacedWorkflows } from '../plans/index.js';
import type { RequestsToBound } from './bounds.js';
import type { HeldTimes } from './longest-held.js';
import type { ResolvedWorkflows } from './resolve.js';

/** WorkflowPlanBody is a plan without the head of its file, and without the digest of its sample. */
export type WorkflowPlanBody = Omit<
  WorkflowPlan,
  '$schema' | 'version' | 'tool' | 'inputs' | 'kind' | 'notes' | 'sample' | 'load'
> & { readonly sample: SampleFigures };

/** SampleFigures are what a plan makes of a sample, without what names the sample. */
export type SampleFigures = Omit<WorkflowSample, 'seed' | 'sha256'>;

/** ToSimulate is what is to be simulated, and by which scheduler. */
export interface ToSimulate {
  readonly plan: PlacedWorkflows & Pick<WorkflowPlan, 'workflows' | 'serving'>;
  /** Seeds what the scheduler draws. */
  readonly seed: number;
  readonly requests: RequestsToBound;
}

/** SimulatedSample is what came of a sample, and for how long devices held components. */
export interface SimulatedSample {
  readonly figures: SampleFigures;
  readonly heldNs: HeldTimes;
}

/** WorkflowQuestion is what is to be planned, and what that takes. */
export interface WorkflowQuestion {
  readonly resolved: ResolvedWorkflows;
  /** requestsOf draws the requests of the load with a seed. */
  readonly requestsOf: (seed: number) => RequestsToBound;
  readonly simulate: (asked: ToSimulate) => SimulatedSample;
  /** interrupted says whether the search is to end with what it has. */
  readonly interrupted: () => boolean;
  readonly tell: (doing: string) => void;
}

/** WorkflowAnswer is a plan, or why there is none, as far as that is proved or was tried. */
export type WorkflowAnswer =
  | {
      readonly status: 'planned';
      readonly plan: WorkflowPlanBody;
      /** The notes on the plan, besides those of its spec. */
      readonly notes: readonly string[];
      readonly simulations: number;
    }
  | {
      readonly status: 'infeasible' | 'undecided';
      readonly reasons: readonly NoPlanReason[];
      readonly simulations: number;
    };
