import { type PipelineSpec, PLANNED_SCHEDULER, type PlanServing } from '../formats/index.js';

/** IN_ORDER is how the Estimator serves: in order of arrival, and nothing is dropped. */
export const IN_ORDER: PlanServing = { scheduler: 'inferline' };

/**
 * FALLBACKS lists by what a plan is served, the first that holds what is asked, where its spec names no scheduler and the default
 * does not. `stage-local` gives up what it cannot have in time even in batches that are smaller than planned, for which an SLO
 * may leave time that leaves none for planned ones; IN_ORDER holds whatever the Estimator says it does.
 */
export const FALLBACKS: readonly PlanServing[] = [{ scheduler: 'stage-local' }, IN_ORDER];

/** pipelineServing says by what plans of a spec are served, as far as they hold what is asked of them. */
export function pipelineServing({ serving, tuner }: PipelineSpec): PlanServing {
  return {
    ...(serving ?? { scheduler: PLANNED_SCHEDULER }),
    ...(tuner === undefined ? {} : { tuner: { kind: tuner } }),
  };
}

/** servesInOrder says whether a scheduler serves as the Estimator does, so that what is proved of one is true of the other. */
export function servesInOrder({ scheduler, policy = {} }: PlanServing): boolean {
  return scheduler === IN_ORDER.scheduler && Object.keys(policy).length === 0;
}
