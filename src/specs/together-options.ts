import type { NoPlan, PipelinePlan, PlanSet } from '../formats/index.js';
import type { SolveLimits } from './solve-limits.js';

/** TogetherOptions says how the search for several pipelines is limited, and where their plans are written. */
export interface TogetherOptions extends Pick<SolveLimits, 'work' | 'timeLimit'> {
  /** The folder that gets a plan for each pipeline. */
  readonly output?: string | undefined;
  /** Whether to refuse profiles with unfit, emulated or imported figures that a plan could use. */
  readonly strictProfile?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((doing: string) => void) | undefined;
  /** Receives a note where this host measured the devices and has too few cores to run all that the plans use. */
  readonly onNote?: ((text: string) => void) | undefined;
}

/** TogetherSolved is the answer to several pipelines that share a cluster. */
export type TogetherSolved =
  | {
      readonly outcome: 'plan-set';
      readonly plans: readonly PipelinePlan[];
      readonly limitReached: boolean;
      readonly document: PlanSet;
    }
  | {
      readonly outcome: 'infeasible' | 'no-plan-in-time';
      readonly reasons: readonly string[];
      readonly warnings: readonly string[];
      readonly document: NoPlan;
    };
