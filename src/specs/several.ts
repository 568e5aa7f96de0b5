import type { NoPlan, PipelinePlan, PlanSet } from '../artifacts/index.js';
import type { SolveLimits } from './solve-limits.js';
import { type GivenOptions, type OptionsTaken, type Refusal, refuseOptions } from './taken-options.js';

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
      readonly document: NoPlan;
    };

const FOR_ONE: Refusal = { refused: 'is for one spec' };

/** Several specs have no gap to stop at, and are neither explained nor timed. */
const TAKEN: Omit<OptionsTaken, 'frontier'> = {
  ...{ gap: FOR_ONE, work: 'taken', timeLimit: 'taken', baseline: FOR_ONE, explain: FOR_ONE },
  ...{ measure: FOR_ONE, hold: FOR_ONE, literal: FOR_ONE },
};

/** refuseForSeveral refuses options that are for one spec. @throws InputError with a fault for each */
export function refuseForSeveral(options: GivenOptions): void {
  refuseOptions('solve several pipelines together', TAKEN, options);
}

/**
 * solveTogether plans several pipelines that share the devices of one cluster, at the least sum of costs, and writes a plan
 * for each where a folder is named. The cluster in each plan has the devices that are its share.
 * @throws InputError with every fault of the specs and their files, where they name unlike clusters or equal names, where a
 *   plan would replace one of these files, or as `refuseMarked` does where `strictProfile` is asked for; MissingError where
 *   files are only missing
 */
export async function solveTogether(
  paths: readonly string[],
  options: TogetherOptions,
): Promise<TogetherSolved> {
  const { pipelinesTogether } = await import('./pipeline/index.js');
  return (await pipelinesTogether())(paths, options);
}
