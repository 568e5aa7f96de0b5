import {
  didYouMean,
  type Fault,
  fault,
  InputError,
  listed,
  option,
  type SkippedScheduler,
  shown,
  type WorkflowPlan,
} from '../../formats/index.js';
import { isWorkflowScheduler, subclustersOf } from '../../plans/index.js';
import { streamsOf } from '../../random/index.js';
import {
  Decisions,
  SCHEDULER_NAMES,
  WORKFLOW_SCHEDULERS,
  type WorkflowScheduler,
  workflowCore,
} from '../../serving/index.js';

/** The word for every scheduler that can serve the plan. */
const ALL = 'all';

/** ComparedWorkflowSchedulers are the schedulers that are compared in serving workflows, and those that cannot. */
export interface ComparedWorkflowSchedulers {
  readonly schedulers: readonly WorkflowScheduler[];
  readonly skipped: readonly SkippedScheduler[];
}

/** unservingFaults says why a scheduler cannot serve a plan, which must not contradict itself. */
export function unservingFaults(plan: WorkflowPlan, scheduler: WorkflowScheduler): readonly Fault[] {
  try {
    for (const { topology, table } of subclustersOf(plan, scheduler === 'static' ? 'static' : 'moving'))
      workflowCore(scheduler, topology, { decisions: new Decisions(), table, streams: streamsOf(0, 'core') });
    return [];
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return error.faults;
  }
}

/** unknownFault refuses a name that is no scheduler of workflows. */
export function unknownFault(name: string, at: 'scheduler' | 'schedulers'): Fault {
  const valid = WORKFLOW_SCHEDULERS.join(', ');
  const isOther = (SCHEDULER_NAMES as readonly string[]).includes(name);
  const said = isOther
    ? `is ${name}, which serves plans of stages; valid names for workflows are ${valid}`
    : `is ${shown(name)}; valid names are ${valid}${didYouMean(name, WORKFLOW_SCHEDULERS)}`;
  return fault(said, option(at));
}

/**
 * comparedWorkflowSchedulers finds the schedulers that are to be compared: those that are named, as in `dyorc,greedy`,
 * or of `all` those that can serve the plan.
 * @returns faults where a name has no scheduler, or a named one cannot serve the plan
 */
export function comparedWorkflowSchedulers(
  plan: WorkflowPlan,
  text: string,
): ComparedWorkflowSchedulers | { readonly faults: readonly Fault[] } {
  const names = [...new Set(text.split(',').map((name) => name.trim()))].filter((name) => name !== '');
  const isAll = names.length === 1 && names[0] === ALL;
  const asked: readonly string[] = isAll ? WORKFLOW_SCHEDULERS : names;
  const unknown = asked.filter((name) => !isWorkflowScheduler(name));
  const at = option('schedulers');
  if (asked.length === 0)
    return {
      faults: [fault(`names no scheduler; take ${ALL}, or some of ${listed([...WORKFLOW_SCHEDULERS])}`, at)],
    };
  if (unknown.length > 0) return { faults: unknown.map((name) => unknownFault(name, 'schedulers')) };
  const found = asked.filter(isWorkflowScheduler).map((scheduler) => ({
    scheduler,
    faults: unservingFaults(plan, scheduler),
  }));
  const unable = found.filter(({ faults }) => faults.length > 0);
  const reasonOf = (faults: readonly Fault[]) => faults.map(({ message }) => message).join('; ');
  if (!isAll && unable.length > 0)
    return {
      faults: unable.map(({ scheduler, faults }) =>
        fault(`names ${scheduler}, which cannot serve the plan: ${reasonOf(faults)}`, at),
      ),
    };
  return {
    schedulers: found.flatMap(({ scheduler, faults }) => (faults.length === 0 ? [scheduler] : [])),
    skipped: unable.map(({ scheduler, faults }) => ({ scheduler, reason: reasonOf(faults) })),
  };
}
