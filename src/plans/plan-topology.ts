import type { Topology } from '../serving/index.js';
import { gearTopologyOf } from './gears/index.js';
import { pipelineTopologyOf } from './pipeline/index.js';
import { topologyOf } from './pooled/index.js';
import type { ServedPlan } from './served-plan.js';
import type { TopologyOptions } from './topology-options.js';

/** Application is what clients of a plan call by name. */
export interface Application {
  readonly name: string;
  readonly sloMs: number;
  readonly throughputRps: number;
  readonly weight: number;
  /** The rate that the plan promises, where that is not its throughput. */
  readonly heldRps?: number;
  /** The pipelines of a model of a pooled plan. */
  readonly pipelines?: readonly unknown[];
}

/** applicationsOf lists what clients of a plan call: the models of a pooled plan, a pipeline or a cascade as a whole. */
export function applicationsOf(plan: ServedPlan): readonly Application[] {
  if (plan.kind === 'pooled-plan') return plan.models;
  if (plan.kind === 'gear-plan') {
    const { name, sloMs, maxRps } = plan;
    return [{ name, sloMs, throughputRps: maxRps, weight: 1 }];
  }
  const { name, sloMs, throughputRps, rps } = plan;
  return [{ name, sloMs, throughputRps, weight: 1, ...(rps === undefined ? {} : { heldRps: rps }) }];
}

/**
 * planTopologyOf makes the topology of a plan of any kind.
 * @throws what `topologyOf` throws
 */
export function planTopologyOf(plan: ServedPlan, options: TopologyOptions = {}): Topology {
  switch (plan.kind) {
    case 'gear-plan':
      return gearTopologyOf(plan, options);
    case 'pipeline-plan':
      return pipelineTopologyOf(plan, options);
    case 'pooled-plan':
      return topologyOf(plan, options);
  }
}
