import type { Streams } from '../../random/index.js';
import {
  type Decisions,
  DYORC_POLICY,
  DynamicCore,
  type FrequencyRow,
  GREEDY_POLICY,
  ROUND_ROBIN_POLICY,
  type Topology,
  type WorkflowPolicy,
  type WorkflowTable,
} from '../../serving/index.js';

/** WORKFLOW_SCHEDULERS lists the schedulers of dynamic workflows. */
export const WORKFLOW_SCHEDULERS = ['dyorc', 'greedy', 'round-robin'] as const;
export type WorkflowScheduler = (typeof WORKFLOW_SCHEDULERS)[number];

/** WorkflowParts holds what the core of any scheduler is made from. */
export interface WorkflowParts {
  readonly decisions: Decisions;
  readonly table: WorkflowTable;
  readonly streams: Streams;
  readonly frequencies?: readonly FrequencyRow[];
}

const POLICIES: { readonly [Name in WorkflowScheduler]: WorkflowPolicy } = {
  dyorc: DYORC_POLICY,
  greedy: GREEDY_POLICY,
  'round-robin': ROUND_ROBIN_POLICY,
};

/** workflowCore makes the core of a scheduler. */
export function workflowCore(
  scheduler: WorkflowScheduler,
  topology: Topology,
  { decisions, ...parts }: WorkflowParts,
): DynamicCore {
  return new DynamicCore(topology, decisions, { ...parts, policy: POLICIES[scheduler] });
}
