import { itemAt, smallestOf } from '../collections/index.js';
import {
  type ApplicationSample,
  NS_PER_MS,
  type PipelineApplication,
  type PipelineMethod,
  type PipelineSpec,
  type PlanServing,
  pipelineMethodOf,
  type StageMisses,
  sha256Of,
} from '../formats/index.js';
import { quantileOfSorted } from '../metrics/index.js';
import {
  countWithin,
  type GivenProblem,
  IN_ORDER,
  objectiveNotes,
  type PipelineFiles,
  pipelineServing,
  planChosen,
  resolveGiven,
  servedApplications,
  servesInOrder,
  shareWithin,
} from '../pipeline/index.js';
import type { PipelinePlanBody } from '../plans/index.js';
import { ownLatencies } from './attainments.js';
import { estimatorOf } from './estimator.js';
import { chosenSpec, chosenStages } from './planning.js';
import type { Misses, ServedBySimulator } from './planning-job.js';
import type { Configuration, PipelineEstimator, PlanningProblem, Sample } from './problem.js';
import { isLinked } from './senders.js';
import type { PlannerInput } from './trials.js';

/** The seed of a sample's first draw. `plan simulate` draws other requests unless it is given the same. */
export const SAMPLE_SEED = 1;

/** Costs and rates that differ by less, relatively, are equal. */
const ROUNDING = 1e-9;

/**
 * costProof says how near a cost is to a bound on what any plan costs. There is no gap where the bound is 0 and the cost is
 * not, because no ratio says it.
 * @throws Error where the plan costs less than its bound, which is then no bound
 */
export function costProof(hourlyCost: number, lowerBound: number) {
  if (lowerBound > hourlyCost + ROUNDING * Math.max(1, hourlyCost))
    throw new Error(
      `the plan costs ${hourlyCost}, and it was proved that none costs less than ${lowerBound}`,
    );
  const bound = Math.min(hourlyCost, lowerBound);
  const isOptimal = hourlyCost <= bound * (1 + ROUNDING);
  return {
    status: isOptimal ? ('optimal' as const) : ('feasible' as const),
    objective: {
      kind: 'cost' as const,
      value: hourlyCost,
      bound: isOptimal ? hourlyCost : bound,
      ...(isOptimal ? { gap: 0 } : bound === 0 ? {} : { gap: hourlyCost / bound - 1 }),
    },
  };
}

/** isCoarse says whether a method takes the pipeline for one black box, and proves nothing. */
export function isCoarse(method: PipelineMethod): method is 'coarse-mean' | 'coarse-peak' {
  return method === 'coarse-mean' || method === 'coarse-peak';
}

/** Planned is what a configuration was chosen for. */
export interface Planned {
  readonly problem: PlanningProblem;
  readonly samples: readonly Sample[];
  readonly spec: PipelineSpec;
  readonly files: PipelineFiles;
  readonly simulated: ServedBySimulator;
  /** Estimators that a search has made, for problems with further candidates behind those of this one. */
  readonly known?: ReadonlyMap<Sample, PipelineEstimator>;
}

/**
 * configuredPlan makes the plan of a configuration that a scheduler serves, with what that makes of the sample: over links
 * where batches may wait for them.
 */
