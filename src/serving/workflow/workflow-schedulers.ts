import type { Streams } from '../../random/index.js';
import type { Decisions } from '../decisions.js';
import type { Topology } from '../topology.js';
import type { Allocation, AllocationParts } from './allocation.js';
import { DynamicCore } from './dynamic-core.js';
import type { FrequencyRow } from './histories.js';
import { DYORC_POLICY, GREEDY_POLICY, ROUND_ROBIN_POLICY, type WorkflowPolicy } from './policy.js';
import type { Foresight } from './prediction.js';
import { RAY_LIKE_POLICY, RayLikeAllocation, type RayLikePolicy } from './ray-like-allocation.js';
import { ReactiveCore } from './reactive-core.js';
import { StaticAllocation } from './static-allocation.js';
import type { WorkflowTable } from './table.js';

/**
 * WORKFLOW_SCHEDULERS lists the schedulers of dynamic workflows.
 * - dyorc: DyOrc's, which predicts what programs call and places that with what they called (§5). Of requests with a
 *   deadline it gives those up that are expected to end after it, as PARD does, which the paper's does not.
 * - greedy: each task gets the device on which it is expected to end first (§8.3).
 * - round-robin: tasks get devices in turn (§8.3).
 * - static: devices hold what they hold at the start (§8, as Triton is used there).
 * - ray-like: replicas of components follow the number of tasks, as Ray Serve's do (§8).
 */
export const WORKFLOW_SCHEDULERS = ['dyorc', 'greedy', 'round-robin', 'static', 'ray-like'] as const;
export type WorkflowScheduler = (typeof WORKFLOW_SCHEDULERS)[number];

/** WorkflowParts holds what the core of any scheduler is made from; a scheduler takes the policy that is its own. */
export interface WorkflowParts {
  /** The driver's buffer, where the core appends its decisions. */
  readonly decisions: Decisions;
  readonly table: WorkflowTable;
  readonly streams: Streams;
  /** How often programs call what, as it is known at the start; only `dyorc` uses it. */
  readonly frequencies?: readonly FrequencyRow[];
  readonly policy?: Partial<WorkflowPolicy>;
  /**
   * The calls that programs will make, which `dyorc` uses in place of its predictions where they are known.
   */
  readonly foresight?: Foresight;
  readonly rayLike?: Partial<RayLikePolicy>;
}

/**
 * WORKFLOW_POLICIES has the policy of each scheduler. Schedulers whose tasks wait for devices that hold their
 * component derive two limits from it: how many tasks there may be, and how often a task is tried.
 */
export const WORKFLOW_POLICIES: {
  readonly [Name in WorkflowScheduler]: WorkflowPolicy | Pick<WorkflowPolicy, 'mostTasks' | 'mostTries'>;
} = {
  dyorc: { ...DYORC_POLICY, dropping: { kind: 'end-to-end', quantile: 0.1, draws: 32 } },
  greedy: GREEDY_POLICY,
  'round-robin': ROUND_ROBIN_POLICY,
  static: { mostTasks: DYORC_POLICY.mostTasks, mostTries: DYORC_POLICY.mostTries },
  'ray-like': { mostTasks: DYORC_POLICY.mostTasks, mostTries: DYORC_POLICY.mostTries },
};

type CoreOf = (topology: Topology, parts: WorkflowParts) => DynamicCore | ReactiveCore;

const CORES: { readonly [Name in WorkflowScheduler]: CoreOf } = {
  dyorc: dynamic('dyorc'),
  greedy: dynamic('greedy'),
  'round-robin': dynamic('round-robin'),
  static: reactive((parts) => new StaticAllocation(parts)),
  'ray-like': reactive(
    (parts, { rayLike }) => new RayLikeAllocation(parts, { ...RAY_LIKE_POLICY, ...rayLike }),
  ),
};

/**
 * workflowCore makes the core of a scheduler.
 * @throws InputError where the scheduler is static and devices cannot hold what they are to, or some component is nowhere
 */
export function workflowCore(
  scheduler: WorkflowScheduler,
  topology: Topology,
  parts: WorkflowParts,
): DynamicCore | ReactiveCore {
  return CORES[scheduler](topology, parts);
}

function dynamic(name: WorkflowScheduler): CoreOf {
  return (topology, { decisions, policy, ...parts }) =>
    new DynamicCore(topology, decisions, { ...parts, policy: { ...WORKFLOW_POLICIES[name], ...policy } });
}

function reactive(allocationOf: (parts: AllocationParts, given: WorkflowParts) => Allocation): CoreOf {
  return (topology, given) => {
    const { mostTasks, mostTries } = { ...DYORC_POLICY, ...given.policy };
    const { table, streams } = given;
    return new ReactiveCore(topology, given.decisions, {
      table,
      streams,
      mostTasks,
      mostTries,
      allocationOf: (parts) => allocationOf(parts, given),
    });
  };
}
