import { type PlanServing, pipelineMethodOf, toldDown } from '../formats/index.js';
import { type OpenProblem, pipelineServing, servesInOrder } from '../pipeline/index.js';
import { busyLinks } from './busy-links.js';
import { planCoarsely } from './coarse.js';
import { type ConfirmedPlan, confirmedPlan, inOrderAlone, unheldText } from './confirmed.js';
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
import { type PlanningOutcome, planPipeline, provedForAll } from './planner.js';
import { planningProblemOf } from './planning.js';
import type { OpenPlanning, PlannedOpen, PlanningTools } from './planning-job.js';
import type { Configuration, PipelineEstimator, Sample, TailObjective } from './problem.js';
import { infeasible, openReason } from './reasons.js';
import type { PlannerInput, PlanningAction } from './trials.js';

/** How many estimates a search makes when no option says so. */
const MOST_ESTIMATES = 20_000;

/**
 * planOpen chooses device class, batch and replicas of every stage, by the method that the spec names, and confirms the plan
 * under the scheduler that serves it.
 * @param stop is asked between estimates, with their number; the search ends with what it has where the answer is true
 */
export async function planOpen(
  { open, spec, files, work = MOST_ESTIMATES, gap = 0, explain = false, tellsSlo = true }: OpenPlanning,
  { drawn, simulated }: PlanningTools,
  stop: (estimates: number) => boolean,
): Promise<PlannedOpen> {
  const unfit = open.stages.flatMap(({ candidates, tooSmall }) => (candidates.length === 0 ? tooSmall : []));
  if (unfit.length > 0) return { status: 'infeasible', isProved: true, reasons: unfit, estimates: 0 };
  const samples = await drawn();
  const planned = { problem: planningProblemOf(open), samples, spec, files, simulated };
  if (isCoarse(pipelineMethodOf(spec))) return coarsePlan(planned, open, explain);
  let isCut = false;
  const cutting = (estimates: number): boolean => {
    isCut ||= stop(estimates);
    return isCut;
  };
  // The sample that the search estimated last costs nothing to estimate again.
  const known = new Map<Sample, PipelineEstimator>();
  const kept: typeof estimatorOf = (asked, sample) => {
    const estimator = estimatorOf(asked, sample);
    known.set(sample, estimator);
    return estimator;
  };
  const { served } = servings(planned);
  const input = { problem: planned.problem, samples, mostEstimates: work, gap, stop: cutting, ...served };
  const outcome = planPipeline(
    { ...input, estimatorOf: kept, tellsSlo },
    pipelineMethodOf(spec) === 'exact' ? 'exact' : 'inferline',
  );
  if (outcome.status === 'undecided') return undecided(outcome, isCut, planned);
  if (outcome.status === 'infeasible') return withoutPlan(outcome, planned, open);
  const { estimates } = outcome;
  const confirmed = confirmedPlan(
    outcome.configuration,
    { ...planned, known },
    { search: (factor) => forShorterSlos(input, factor), stop: () => cutting(estimates) },
  );
  if (confirmed !== undefined) return foundPlan(outcome, confirmed, { planned, isCut, explain });
  return {
    status: 'undecided',
    estimates,
    ...(isCut ? { limit: 'time' } : {}),
    reasons: [{ code: 'other', text: unheldText(spec) }],
  };
}

/** coarsePlan makes the plan of a baseline, which nobody confirms. */
function coarsePlan(planned: Planned, open: OpenProblem, explain: boolean): PlannedOpen {
  const { problem, samples, spec } = planned;
  const outcome = planCoarsely(problem, samples, pipelineMethodOf(spec) === 'coarse-mean' ? 'mean' : 'peak');
  if (outcome.status === 'infeasible') return infeasible(outcome, open);
  const { configuration } = outcome;
  const plan = configuredPlan(configuration, planned, pipelineServing(spec));
  const why = explain ? explained(planned, configuration, []) : {};
  return { status: 'feasible', plan, finished: true, estimates: 0, ...why };
}

