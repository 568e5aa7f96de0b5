import type { ApplicationSample, PipelineApplication, PipelineSpec } from '../artifacts/index.js';
import { quantileOfSorted } from '../metrics/index.js';
import {
  countWithin,
  type GivenProblem,
  objectiveNotes,
  type PipelineFiles,
  planChosen,
  resolveGiven,
  servedApplications,
  shareWithin,
} from '../pipeline/index.js';
import type { PipelinePlanBody } from '../plans/index.js';
import { ownLatencies } from './attainments.js';
import { estimatorOf } from './estimator.js';
import { chosenSpec, chosenStages } from './planning.js';
import type { ServedOverLinks } from './planning-job.js';
import type { Configuration, PipelineEstimator, PlanningProblem, Sample } from './problem.js';
import { isLinked } from './senders.js';
import type { PlannerInput } from './trials.js';

/** The seed of a sample's first draw. `plan simulate` draws other requests unless it is given the same. */
export const SAMPLE_SEED = 1;

const NS_PER_MS = 1e6;

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
export function isCoarse(method: PipelineSpec['planner']['method']): method is 'coarse-mean' | 'coarse-peak' {
  return method === 'coarse-mean' || method === 'coarse-peak';
}

/** Planned is what a configuration was chosen for. */
export interface Planned {
  readonly problem: PlanningProblem;
  readonly samples: readonly Sample[];
  readonly spec: PipelineSpec;
  readonly files: PipelineFiles;
  readonly simulated: ServedOverLinks;
  /** Estimators that a search has made, for problems with further candidates behind those of this one. */
  readonly known?: ReadonlyMap<Sample, PipelineEstimator>;
}

/** configuredPlan makes the plan of a configuration, with the figures of its sample, over links where batches may wait for them. */
export function configuredPlan(configuration: Configuration, planned: Planned): PipelinePlanBody {
  const { problem, samples, spec, files, known } = planned;
  const links = linkedServing(planned);
  const latencies = samples.map((sample, draw) => {
    if (links !== undefined) return links(configuration, draw);
    const estimator = known?.get(sample) ?? estimatorOf(problem, sample);
    return estimator.estimate(configuration).latencyNs;
  });
  const { notes = [], ...body } = chosenPlan(configuration, { problem, spec, files });
  const told = [...notes, ...objectiveNotes(spec)];
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
    method: spec.planner.method,
    sample: sampleFigures(draws, spec),
    ...(further === undefined ? {} : { objectives: further }),
  };
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
    return (samples[draw] as Sample).atNs.map(() => Number.POSITIVE_INFINITY);
  };
}

/**
 * linkedServing serves draws of the sample by the simulator, with the links of the servers on which a configuration is
 * placed; undefined where no batch can wait for a link, and the Estimator says the same in less time.
 */
export function linkedServing({ problem, samples, spec, files, simulated }: Planned): PlannerInput['serve'] {
  if (!isLinked(problem)) return undefined;
  let [last, served]: [string, ReturnType<ServedOverLinks> | undefined] = ['', undefined];
  return (configuration, draw) => {
    const key = `${configuration.candidate} ${configuration.batch} ${configuration.replicas}`;
    if (served === undefined || key !== last)
      served = simulated(chosenPlan(configuration, { problem, spec, files }), problem.graph.names);
    last = key;
    return served(samples[draw] as Sample);
  };
}

/** EstimatedDraws holds the draws of the sample and the latencies of their requests. */
interface EstimatedDraws {
  readonly latencies: readonly Float64Array[];
  readonly samples: readonly Sample[];
}

/** sampleFigures says what the Estimator gives for the draws of the sample. */
function sampleFigures(draws: EstimatedDraws, spec: PipelineSpec): NonNullable<PipelinePlanBody['sample']> {
  const { latencies } = draws;
  const inTime = inTimeOf(draws, spec);
  const requests = sumOf(latencies.map(({ length }) => length));
  return {
    requests,
    seed: SAMPLE_SEED,
    draws: latencies.length,
    attainment: sumOf(inTime) / requests,
    leastAttainment: Math.min(...inTime.map((one, k) => shareOf(one, latencies[k]?.length ?? 0))),
    ...quantilesMs(latencies),
  };
}

/** inTimeOf counts, in each draw, the requests that are within the SLO, or each within that of its application. */
function inTimeOf({ latencies, samples }: EstimatedDraws, spec: PipelineSpec): number[] {
  return latencies.map((latencyNs, draw) =>
    sumOf(
      servedApplications(spec).map(({ sloMs }, application) =>
        countWithin(ownLatencies(latencyNs, samples[draw] as Sample, application), sloMs),
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
  const own = latencies.map((latencyNs, draw) =>
    ownLatencies(latencyNs, samples[draw] as Sample, application),
  );
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
  const quantileMs = (p: number) => (quantileOfSorted(sorted, p) ?? 0) / NS_PER_MS;
  return { p50Ms: quantileMs(0.5), p95Ms: quantileMs(0.95), p99Ms: quantileMs(0.99) };
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
  return Math.min(...latenciesNs.map((one) => (one.length === 0 ? 1 : shareWithin(one, sloMs))));
}