export function configuredPlan(
  configuration: Configuration,
  planned: Planned,
  serving: PlanServing,
): PipelinePlanBody {
  const { problem, samples, spec, files, known } = planned;
  const { names } = problem.graph;
  const misses: Misses = new Float64Array(names.length + 1);
  const isInOrder = servesInOrder(serving);
  const serve = simulatedServing(planned, isInOrder ? IN_ORDER : serving);
  const latencies = samples.map((sample, draw) => {
    const latencyNs = serve(configuration, draw, misses);
    if (!isInOrder || isLinked(problem)) return latencyNs;
    const estimator = known?.get(sample) ?? estimatorOf(problem, sample);
    return estimator.estimate(configuration).latencyNs;
  });
  const { notes = [], ...body } = chosenPlan(configuration, { problem, spec, files });
  const told = [...notes, ...objectiveNotes(spec), ...fallbackNotes(spec, serving)];
  const further = spec.objectives?.map((one) => ({
    ...one,
    sampleAttainment: leastWithin(latencies, one.sloMs),
  }));
  const draws = { latencies, samples };
  const applications = spec.applications?.map((one, application) => ({
    ...one,
    sample: applicationFigures(draws, one, application),
  }));
  return {
    ...body,
    ...(applications === undefined ? {} : { applications }),
    ...(told.length === 0 ? {} : { notes: told }),
    method: pipelineMethodOf(spec),
    serving,
    sample: { ...sampleFigures(draws, spec), ...missesIn(misses, names), sha256: digestOf(samples) },
    ...(further === undefined ? {} : { objectives: further }),
  };
}

/** fallbackNotes say why a plan is not served by the default scheduler, although its spec names no other. */
function fallbackNotes(spec: PipelineSpec, serving: PlanServing): string[] {
  const { scheduler } = pipelineServing(spec);
  if (spec.serving !== undefined || serving.scheduler === scheduler) return [];
  const why = servesInOrder(serving)
    ? `${serving.scheduler}, in order of arrival and dropping nothing, since ${scheduler}, the default, misses what is asked of the sample`
    : `${serving.scheduler} since ${scheduler}, the default, misses what is asked of the sample, or has over 0.2 points less of it in time than where nothing is dropped`;
  return [
    `it is served by ${why}; with serving: { scheduler: ${scheduler} } in the spec it is served by that, and replicas are added until it holds`,
  ];
}

/** chosenPlan makes the plan of a configuration, which has no figures of the sample yet. */
export function chosenPlan(
  configuration: Configuration,
  { problem, spec, files }: Pick<Planned, 'problem' | 'spec' | 'files'>,
): PipelinePlanBody {
  const resolved = resolveGiven(chosenSpec(spec, chosenStages(problem, configuration)), files);
  return planChosen(resolved.problem as GivenProblem);
}

/** servedKeepingUp serves no request in time by plans whose servers send less than comes at the mean rate of the load. */
export function servedKeepingUp(
  serve: NonNullable<PlannerInput['serve']>,
  { samples, ...planned }: Planned,
): NonNullable<PlannerInput['serve']> {
  return (configuration, draw) => {
    const { rps = 0, throughputRps } = chosenPlan(configuration, planned);
    if (throughputRps >= rps * (1 - ROUNDING)) return serve(configuration, draw);
    return itemAt(samples, draw).atNs.map(() => Number.POSITIVE_INFINITY);
  };
}

/**
 * linkedServing serves draws of the sample by the simulator, with the links of the servers on which a configuration is
 * placed; undefined where no batch can wait for a link, and the Estimator says the same in less time.
 */
export function linkedServing(planned: Planned): PlannerInput['serve'] {
  return isLinked(planned.problem) ? simulatedServing(planned, IN_ORDER) : undefined;
}

/** simulatedServing serves draws of the sample by the simulator, under a scheduler, with the links of the servers. */
export function simulatedServing(
  { problem, samples, spec, files, simulated }: Planned,
  serving: PlanServing,
): (configuration: Configuration, draw: number, misses?: Misses) => Float64Array {
  let [last, served]: [string, ReturnType<ServedBySimulator> | undefined] = ['', undefined];
  return (configuration, draw, misses) => {
    const key = `${configuration.candidate} ${configuration.batch} ${configuration.replicas}`;
    if (served === undefined || key !== last)
      served = simulated(chosenPlan(configuration, { problem, spec, files }), problem.graph.names, serving);
    last = key;
    return served(itemAt(samples, draw), draw, misses);
  };
}

/** missesIn names the stages at which requests missed their SLO. */
function missesIn(misses: Misses, names: readonly string[]): { readonly missesByStage: StageMisses[] } {
  const missed = [...names, 'entry'].map((stage, i) => ({ stage, requests: misses[i] as number }));
  return { missesByStage: missed.filter(({ requests }) => requests > 0) };
}