/** withoutPlan is the answer that there is no plan: of any scheduler, or of those that serve in order of arrival. */
function withoutPlan(
  outcome: Extract<PlanningOutcome, { status: 'infeasible' }>,
  planned: Planned,
  open: OpenProblem,
): PlannedOpen {
  const { spec } = planned;
  const serving = pipelineServing(spec);
  const isInOrder = servesInOrder(serving);
  // The search does not know which SLO another scheduler that the spec names would hold.
  const { least: _, ...rest } = outcome;
  const told = infeasible(isInOrder || spec.serving === undefined ? outcome : rest, open);
  return isInOrder || boundForAll(planned) === Number.POSITIVE_INFINITY ? told : onlyInOrder(told, serving);
}

/** foundPlan adds to a confirmed plan what is proved of its cost. */
function foundPlan(
  { lowerBound, finished, estimates, trail }: Extract<PlanningOutcome, { status: 'feasible' }>,
  { plan: body, configuration }: ConfirmedPlan,
  {
    planned,
    isCut,
    explain,
  }: { readonly planned: Planned; readonly isCut: boolean; readonly explain: boolean },
): PlannedOpen {
  const { spec, samples } = planned;
  const isInOrder = servesInOrder(pipelineServing(spec));
  const notes = [
    ...(body.notes ?? []),
    ...(isInOrder || pipelineMethodOf(spec) !== 'exact' ? [] : [leastInOrder(lowerBound)]),
  ];
  const proved = {
    ...body,
    ...costProof(body.hourlyCost ?? 0, isInOrder ? lowerBound : boundForAll(planned)),
    ...(notes.length === 0 ? {} : { notes }),
    ...(isCut ? { reproducible: false } : {}),
  };
  const plan = withEnvelopeOf(
    proved,
    samples.map(({ atNs }) => atNs),
  );
  const why = explain ? explained(planned, configuration, trail) : {};
  return { status: 'feasible', plan, finished, estimates, ...why };
}

/** boundForAll is a cost below which no plan holds, whatever scheduler serves it. */
function boundForAll(planned: Planned): number {
  const { problem, samples } = planned;
  return provedForAll({ problem, samples, estimatorOf, ...servings(planned).served });
}

/** explained says what each change of a configuration brings, as served in order of arrival. */
function explained(
  planned: Planned,
  configuration: Configuration,
  trail: readonly PlanningAction[],
): Pick<Extract<PlannedOpen, { status: 'feasible' }>, 'explanation'> {
  const { problem, samples } = planned;
  const input = { problem, samples, estimatorOf, ...servings(planned).explained };
  return { explanation: explainPipeline(input, configuration, trail) };
}

/** forShorterSlos plans for SLOs that are so many times as long. */
function forShorterSlos(input: Omit<PlannerInput, 'estimatorOf'>, factor: number): Configuration | undefined {
  const objectives = input.problem.objectives.map((one) => stretched(one, factor));
  const shorter = { ...input, problem: { ...input.problem, objectives }, estimatorOf, tellsSlo: false };
  const found = planPipeline(shorter, 'inferline');
  return found.status === 'feasible' ? found.configuration : undefined;
}

function stretched(objective: TailObjective, factor: number): TailObjective {
  return { ...objective, sloNs: Math.round(factor * objective.sloNs) };
}

/** leastInOrder says what an exact search proves, where its plan is served otherwise. */
function leastInOrder(lowerBound: number): string {
  return `no plan that holds the sample in order of arrival (serving: { scheduler: inferline }) costs less than ${toldDown(lowerBound)} per hour; of plans that other schedulers serve, less is proved`;
}

/** onlyInOrder is the answer that there is no plan, where that is proved of plans alone that are served in order of arrival. */
function onlyInOrder(answer: PlannedOpen, serving: PlanServing): PlannedOpen {
  if (answer.status !== 'infeasible') return answer;
  const reasons = answer.reasons.map((reason) => ({
    ...reason,
    text: `${inOrderAlone(serving)}: ${reason.text}`,
  }));
  return { ...answer, isProved: false, reasons };
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
    status: 'undecided',
    estimates,
    ...(isStopped ? { limit: 'time' } : isCut ? { limit: 'work' } : {}),
    reasons: reason === undefined || (nearest === undefined && (isStopped || isCut)) ? [] : [reason],
  };
}
