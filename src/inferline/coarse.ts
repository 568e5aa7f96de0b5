import { largestOf, smallestOf } from '../collections/index.js';
import { longestPath } from '../pipeline/index.js';
import { flowOf } from './flow.js';
import type { InfeasibleReason } from './infeasible.js';
import { keepingUp } from './keeping-up.js';
import type { Configuration, PlanningProblem, Sample, StageCandidate } from './problem.js';

/** CoarseOutcome is what came of planning a pipeline as one black box. */
export type CoarseOutcome =
  | { readonly status: 'feasible'; readonly configuration: Configuration }
  | { readonly status: 'infeasible'; readonly reasons: readonly InfeasibleReason[] };

/**
 * planCoarsely plans as the coarse-grained baselines do that InferLine is compared with (§6): the pipeline is one black
 * box, each stage on its fastest class, with the largest batch (one for all stages) with which the service time is
 * within the SLO. The box is replicated as a whole to serve the sample's mean rate, or its peak in windows as long as
 * the SLO; of several samples, that of the highest, and no less than the mean rate of the load. Nobody asks whether
 * requests are then in time.
 *
 * A stage that was not measured at the common batch takes the largest smaller one.
 */
export function planCoarsely(
  problem: PlanningProblem,
  samples: readonly Sample[],
  rate: 'mean' | 'peak',
): CoarseOutcome {
  const candidate = Int32Array.from(problem.stages, ({ candidates }) => fastestOf(candidates));
  const chosen = problem.stages.map(
    ({ candidates }, i) => candidates[candidate[i] as number] as StageCandidate,
  );
  const objective = problem.objectives.reduce((least, one) => (one.sloNs < least.sloNs ? one : least));
  const sizes = [...new Set(chosen.flatMap(({ batches }) => batches))].sort((a, b) => a - b);
  const tried = sizes.map((size) => boxOf(problem, chosen, size));
  const box = tried.findLast(({ serviceNs }) => serviceNs <= objective.sloNs);
  if (box === undefined) {
    const { serviceNs, stages } = tried[0] as Box;
    const reason = { objective, stages, longestPathNs: serviceNs, leastSloNs: serviceNs };
    return { status: 'infeasible', reasons: [{ code: 'slo-too-short', ...reason }] };
  }
  const boxesFor = (sample: Sample): number => {
    const wantedRps = rate === 'mean' ? meanRps(sample) : peakRps(sample, objective.sloNs);
    return Math.ceil(wantedRps / boxRps(problem, sample, { chosen, batch: box.batch }));
  };
  const keptUp = chosen.map((one, stage) =>
    keepingUp(problem, { stage, candidate: one, batch: box.batch[stage] as number }),
  );
  const boxes = Math.max(1, largestOf(keptUp), largestOf(samples.map(boxesFor)));
  const reasons = Object.entries(problem.counts).flatMap(([device, count]): InfeasibleReason[] => {
    const needed = boxes * chosen.filter((one) => one.device === device).length;
    return needed > count ? [{ code: 'too-few-devices', device, needed, count }] : [];
  });
  if (reasons.length > 0) return { status: 'infeasible', reasons };
  const { batch } = box;
  return {
    status: 'feasible',
    configuration: { candidate, batch, replicas: new Int32Array(batch.length).fill(boxes) },
  };
}

/** fastestOf is the candidate whose single row takes the least time. */
function fastestOf(candidates: readonly StageCandidate[]): number {
  const alone = candidates.map(({ latencyNs }) => latencyNs[0] as number);
  return alone.indexOf(smallestOf(alone));
}

/** Box is the pipeline with one batch size for all stages. */
interface Box {
  readonly batch: Int32Array;
  /** The time of full batches on the longest path. */
  readonly serviceNs: number;
  readonly stages: readonly string[];
}

function boxOf({ graph, transferNs }: PlanningProblem, chosen: readonly StageCandidate[], size: number): Box {
  const batch = Int32Array.from(
    chosen,
    ({ batches }) => batches.findLast((one) => one <= size) ?? (batches[0] as number),
  );
  const { stages, latencyUs } = longestPath(graph, {
    stageUs: (i) => (chosen[i]?.latencyNs[(batch[i] as number) - 1] as number) / 1e3,
    edgeUs: (from, k) => {
      const edge = graph.edges[from]?.[k] as (typeof graph.edges)[number][number];
      const [sender, receiver] = [chosen[from] as StageCandidate, chosen[edge.to] as StageCandidate];
      const move = { from, edge, fromDevice: sender.device, toDevice: receiver.device };
      return (transferNs?.({ ...move, rows: batch[from] as number }) ?? 0) / 1e3;
    },
  });
  return { batch, serviceNs: Math.round(latencyUs * 1e3), stages };
}

/** boxRps is the throughput of one box: of the stage that is busiest with what the sample's requests ask of it. */
function boxRps(
  { graph }: PlanningProblem,
  sample: Sample,
  { chosen, batch }: { readonly chosen: readonly StageCandidate[]; readonly batch: Int32Array },
): number {
  const { visitors } = flowOf(graph, sample);
  return smallestOf(
    chosen.map(({ latencyNs }, i) => {
      const rows = batch[i] as number;
      const visits = visitors[i]?.count as number;
      return (1e9 * rows * sample.atNs.length) / ((latencyNs[rows - 1] as number) * visits);
    }),
  );
}

/** meanRps is the mean rate from the first arrival to the last; 0 of fewer than two. */
function meanRps({ atNs }: Sample): number {
  const spanNs = (atNs.at(-1) ?? 0) - (atNs[0] ?? 0);
  return spanNs > 0 ? (1e9 * (atNs.length - 1)) / spanNs : 0;
}

/** peakRps is the largest rate in any window of the given length. */
export function peakRps({ atNs }: Sample, windowNs: number): number {
  let most = 0;
  let first = 0;
  for (let i = 0; i < atNs.length; i++) {
    while ((atNs[first] as number) <= (atNs[i] as number) - windowNs) first++;
    most = Math.max(most, i - first + 1);
  }
  return (1e9 * most) / windowNs;
}
