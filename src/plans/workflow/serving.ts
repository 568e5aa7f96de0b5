import { type Fault, fault, type PlanServing } from '../../artifacts/index.js';
import { WORKFLOW_SCHEDULERS, type WorkflowScheduler } from '../../serving/index.js';

/** isWorkflowScheduler tells whether a scheduler serves workflows. */
export function isWorkflowScheduler(name: string): name is WorkflowScheduler {
  return (WORKFLOW_SCHEDULERS as readonly string[]).includes(name);
}

/**
 * workflowServingFaults finds what is wrong with how workflows are to be served: a scheduler that serves none, and what these schedulers do
 * not take.
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
    ...(Object.keys(policy ?? {}).length === 0
      ? []
      : [fault('has choices, and the schedulers of workflows take none', '/serving/policy')]),
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
