import { asOneRun } from '../artifacts/index.js';
import { type GivenOptions, type OptionsTaken, type Refusal, refuseOptions } from './taken-options.js';
import type { TogetherOptions, TogetherSolved } from './together-options.js';

const FOR_ONE: Refusal = { refused: 'is for one spec' };

/** Several specs have no gap to stop at, and are neither explained nor timed. */
const TAKEN: Omit<OptionsTaken, 'frontier'> = {
  gap: FOR_ONE,
  work: 'taken',
  timeLimit: 'taken',
  baseline: FOR_ONE,
  explain: FOR_ONE,
  measure: FOR_ONE,
  hold: FOR_ONE,
  literal: FOR_ONE,
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
export function solveTogether(paths: readonly string[], options: TogetherOptions): Promise<TogetherSolved> {
  return asOneRun(async () => {
    const { pipelinesTogether } = await import('./pipeline/index.js');
    return (await pipelinesTogether())(paths, options);
  }, options.signal);
}
