import { pushAll } from '../collections/index.js';
import { type PipelineSpec, pipelineMethodOf, toldApart } from '../formats/index.js';
import { FALLBACKS, loadTooHighText, pipelineServing, servesInOrder } from '../pipeline/index.js';
import type { PipelinePlanBody } from '../plans/index.js';
import { missedObjectives } from './confirmed.js';
import { estimatorOf } from './estimator.js';
import { configuredPlan, costProof, isCoarse, linkedServing } from './plan-body.js';
import { provedCost, provedForAll } from './planner.js';
import { planningProblemOf } from './planning.js';
import type { OpenPlanning, PlanningTools } from './planning-job.js';
import type { Configuration, PlanningProblem } from './problem.js';
import { fourDigits } from './reasons.js';
import type { PlannerInput } from './trials.js';

const ROUNDING = 1e-9;

/** ChosenFor is what a plan's choices are to serve, with what draws its sample and simulates it. */
export interface ChosenFor extends Pick<OpenPlanning, 'open' | 'spec' | 'files'>, PlanningTools {}

/**
 * takenOver makes the plan of a job from what another plan chose for the stages, with a bound on the cost of any plan. It
 * is undefined where the job cannot be served so.
 */
export async function takenOver(
  plan: PipelinePlanBody,
  asked: ChosenFor,
  bound: number,
): Promise<PipelinePlanBody | undefined> {
  const objective = { kind: 'cost' as const, value: 0, gap: 0, bound };
  const taken = { ...plan, objective };
  const { serving = pipelineServing(asked.spec) } = plan;
  let made = await planAsChosen(taken, asked);
  for (const fallback of asked.spec.serving === undefined ? FALLBACKS : []) {
    if (made.status === 'feasible') break;
    made = await planAsChosen({ ...taken, serving: { ...serving, ...fallback } }, asked);
  }
  if (made.status !== 'feasible') return undefined;
  return { ...made.plan, ...costProof(made.plan.hourlyCost ?? 0, bound) };
}

/**
 * planAsChosen makes a plan again from its spec with what it chose for its stages. Its bound is taken as it is, unless
 * it is to be proved anew: that of an exact search, or of several pipelines together, only the search could prove.
 */
export async function planAsChosen(
  plan: PipelinePlanBody,
  { open, spec, files, drawn, simulated }: ChosenFor,
  { proves = false }: { readonly proves?: boolean } = {},
): Promise<{ readonly status: 'feasible'; readonly plan: PipelinePlanBody } | ChoiceFaults> {
  const problem = planningProblemOf(open);
  const { configuration, reasons } = configurationOf(problem, plan);
  pushAll(reasons, countReasons(problem, configuration));
  if (reasons.length > 0) return { status: 'infeasible', reasons };
  const samples = await drawn();
  const { serving = pipelineServing(spec) } = plan;
  const body = configuredPlan(configuration, { problem, samples, spec, files, simulated }, serving);
  if (isCoarse(pipelineMethodOf(spec))) return { status: 'feasible', plan: body };
  const missed = [...busyReasons(body), ...missedReasons(body)];
  if (missed.length > 0) return { status: 'infeasible', reasons: missed };
  const hourlyCost = body.hourlyCost ?? 0;
  const links = linkedServing({ problem, samples, spec, files, simulated });
  const isInOrder = servesInOrder(serving);
  const isProvedAnew =
    proves && (pipelineMethodOf(spec) === 'inferline' || !isInOrder) && plan.share === undefined;
  const told = plan.objective?.bound ?? 0;
  const input = { problem, samples, estimatorOf, ...(links && { serve: links }) };
  const bound = isProvedAnew ? provedAnew(input, { hourlyCost, told, isInOrder, spec }) : told;
  return { status: 'feasible', plan: { ...body, ...costProof(hourlyCost, bound) } };
}

/**
 * provedAnew proves the bound of a plan again. Where the spec names no scheduler, that of a plan which is
 * served in order of arrival is either of all plans, or of such plans alone, as older versions wrote it: the
 * one that the plan has.
 */
function provedAnew(
  input: PlannerInput,
  {
    hourlyCost,
    told,
    isInOrder,
    spec,
  }: {
    readonly hourlyCost: number;
    readonly told: number;
    readonly isInOrder: boolean;
    readonly spec: PipelineSpec;
  },
): number {
  const forAll =
    isInOrder && spec.serving !== undefined ? undefined : Math.min(hourlyCost, provedForAll(input));
  if (forAll !== undefined && (!isInOrder || Math.abs(forAll - told) <= ROUNDING * Math.max(1, told)))
    return forAll;
  return Math.min(hourlyCost, provedCost(input));
}

/** missedReasons compares what a plan promises with what its scheduler makes of its sample. */
function missedReasons(body: PipelinePlanBody) {
  return missedObjectives(body).map(({ sampleAttainment, attainment, whose, sloMs }) => {
    const [answered, promised] = toldApart([100 * sampleAttainment, 100 * attainment]);
    return {
      text: `${answered} % of ${whose}'s worst draw are answered within ${fourDigits(sloMs)} ms, and the plan promises ${promised} %`,
    };
  });
}

/** busyReasons finds stages of a plan that do not keep up with its mean rate. */
function busyReasons({ stages, rps = 0 }: PipelinePlanBody) {
  return stages
    .filter(({ maxProvisioningRatio = 0 }) => maxProvisioningRatio > 1 + ROUNDING)
    .map(({ name, replicas, device, scaleFactor, throughputRps }) => ({
      text: loadTooHighText({
        devices: `${replicas} ${device}`,
        stages: [name],
        rps,
        servedRps: (replicas * throughputRps) / scaleFactor,
      }),
    }));
}

interface ChoiceFaults {
  readonly status: 'infeasible';
  readonly reasons: readonly { readonly text: string }[];
}

/** configurationOf reads what a plan chose for the stages of its spec. */
function configurationOf({ graph, stages }: PlanningProblem, plan: PipelinePlanBody) {
  const reasons: { text: string }[] = [];
  const chosen = graph.names.map((name, i) => {
    const { device, batch = 1, replicas = 1 } = plan.stages.find((stage) => stage.name === name) ?? {};
    const { candidates = [] } = stages[i] ?? {};
    const candidate = candidates.findIndex((one) => one.device === device && one.batches.includes(batch));
    if (candidate < 0)
      reasons.push({
        text: `${name} is served by ${device ?? 'no device'} in batches of ${batch}, which its spec does not allow`,
      });
    const fixed = stages[i]?.replicas;
    if (fixed !== undefined && fixed !== replicas)
      reasons.push({ text: `${name} has ${replicas} replicas, and its spec fixes ${fixed}` });
    return { candidate: Math.max(0, candidate), batch, replicas };
  });
  const configuration = {
    candidate: Int32Array.from(chosen, (one) => one.candidate),
    batch: Int32Array.from(chosen, (one) => one.batch),
    replicas: Int32Array.from(chosen, (one) => one.replicas),
  };
  return { configuration, reasons };
}

/** countReasons finds classes of which a plan uses more devices than its spec's cluster has. */
function countReasons({ counts, stages }: PlanningProblem, { candidate, replicas }: Configuration) {
  return Object.entries(counts).flatMap(([device, count]) => {
    const used = stages.reduce(
      (sum, { candidates }, i) =>
        candidates[candidate[i] as number]?.device === device ? sum + (replicas[i] as number) : sum,
      0,
    );
    return used > count ? [{ text: `${used} ${device} are used and ${count} are free` }] : [];
  });
}
