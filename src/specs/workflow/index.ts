/**
 * This folder answers specs of workflows: it loads them, plans them on threads by simulating samples of their load,
 * confirms plans and compares cases. `WORKFLOW_SPECS` is its only door.
 */
import { counted } from '../../formats/index.js';
import type { SpecOf } from '../spec-of.js';
import type { WorkflowTypes } from './kind.js';
import { loadWorkflows, workflowNotes } from './workflow.js';

export type { WorkflowTypes } from './kind.js';

/** WORKFLOW_SPECS is what is asked of specs of workflows. */
export const WORKFLOW_SPECS: SpecOf<WorkflowTypes> = {
  load: loadWorkflows,
  described: ({ spec: { value } }) =>
    `workflow spec of ${value.workflows.map(({ name }) => name).join(', ')} over ${counted(value.components.length, 'component')}`,
  notes: workflowNotes,
  solving: async () => (await import('./solve.js')).solvingWorkflows,
  confirming: async () => (await import('./confirm.js')).confirmingWorkflows,
  comparing: async () => (await import('./compare.js')).comparingWorkflows,
};
