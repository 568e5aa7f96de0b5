import type { PipelinePlanBody } from '../plans/index.js';
import { estimatorOf } from './estimator.js';
import { configuredPlan, costProof, isCoarse, linkedServing } from './plan-body.js';
import { provedCost } from './planner.js';
import { planningProblemOf } from './planning.js';
import type { OpenPlanning, PlanningTools } from './planning-job.js';
import type { Configuration, PlanningProblem } from './problem.js';
import { fourDigits, percentText } from './reasons.js';

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
  const made = await planAsChosen({ ...plan, objective }, asked);
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
  reasons.push(...countReasons(problem, configuration));
  if (reasons.length > 0) return { status: 'infeasible', reasons };
  const samples = await drawn();
  const body = configuredPlan(configuration, { problem, samples, spec, files, simulated });
  if (isCoarse(spec.planner.method)) return { status: 'feasible', plan: body };
  const missed = [...busyReasons(body), ...missedObjectives(body)];
  if (missed.length > 0) return { status: 'infeasible', reasons: missed };
  const hourlyCost = body.hourlyCost ?? 0;
  const links = linkedServing({ problem, samples, spec, files, simulated });
  const isProvedAnew = proves && spec.planner.method === 'inferline' && plan.share === undefined;
  const bound = isProvedAnew
    ? Math.min(hourlyCost, provedCost({ problem, samples, estimatorOf, ...(links && { serve: links }) }))
    : (plan.objective?.bound ?? 0);
  return { status: 'feasible', plan: { ...body, ...costProof(hourlyCost, bound) } };
}

/** missedObjectives compares what a plan promises with what the Estimator gives for its sample. */
function missedObjectives({ sample, sloMs, attainment, objectives = [], applications }: PipelinePlanBody) {
  const sampleAttainment = sample?.leastAttainment as number;
  const all = { sloMs, attainment, sampleAttainment, whose: 'the sample' };
  const promised = applications?.map((one) => ({
    ...{ sloMs: one.sloMs, attainment, sampleAttainment: one.sample?.leastAttainment as number },
    whose: one.name,
  })) ?? [all, ...objectives.map((one) => ({ ...one, whose: 'the sample' }))];
  return promised
    .filter((one) => one.sampleAttainment < one.attainment)
    .map((one) => ({
      text: `${percentText(one.sampleAttainment)} of ${one.whose}'s worst draw are answered within ${fourDigits(one.sloMs)} ms, and the plan promises ${percentText(one.attainment)}`,
    }));
}

/** busyReasons finds stages of a plan that do not keep up with its mean rate. */
function busyReasons({ stages, rps = 0 }: PipelinePlanBody) {
  return stages
    .filter(({ maxProvisioningRatio = 0 }) => maxProvisioningRatio > 1 + ROUNDING)
    .map(({ name, replicas, device, scaleFactor, throughputRps }) => ({
      text: `${replicas} ${device} serve ${name} for at most ${fourDigits((replicas * throughputRps) / scaleFactor)} requests/s, and the load has ${fourDigits(rps)}`,
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
        text: `${name} is served by ${device} in batches of ${batch}, which its spec does not allow`,
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
