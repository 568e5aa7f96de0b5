/**
 * WorkflowEvent numbers the kinds of events of workflows by their priorities: what ends at an instant is reported
 * before what a program does then.
 */
export const WorkflowEvent = {
  fetchEnds: 0,
  executionEnds: 1,
  loadEnds: 2,
  callIsMade: 3,
  troubleComes: 4,
} as const;
export type WorkflowEvent = (typeof WorkflowEvent)[keyof typeof WorkflowEvent];
