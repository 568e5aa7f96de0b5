import { busyLinks } from './busy-links.js';
import { planCoarsely } from './coarse.js';
import { withEnvelopeOf } from './envelope.js';
import { estimatorOf } from './estimator.js';
import { explainPipeline } from './explain.js';
import {
  chosenPlan,
  configuredPlan,
  costProof,
  isCoarse,
  linkedServing,
  type Planned,
  servedKeepingUp,
} from './plan-body.js';
import { type PlanningOutcome, planPipeline } from './planner.js';
import { planningProblemOf } from './planning.js';
import type { OpenPlanning, PlannedOpen, PlanningTools } from './planning-job.js';
import type { PipelineEstimator, Sample } from './problem.js';
import { infeasible, openReason } from './reasons.js';

/** How many estimates a search makes when no option says so. */
const MOST_ESTIMATES = 20_000;

/**
 * planOpen chooses device class, batch and replicas of every stage, by the method that the spec names.
 * @param stop is asked between estimates, with their number; the search ends with what it has where the answer is true
 */
export async function planOpen(
  { open, spec, files, work = MOST_ESTIMATES, explain = false, tellsSlo = true }: OpenPlanning,
  { drawn, simulated }: PlanningTools,
  stop: (estimates: number) => boolean,
): Promise<PlannedOpen> {
  const unfit = open.stages.flatMap(({ candidates, tooSmall }) => (candidates.length === 0 ? tooSmall : []));
  if (unfit.length > 0) return { status: 'infeasible', reasons: unfit, estimates: 0 };
  const problem = planningProblemOf(open);
  const samples = await drawn();
  const { method } = spec.planner;
  const { served, explained } = servings({ problem, samples, spec, files, simulated });
  if (isCoarse(method)) {
    const outcome = planCoarsely(problem, samples, method === 'coarse-mean' ? 'mean' : 'peak');
    if (outcome.status === 'infeasible') return infeasible(outcome, open);
    const plan = configuredPlan(outcome.configuration, { problem, samples, spec, files, simulated });
    const why = explain
      ? explainPipeline({ problem, samples, estimatorOf, ...explained }, outcome.configuration, [])
      : undefined;
    return { status: 'feasible', plan, finished: true, estimates: 0, ...(why && { explanation: why }) };
  }
  let isCut = false;
  const cutting = (estimates: number): boolean => {
    isCut ||= stop(estimates);
    return isCut;
  };
  // What the search has estimated last costs nothing to estimate again.
  const known = new Map<Sample, PipelineEstimator>();
  const kept: typeof estimatorOf = (asked, sample) => {
    const estimator = estimatorOf(asked, sample);
    known.set(sample, estimator);
    return estimator;
  };
  const outcome = planPipeline(
    { problem, samples, estimatorOf: kept, mostEstimates: work, stop: cutting, tellsSlo, ...served },
    method === 'exact' ? 'exact' : 'inferline',
  );
  if (outcome.status === 'undecided') return undecided(outcome, isCut, { problem, spec, files });
  if (outcome.status === 'infeasible') return infeasible(outcome, open);
  const { configuration, lowerBound, estimates, finished, trail } = outcome;
  const body = configuredPlan(configuration, { problem, samples, spec, files, simulated, known });
  const proved = {
    ...{ ...body, ...costProof(body.hourlyCost ?? 0, lowerBound) },
    ...(isCut ? { reproducible: false } : {}),
  };
  const why = explain
    ? explainPipeline({ problem, samples, estimatorOf, ...explained }, configuration, trail)
    : undefined;
  return {
    ...{
      status: 'feasible',
      plan: withEnvelopeOf(
        proved,
        samples.map(({ atNs }) => atNs),
      ),
      finished,
      estimates,
    },
    ...(why && { explanation: why }),
  };
}

/** servings are by what a search judges with links, and by what its answer is explained. */
function servings(planned: Planned) {
  const links = linkedServing(planned);
  if (links === undefined) return {};
  return { served: { serve: servedKeepingUp(links, planned) }, explained: { serve: links } };
}

/**
 * undecided says what ended a search, and names the links that were in the way, where links were.
 * @param isStopped whether the time was over or a person stopped it
 */
function undecided(
  { nearest, estimates, isCut }: Extract<PlanningOutcome, { status: 'undecided' }>,
  isStopped: boolean,
  planned: Pick<Planned, 'problem' | 'spec' | 'files'>,
): PlannedOpen {
  const reason =
    nearest === undefined
      ? openReason(planned.spec)
      : busyLinks(chosenPlan(nearest.configuration, planned), nearest, planned.spec);
  return {
    ...{ status: 'undecided', estimates },
    ...(isStopped ? { limit: 'time' } : isCut ? { limit: 'work' } : {}),
    reasons: reason === undefined || (nearest === undefined && (isStopped || isCut)) ? [] : [reason],
  };
}
