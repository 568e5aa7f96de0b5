import type { PipelinePlan, PooledPlan } from '../artifacts/index.js';
import { pipelineTopologyOf } from './pipeline-topology.js';
import { type Topology, type TopologyOptions, topologyOf } from './topology.js';

/** ServedPlan is a plan of any kind that a scheduler can serve. */
export type ServedPlan = PooledPlan | PipelinePlan;

/**
 * planTopologyOf makes the topology of a plan of any kind.
 * @throws what `topologyOf` throws
 */
export function planTopologyOf(plan: ServedPlan, options: TopologyOptions = {}): Topology {
  return plan.kind === 'pipeline-plan' ? pipelineTopologyOf(plan, options) : topologyOf(plan, options);
}
