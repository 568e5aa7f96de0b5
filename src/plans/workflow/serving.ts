import { type Fault, fault, type PlanServing, type PolicyGiven, ToldFaults } from '../../formats/index.js';
import {
  chosenWorkflowPolicy,
  WORKFLOW_SCHEDULERS,
  type WorkflowPolicy,
  type WorkflowScheduler,
} from '../../serving/index.js';

/** isWorkflowScheduler returns whether a scheduler serves workflows. */
export function isWorkflowScheduler(name: string): name is WorkflowScheduler {
  return (WORKFLOW_SCHEDULERS as readonly string[]).includes(name);
}

/** CHOICES_AT is where a plan has its choices. */
const CHOICES_AT = '/serving/policy';

/**
 * plannedPolicy finds what the choices of a plan, and then those of the options, change of the policy of a scheduler.
 * Where that is not the plan's, the plan's choices do not count.
 * @param told where every fault is added
 */
export function plannedPolicy(
  { scheduler: planned, policy = {} }: PlanServing,
  {
    scheduler,
    given = [],
  }: { readonly scheduler: WorkflowScheduler; readonly given?: readonly PolicyGiven[] },
  told: ToldFaults,
): Partial<WorkflowPolicy> {
  const own = scheduler === planned ? [{ at: CHOICES_AT, choices: policy }] : [];
  return chosenWorkflowPolicy(scheduler, [...own, ...given], told);
}

/** workflowPolicyOf is what a plan without contradictions changes of the policy of its scheduler. */
export function workflowPolicyOf(serving: PlanServing): Partial<WorkflowPolicy> {
  const { scheduler } = serving;
  return isWorkflowScheduler(scheduler) ? plannedPolicy(serving, { scheduler }, new ToldFaults()) : {};
}

function choiceFaultsOf(scheduler: WorkflowScheduler, policy: PlanServing['policy']): Fault[] {
  const told = new ToldFaults();
  plannedPolicy({ scheduler, ...(policy === undefined ? {} : { policy }) }, { scheduler }, told);
  return [...told.error('serve').faults];
}

/**
 * workflowServingFaults finds what is wrong with how workflows are to be served: a scheduler that serves none, choices that
 * it does not have, and what these schedulers do not take.
 */
export function workflowServingFaults({ serving }: { readonly serving?: PlanServing | undefined }): Fault[] {
  if (serving === undefined) return [];
  const { scheduler, policy, tuner, engine, priorities } = serving;
  const valid = WORKFLOW_SCHEDULERS.join(', ');
  return [
    ...(isWorkflowScheduler(scheduler)
      ? []
      : [
          fault(`is ${scheduler}, which serves no workflows; valid names are ${valid}`, '/serving/scheduler'),
        ]),
    ...(isWorkflowScheduler(scheduler) ? choiceFaultsOf(scheduler, policy) : []),
    ...((tuner?.kind ?? 'none') === 'none'
      ? []
      : [fault('changes the replicas of pipelines, and these are workflows', '/serving/tuner')]),
    ...(engine === undefined
      ? []
      : [fault(`is of ${engine.target}, which no scheduler of workflows stands for`, '/serving/engine')]),
    ...(priorities === undefined
      ? []
      : [fault('weigh requests, which no scheduler of workflows does', '/serving/priorities')]),
  ];
}
