import type { Configuration, StageCandidate } from './problem.js';
import { optionOf, type PlanningAction, type Trials, withOption } from './trials.js';

/** Initial is a feasible configuration, with the steps that led to it. */
export interface Initial {
  readonly configuration: Configuration;
  readonly trail: readonly PlanningAction[];
}

/** The pipelines of the published system have five stages and three classes: this is every choice of classes for them. */
const MOST_CHOICES = 243;

/**
 * initialize finds a feasible configuration as InferLine's Algorithm 1 does: the fastest class of each stage, the
 * smallest batch, and a replica more for the bottleneck until the Estimator finds it feasible.
 *
 * Where nothing limits replicas, no transfer takes time and no batch is faster than one row, it finds one whenever there
 * is one: with a replica for each request, no request can be answered sooner. Where that fails, or a class has too few
 * devices, it goes on to larger batches and other classes, and may still miss a feasible configuration; `searchExactly`
 * decides then.
 */
export function initialize(trials: Trials): Initial | undefined {
  for (const candidates of classChoices(trials)) {
    if (trials.stopped) return undefined;
    const initial = grown(trials, candidates);
    if (initial !== undefined) return initial;
  }
  return undefined;
}

/** classChoices lists a candidate for each stage: first the fastest ones, then others, the fastest changes first. */
function classChoices({ problem: { stages, counts } }: Trials): number[][] {
  const ranked = stages.map(({ candidates }) =>
    [...candidates.keys()]
      .filter((k) => (counts[candidates[k]?.device as string] ?? 1) > 0)
      .sort((a, b) => byLatency(candidates[a] as StageCandidate, candidates[b] as StageCandidate)),
  );
  let choices: { ranks: number; chosen: number[] }[] = [{ ranks: 0, chosen: [] }];
  for (const own of ranked)
    choices = choices
      .flatMap(({ ranks, chosen }) => own.map((k, rank) => ({ ranks: ranks + rank, chosen: [...chosen, k] })))
      .sort((a, b) => a.ranks - b.ranks)
      .slice(0, MOST_CHOICES);
  return choices.map(({ chosen }) => chosen);
}

function byLatency(a: StageCandidate, b: StageCandidate): number {
  return aloneNs(a) - aloneNs(b) || a.hourlyCost - b.hourlyCost;
}

function aloneNs({ latencyNs }: StageCandidate): number {
  return latencyNs[0] as number;
}

/** grown adds replicas, and batch sizes where no replica can be added, until the configuration is feasible. */
function grown(trials: Trials, candidates: readonly number[]): Initial | undefined {
  const batch = Int32Array.from(candidates, (k, i) => trials.candidate(i, k).batches[0] as number);
  const unlimited = {
    candidate: Int32Array.from(candidates),
    batch,
    replicas: Int32Array.from(candidates, (_, i) => trials.mostReplicas(i)),
  };
  // A larger batch can be of use only where the number of replicas is limited.
  const isLimited = candidates.some((k, i) => isStageLimited(trials, i, k));
  if (!isLimited && !trials.meets(unlimited)) return undefined;
  const trail: PlanningAction[] = [];
  let configuration: Configuration | undefined = begun(trials, unlimited);
  while (configuration !== undefined && !trials.meets(configuration)) {
    if (trials.stopped) return undefined;
    const next = relieved(trials, configuration);
    if (next !== undefined) trail.push(next.action);
    configuration = next?.configuration;
  }
  return configuration === undefined ? undefined : { configuration, trail };
}

function isStageLimited({ problem }: Trials, stage: number, candidate: number): boolean {
  const { replicas, candidates } = problem.stages[stage] as Trials['problem']['stages'][number];
  return replicas !== undefined || problem.counts[candidates[candidate]?.device as string] !== undefined;
}

/** begun gives each stage the replicas without which no plan is feasible: Algorithm 1 would add them one by one. */
function begun(trials: Trials, { candidate, batch }: Configuration): Configuration | undefined {
  let configuration: Configuration = { candidate, batch, replicas: new Int32Array(batch.length) };
  for (const i of candidate.keys()) {
    const option = optionOf(configuration, i);
    const free = trials.free(configuration, i, trials.candidate(i, option.candidate).device);
    const fixed = trials.problem.stages[i]?.replicas;
    const least = Math.min(trials.leastReplicas(i, option), trials.mostReplicas(i));
    // Replicas that are missing are made up for by a larger batch later; each stage needs one that is left to it.
    const later = candidate
      .slice(i + 1)
      .filter((k, j) => sameClass(trials, [i, option.candidate], [i + 1 + j, k]));
    const replicas = fixed ?? Math.max(1, Math.min(least, free - later.length));
    if (replicas > free) return undefined;
    configuration = withOption(configuration, i, { ...option, replicas });
  }
  return configuration;
}

function sameClass(trials: Trials, a: readonly [number, number], b: readonly [number, number]): boolean {
  return trials.candidate(...a).device === trials.candidate(...b).device;
}

interface Relief {
  readonly configuration: Configuration;
  readonly action: PlanningAction;
}

/** relieved gives the bottleneck a replica more, or a larger batch where it can have none; then the next busiest. */
function relieved(trials: Trials, configuration: Configuration): Relief | undefined {
  const busiest = [...configuration.batch.keys()].sort(
    (a, b) => utilization(trials, configuration, b) - utilization(trials, configuration, a) || a - b,
  );
  for (const stage of busiest) {
    const from = optionOf(configuration, stage);
    const { device } = trials.candidate(stage, from.candidate);
    const most = Math.min(trials.mostReplicas(stage), trials.free(configuration, stage, device));
    if (from.replicas >= most) continue;
    return relief(trials, configuration, {
      stage,
      action: 'add-replica',
      to: { ...from, replicas: from.replicas + 1 },
    });
  }
  for (const stage of busiest) {
    const from = optionOf(configuration, stage);
    const { batches } = trials.candidate(stage, from.candidate);
    const batch = batches.find((size) => size > from.batch);
    if (batch === undefined) continue;
    return relief(trials, configuration, { stage, action: 'change-batch', to: { ...from, batch } });
  }
  return undefined;
}

function relief(
  trials: Trials,
  before: Configuration,
  step: Pick<PlanningAction, 'stage' | 'action' | 'to'>,
): Relief {
  const configuration = withOption(before, step.stage, step.to);
  const hourlyCost = trials.hourlyCost(configuration);
  return { configuration, action: { ...step, from: optionOf(before, step.stage), hourlyCost } };
}

/** utilization is the time that the visits of a stage take in full batches, for each of its replicas. */
function utilization(trials: Trials, configuration: Configuration, stage: number): number {
  const { candidate, batch, replicas } = optionOf(configuration, stage);
  const { latencyNs } = trials.candidate(stage, candidate);
  const visits = trials.demands[stage]?.visits as number;
  return (visits * (latencyNs[batch - 1] as number)) / (batch * replicas);
}