/** digestOf is the digest of all draws: of their columns in turn, as they lie in memory. */
function digestOf(samples: readonly Sample[]): string {
  const columns = samples.flatMap(({ atNs, verdicts, applications = [] }) => [
    atNs,
    ...verdicts.map((own) => own ?? new Int32Array(0)),
    Uint8Array.from(applications),
  ]);
  const digests = columns.map((own) => sha256Of(new Uint8Array(own.buffer, own.byteOffset, own.byteLength)));
  return sha256Of(digests.join('\n'));
}

/** EstimatedDraws holds the draws of the sample and the latencies of their requests. */
interface EstimatedDraws {
  readonly latencies: readonly Float64Array[];
  readonly samples: readonly Sample[];
}

/** sampleFigures says what is made of the draws of the sample. Requests that take for ever are dropped. */
function sampleFigures(draws: EstimatedDraws, spec: PipelineSpec): NonNullable<PipelinePlanBody['sample']> {
  const { latencies } = draws;
  const inTime = inTimeOf(draws, spec);
  const requests = sumOf(latencies.map(({ length }) => length));
  const dropped = sumOf(latencies.map(droppedIn));
  return {
    requests,
    seed: SAMPLE_SEED,
    draws: latencies.length,
    attainment: sumOf(inTime) / requests,
    leastAttainment: smallestOf(inTime.map((one, k) => shareOf(one, latencies[k]?.length ?? 0))),
    ...(dropped === 0 ? {} : { dropped }),
    ...quantilesMs(latencies),
  };
}

/** inTimeOf counts, in each draw, the requests that are within the SLO, or each within that of its application. */
function inTimeOf({ latencies, samples }: EstimatedDraws, spec: PipelineSpec): number[] {
  return latencies.map((latencyNs, draw) =>
    sumOf(
      servedApplications(spec).map(({ sloMs }, application) =>
        countWithin(ownLatencies(latencyNs, itemAt(samples, draw), application), sloMs),
      ),
    ),
  );
}

/** applicationFigures says what the Estimator gives for the requests of an application. */
function applicationFigures(
  { latencies, samples }: EstimatedDraws,
  { sloMs }: PipelineApplication,
  application: number,
): ApplicationSample {
  const own = latencies.map((latencyNs, draw) => ownLatencies(latencyNs, itemAt(samples, draw), application));
  const all = joined(own);
  return {
    requests: all.length,
    attainment: all.length === 0 ? 1 : shareWithin(all, sloMs),
    leastAttainment: leastWithin(own, sloMs),
    ...(all.length === 0 ? {} : quantilesMs(own)),
  };
}

function quantilesMs(latencies: readonly Float64Array[]) {
  const sorted = joined(latencies).sort();
  const answered = sorted.subarray(0, sorted.length - droppedIn(sorted));
  const quantileMs = (p: number) => (quantileOfSorted(answered, p) ?? 0) / NS_PER_MS;
  return { p50Ms: quantileMs(0.5), p95Ms: quantileMs(0.95), p99Ms: quantileMs(0.99) };
}

function droppedIn(latencyNs: Float64Array): number {
  return latencyNs.reduce((sum, ns) => sum + Number(ns === Number.POSITIVE_INFINITY), 0);
}

function shareOf(part: number, all: number): number {
  return all === 0 ? 1 : part / all;
}

function sumOf(values: readonly number[]): number {
  return values.reduce((all, one) => all + one, 0);
}

function joined(columns: readonly Float64Array[]): Float64Array {
  const all = new Float64Array(columns.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const column of columns) {
    all.set(column, at);
    at += column.length;
  }
  return all;
}

/** leastWithin is the share of requests within an SLO, in the draw where it is least. */
function leastWithin(latenciesNs: readonly Float64Array[], sloMs: number): number {
  return smallestOf(latenciesNs.map((one) => (one.length === 0 ? 1 : shareWithin(one, sloMs))));
}
