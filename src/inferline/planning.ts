import { itemAt, lastOf } from '../collections/index.js';
import type { PipelineSpec } from '../formats/index.js';
import { NS_PER_MS } from '../formats/index.js';
import {
  edgeBytes,
  freeCounts,
  linkUs,
  type OpenProblem,
  objectivesOf,
  replicaCount,
  scaleFactors,
  serverCounts,
} from '../pipeline/index.js';
import { filledLatencies } from '../serving/index.js';
import type { Configuration, PlanningProblem } from './problem.js';

/**
 * planningProblemOf puts a resolved spec into the planner's words. Latencies and transfers are those of simulations: a
 * batch size that was not measured takes as long as the next that was, and a transfer is rounded to nanoseconds.
 */
export function planningProblemOf({ spec, cluster, graph, stages, rps }: OpenProblem): PlanningProblem {
  const bytes = edgeBytes(graph, stages);
  const load = rps === undefined ? undefined : { rps, visits: scaleFactors(graph).factors };
  return {
    graph,
    stages: stages.map(({ candidates }, i) => {
      const replicas = replicaCount(spec.stages[i] ?? {});
      return {
        candidates: candidates.map(({ device, batches, latencyUsByBatch, hourlyCost }) => ({
          device,
          batches,
          latencyNs: filledLatencies(latencyUsByBatch, lastOf(batches)),
          hourlyCost,
        })),
        ...(replicas === undefined ? {} : { replicas }),
      };
    }),
    objectives: objectivesOf(spec).map(({ sloMs, attainment, application }) => ({
      attainment,
      sloNs: Math.round(sloMs * NS_PER_MS),
      ...(application === undefined ? {} : { application }),
    })),
    counts: freeCounts(cluster),
    ...(load === undefined ? {} : { load }),
    servers: serverCounts(cluster),
    transferNs: ({ from, edge, fromDevice, toDevice, rows }) => {
      const k = graph.edges[from]?.indexOf(edge) ?? -1;
      const sent = (bytes[from]?.[k] ?? 0) * rows;
      return Math.round(1e3 * linkUs(cluster, [fromDevice, toDevice], sent));
    },
  };
}

/** FixedStage is what was chosen for a stage. */
export interface FixedStage {
  readonly device: string;
  readonly batch: number;
  readonly replicas: number;
}

/** chosenSpec gives a spec with what was chosen for its stages, in its order, as a person would have fixed it. */
export function chosenSpec(
  { objectives: _searched, ...spec }: PipelineSpec,
  chosen: readonly FixedStage[],
): PipelineSpec {
  return {
    ...spec,
    planner: { method: 'given' },
    stages: spec.stages.map(({ devices: _allowed, ...stage }, i) => ({
      ...stage,
      ...itemAt(chosen, i),
    })),
  };
}

/** chosenStages says what a configuration chose for each stage. */
export function chosenStages(
  { stages }: PlanningProblem,
  { candidate, batch, replicas }: Configuration,
): FixedStage[] {
  return stages.map(({ candidates }, i) => ({
    device: candidates[candidate[i] as number]?.device as string,
    batch: batch[i] as number,
    replicas: replicas[i] as number,
  }));
}
