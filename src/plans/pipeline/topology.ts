import { itemAt } from '../../collections/index.js';
import type { PipelinePlan, PlannedEdge, PlannedStage } from '../../formats/index.js';
import { NS_PER_MS } from '../../formats/index.js';
import type { Edge, Pool, StageRoutes, StageTopology } from '../../serving/index.js';
import { linksByServer } from '../../serving/index.js';
import { stageDevices, stagePool, transfersAlong } from '../stages/index.js';
import type { TopologyOptions } from '../topology-options.js';
import { plannedApplications } from './applications.js';

/**
 * pipelineTopologyOf makes the topology of a pipeline plan: its applications, which share the stages of the plan in their
 * order. Stages that follow one another without a choice, a split or a merge are a chain. It is pure, and its cost is
 * linear in the plan.
 */
export function pipelineTopologyOf(
  plan: PipelinePlan,
  options: Pick<TopologyOptions, 'sloMs' | 'transfers'> = {},
): StageTopology {
  const pools = plan.stages.map((stage, i) =>
    poolOf(plan, stage, { index: i, transfers: options.transfers }),
  );
  const devices = stageDevices(plan, pools);
  const models = plannedApplications(plan).map(({ name, sloMs, throughputRps }) => ({
    name,
    sloNs: Math.round((options.sloMs ?? sloMs) * NS_PER_MS),
    throughputRps,
    entries: [0],
  }));
  const routes: StageRoutes = { kind: isChain(plan) ? 'chains' : 'dag' };
  return { models, pools, devices, links: linksByServer(devices), routes };
}

/** isChain returns whether each stage but the last leads to the one after it, always and to no other. */
function isChain({ stages }: PipelinePlan): boolean {
  return stages.every(({ next }, i) => {
    const [edge] = next;
    if (i === stages.length - 1) return edge === undefined;
    return edge !== undefined && next.length === 1 && edge.to === stages[i + 1]?.name && isAlways(edge);
  });
}

function isAlways({ probability, when }: PlannedEdge): boolean {
  return probability === undefined && when === undefined;
}

function poolOf(
  plan: PipelinePlan,
  stage: PlannedStage,
  { index, transfers }: { readonly index: number; readonly transfers: TopologyOptions['transfers'] },
): Pool {
  const edges = stage.next.map((edge): Edge => {
    const to = plan.stages.findIndex(({ name }) => name === edge.to);
    const sent = { from: stage, to: itemAt(plan.stages, to), bytes: edge.transferBytes };
    return {
      to,
      when: { kind: isAlways(edge) ? 'always' : 'verdict' },
      ...transfersAlong(plan.cluster, sent, transfers),
    };
  });
  const pool = stagePool({ stage, index, throughputRps: plan.throughputRps, edges });
  return plan.applications === undefined ? pool : { ...pool, owner: plan.name };
}
