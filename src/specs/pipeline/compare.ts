import { itemAt } from '../../collections/index.js';
import { type CompareRow, pipelineMethodOf } from '../../formats/index.js';
import { type PlannedOpen, takenOver } from '../../inferline/index.js';
import {
  leastSloMs,
  openFigures,
  resolveOpen,
  servedApplications,
  unprofiledNotes,
} from '../../pipeline/index.js';
import type { PipelinePlanBody } from '../../plans/index.js';
import { useFigures } from '../cost-per-million.js';
import { type CaseFound, sharedBetween } from '../easier.js';
import { endedReasons } from '../ended-reasons.js';
import { mixFigures } from '../mixes.js';
import type { RefusedCase } from '../side-by-side.js';
import { missedWhatWasAsked, type SolveLimits } from '../solve-limits.js';
import type { AnsweredCase, CaseAnswers, ComparingOf } from '../spec-of.js';
import type { Refusal } from '../taken-options.js';
import { type PipelineCase, pipelineCases } from './cases.js';
import type { PipelineTypes } from './kind.js';
import { type LoadedPipeline, loadPipeline } from './pipeline.js';
import { PIPELINE_THREAD, type PlanningJob, planningTools } from './planning-job.js';

const FOR_POOLED_SPECS: Refusal = { refused: 'is for pooled specs' };

/** The methods whose plans are as cheap as these plans can be, so that a plan of another case may take their place. */
const SHARING: readonly string[] = ['inferline', 'exact'];

/**
 * comparingPipeline is how cases of pipelines are planned and reported. By `inferline` and `exact`, a plan that serves another
 * case too is its answer where that is cheaper, and a bound counts wherever it holds.
 */
export const comparingPipeline: ComparingOf<PipelineTypes> = {
  // Its plans are not searched for what they hold.
  options: { gap: 'taken', hold: FOR_POOLED_SPECS },
  thread: PIPELINE_THREAD,
  refuse: async () => undefined,
  hasFrontier: false,
  load: (spec) => loadPipeline(spec),
  cases: pipelineCases,
  prepare: ({ files: { cluster } }) => ({
    notes: [],
    currency: cluster.currency,
    figures: ({ open, files }) => openFigures(open, files),
  }),
  jobOf: jobWithin,
  isWhole: (outcome) => outcome.status === 'feasible' && outcome.finished,
  shares: ({ spec }, cases, answers) =>
    SHARING.includes(pipelineMethodOf(spec.value))
      ? sharedBetween(
          answers.map((answer, i) => foundOf(answer, itemAt(cases, i))),
          'least',
        )
      : [],
  head: headOf,
  async row(answered, loaded) {
    const plan = await bestPlan(answered, loaded);
    const { variant, answer } = answered;
    const notes = unprofiledNotes(variant.spec, { ...loaded.files, cluster: variant.cluster });
    if (plan === undefined) return { row: rowWithout(variant, answer), notes };
    return { row: rowOfPlan(variant, plan), notes: [...notes, ...(plan.notes ?? [])] };
  },
  isCut: (outcome, options) =>
    ((options.work !== undefined || options.timeLimit !== undefined) &&
      (outcome.status === 'undecided' || (outcome.status === 'feasible' && !outcome.finished))) ||
    (outcome.status === 'feasible' && missedWhatWasAsked(undefined, outcome.plan.objective?.gap, options)),
};

type Answer = CaseAnswers<PipelineTypes>[number];

function planIn(answer: Answer): PipelinePlanBody | undefined {
  return answer !== undefined && 'status' in answer && answer.status === 'feasible' ? answer.plan : undefined;
}

/** bestPlan takes the plan of the case that has the cheapest one which serves here too, with the highest bound known. */
async function bestPlan(
  { variant, answer, share, answers }: AnsweredCase<PipelineTypes>,
  loaded: LoadedPipeline,
): Promise<PipelinePlanBody | undefined> {
  const own = planIn(answer);
  const plan = share?.from === undefined ? own : planIn(answers[share.from]);
  if (plan === undefined || share === undefined) return plan;
  if (plan === own && share.bound <= (own.objective?.bound ?? 0)) return own;
  const job = jobWithin(loaded, variant);
  if ('refused' in job) return undefined;
  return (await takenOver(plan, { ...job, ...planningTools(job) }, share.bound)) ?? own;
}

function foundOf(answer: Answer, asked: PipelineCase): CaseFound | undefined {
  if (answer === undefined || 'refused' in answer) return undefined;
  const { value, bound } = planIn(answer)?.objective ?? {};
  const { mix, unlimited, spec } = asked;
  return { asked: { mix, unlimited, sloMs: leastSloMs(spec) }, value, bound };
}

/** jobWithin makes the job of a case, unless its input is refused. */
function jobWithin(
  loaded: LoadedPipeline,
  { spec, cluster }: PipelineCase,
  { work, timeLimit, gap }: SolveLimits = {},
): PlanningJob | RefusedCase {
  const files = { ...loaded.files, cluster };
  const { problem: open, faults } = resolveOpen(spec, files);
  if (open === undefined) return { refused: faults.map(({ message }) => message) };
  return { open, spec, files, trace: loaded.trace, work, timeLimit, gap };
}

function headOf({
  slo,
  spec,
  ...mix
}: PipelineCase): Pick<CompareRow, 'mix' | 'unlimited' | 'slo' | 'sloMs'> {
  return {
    ...mixFigures(mix),
    ...(slo === undefined ? {} : { slo }),
    sloMs: servedApplications(spec).map(({ sloMs }) => sloMs),
  };
}

function rowWithout(asked: PipelineCase, outcome: PlannedOpen): CompareRow {
  if (outcome.status !== 'infeasible') {
    const found = outcome.status === 'undecided' ? outcome : { reasons: [] };
    return { ...headOf(asked), status: 'no-plan-in-time', reasons: endedReasons(found) };
  }
  // A row has room for one, and those of several applications hold only together.
  const least = asked.spec.applications === undefined ? outcome.smallestFeasibleSlosMs?.[0] : undefined;
  return {
    ...headOf(asked),
    status: outcome.isProved ? 'infeasible' : 'no-plan-in-time',
    ...(least === undefined ? {} : { smallestFeasibleSloMs: least }),
    reasons: outcome.reasons.map(({ text }) => text),
  };
}

function rowOfPlan(asked: PipelineCase, plan: PipelinePlanBody): CompareRow {
  const { status = 'feasible', objective, throughputRps, hourlyCost, rps, sample } = plan;
  return {
    ...headOf(asked),
    status,
    ...(objective === undefined ? {} : { objective }),
    throughputRps,
    ...(sample === undefined ? {} : { attainment: sample.attainment, p99Ms: sample.p99Ms }),
    ...useFigures(plan.classes, { hourlyCost, rps }),
  };
}
