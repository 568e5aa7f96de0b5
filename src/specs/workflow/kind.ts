import type { WorkflowPlan } from '../../formats/index.js';
import type { PlannerThread } from '../side-by-side.js';
import type { KindTypes } from '../spec-of.js';
import type { Refusal } from '../taken-options.js';
import type { WorkflowCase } from './cases.js';
import type { PlannedJob, WorkflowPlanningJob } from './planning-job.js';
import type { LoadedWorkflows } from './workflow.js';

/** WorkflowTypes are the types of specs of workflows. */
export interface WorkflowTypes extends KindTypes {
  readonly spec: 'workflow';
  readonly plan: WorkflowPlan;
  readonly outcome: 'workflow-plan';
  readonly explanation: object;
  readonly loaded: LoadedWorkflows;
  readonly compared: LoadedWorkflows;
  readonly variant: WorkflowCase;
  readonly job: WorkflowPlanningJob;
  readonly answer: PlannedJob;
}

/** The thread that plans workflows. */
export const WORKFLOW_THREAD: PlannerThread = {
  worker: '#dist/src/specs/workflow/workflow-worker.js',
  what: 'planner',
};

/** The refusal of options that specs of workflows do not take. */
export const NOT_FOR_WORKFLOWS: Refusal = { refused: 'is not for specs of kind workflow' };
