import type { PipelineSpec, PlanServing } from '../formats/index.js';
import { FALLBACKS, IN_ORDER, objectivesOf, pipelineServing, servesInOrder } from '../pipeline/index.js';
import { areWeighed, type PipelinePlanBody } from '../plans/index.js';
import { estimatorOf } from './estimator.js';
import { grown } from './grown.js';
import { configuredPlan, type Planned, simulatedServing } from './plan-body.js';
import type { Configuration } from './problem.js';
import { fourDigits } from './reasons.js';

/** ConfirmedPlan is a configuration as it is served, with what that makes of the sample. */
export interface ConfirmedPlan {
  readonly plan: PipelinePlanBody;
  readonly configuration: Configuration;
}

/** SLOs this many times as long are planned for, one after another, where more replicas alone do not hold the objectives. */
const SHORTER = [0.97, 0.92, 0.85, 0.75, 0.6];

/** The most points by which less of a sample may be in time than where nothing is dropped, as a share. */
const MOST_LOST = 0.002;

/** Searching is what a plan that is not held is searched for again with. */
interface Searching {
  /** search plans again for SLOs that are so many times as long, in order of arrival. */
  readonly search: (factor: number) => Configuration | undefined;
  readonly stop: () => boolean;
}

/**
 * confirmedPlan makes the plan of a configuration that meets the objectives in order of arrival, and serves its sample by
 * the scheduler that will serve it. Where that misses an objective, and the spec names it, replicas are added until it holds;
 * where they do not help, it is planned for shorter SLOs too. Where nobody named it, one of FALLBACKS may serve the
 * plan instead, which costs no more, and a note says so.
 * @returns undefined where the spec's scheduler holds no plan that was found
 */
export function confirmedPlan(
  configuration: Configuration,
  planned: Planned,
  { search, stop }: Searching,
): ConfirmedPlan | undefined {
  const { spec } = planned;
  const serving = pipelineServing(spec);
  const plan = configuredPlan(configuration, planned, serving);
  if (servesInOrder(serving)) return { plan, configuration };
  // A scheduler that serves in order of arrival does not weigh requests.
  if (spec.serving === undefined && !areWeighed(spec.applications))
    return { plan: servedUnnamed(configuration, planned, plan), configuration };
  if (missedObjectives(plan).length === 0) return { plan, configuration };
  const { problem, samples } = planned;
  const serve = simulatedServing(planned, serving);
  const input = { problem, samples, estimatorOf, serve, stop };
  for (const factor of [1, ...SHORTER]) {
    const begin = factor === 1 ? configuration : search(factor);
    const held = begin && grown(input, begin);
    if (held !== undefined) return { plan: configuredPlan(held, planned, serving), configuration: held };
    if (stop()) break;
  }
  return undefined;
}

/**
 * servedUnnamed makes the plan of a configuration by the first scheduler, of the default and FALLBACKS, that holds its sample
 * and has hardly less of it in time than where nothing is dropped; where none that drops loses so little, by that of them
 * which holds it and loses least. The last of FALLBACKS drops nothing.
 */
function servedUnnamed(
  configuration: Configuration,
  planned: Planned,
  byDefault: PipelinePlanBody,
): PipelinePlanBody {
  const attainmentOf = ({ sample }: PipelinePlanBody) => sample?.attainment as number;
  const holds = (plan: PipelinePlanBody) => missedObjectives(plan).length === 0;
  if (holds(byDefault) && attainmentOf(byDefault) >= 1 - MOST_LOST) return byDefault;
  const servedBy = (fallback: PlanServing) =>
    configuredPlan(configuration, planned, { ...byDefault.serving, ...fallback });
  const inOrder = servedBy(IN_ORDER);
  const lost = (plan: PipelinePlanBody) => attainmentOf(inOrder) - attainmentOf(plan);
  if (holds(byDefault) && lost(byDefault) <= MOST_LOST) return byDefault;
  const dropping = FALLBACKS.filter((one) => !servesInOrder(one)).map(servedBy);
  const [first = inOrder, ...others] = [byDefault, ...dropping].filter(holds);
  return others.reduce(
    (best, plan) => (lost(best) > MOST_LOST && lost(plan) < lost(best) ? plan : best),
    first,
  );
}

interface MissedObjective {
  readonly sloMs: number;
  readonly attainment: number;
  readonly sampleAttainment: number;
  /** The application whose requests it is about, or the sample. */
  readonly whose: string;
}

/** missedObjectives lists the objectives of a plan that its sample does not meet. */
export function missedObjectives({
  sample,
  sloMs,
  attainment,
  objectives = [],
  applications,
}: PipelinePlanBody): MissedObjective[] {
  const whose = 'the sample';
  const all = { sloMs, attainment, sampleAttainment: sample?.leastAttainment as number, whose };
  const promised = applications?.map((one) => ({
    sloMs: one.sloMs,
    attainment,
    sampleAttainment: one.sample?.leastAttainment as number,
    whose: one.name,
  })) ?? [all, ...objectives.map((one) => ({ ...one, whose }))];
  return promised.filter((one) => one.sampleAttainment < one.attainment);
}

/** unheldText says that no plan was found which the scheduler of a spec holds. */
export function unheldText(spec: PipelineSpec): string {
  const { scheduler } = pipelineServing(spec);
  const wanted = objectivesOf(spec).map(({ sloMs }) => `${fourDigits(sloMs)} ms`);
  return `plans were found that answer within ${wanted.join(' and ')} in order of arrival, and none that ${scheduler} holds, with more replicas or planned for a shorter SLO either; another serving.scheduler or a longer SLO would help`;
}

/** inOrderAlone says that a proof is of plans that are served in order of arrival alone. */
export function inOrderAlone({ scheduler }: PlanServing): string {
  return `no plan that is served in order of arrival (scheduler ${IN_ORDER.scheduler}) holds the sample, which is proved; of plans that ${scheduler} serves it is not`;
}
