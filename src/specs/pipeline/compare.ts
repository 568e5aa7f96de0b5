import {
  type CompareRow,
  type Fault,
  fault,
  type InputPath,
  option,
  outputFiles,
  refuseReplacing,
} from '../../artifacts/index.js';
import type { PlannedOpen } from '../../inferline/index.js';
import type { NamedJob } from '../../jobs/index.js';
import type { PipelinePlanBody } from '../../plans/index.js';
import { caseText } from '../case-text.js';
import type { CompareOptions, Comparison } from '../compare-options.js';
import { comparisonDocument, saveComparison } from '../comparison-file.js';
import { costPerMillion } from '../cost-per-million.js';
import { type CaseFound, type Shared, sharedBetween } from '../easier.js';
import { endedReasons } from '../ended-reasons.js';
import type { WrittenMix } from '../mixes.js';
import { refuseMarked } from '../refuse-marked.js';
import { sideBySide } from '../side-by-side.js';
import { type PipelineCase, pipelineCases } from './cases.js';
import { type LoadedPipeline, type PipelineTools, pipelineTools } from './pipeline.js';
import { type PlanningJob, planningTools } from './planning-job.js';

/** PipelineAnswer is what came of one case. */
interface PipelineAnswer {
  readonly job: PlanningJob;
  readonly outcome: PlannedOpen;
}

/**
 * comparePipeline plans a pipeline for several clusters and SLOs, side by side on threads. By `inferline` and `exact`, a
 * plan that serves another case too is its answer where that is cheaper, and a bound counts wherever it holds.
 * @throws InputError with all faults of mixes and sweeps, and of options that are for pooled specs, or as `refuseMarked` does
 *   where `strictProfile` is asked for
 */
export async function comparePipeline(
  loaded: LoadedPipeline,
  { mixes, ...options }: Omit<CompareOptions, 'mixes'> & { readonly mixes: readonly WrittenMix[] },
): Promise<Comparison> {
  const { output, mixFile, budget, sweeps = [] } = options;
  const { path, value: spec } = loaded.spec;
  const named: InputPath[] = mixFile === undefined ? [] : [{ what: 'the file of mixes', path: mixFile }];
  await refuseReplacing(`compare ${path}`, outputFiles({ output }), [...loaded.read, ...named]);
  const cases = await pipelineCases(loaded, { mixes, budget, sweeps }, pooledFaults(options));
  const tools = await pipelineTools();
  const asked = jobsOf(loaded, cases, { ...options, tools });
  if (options.strictProfile)
    refuseMarked(
      path,
      asked.flatMap((one) => ('job' in one ? tools.openFigures(one.job.open, one.job.files) : [])),
    );
  const answers = await answersOf(asked, options);
  const rows: CompareRow[] = [];
  const notes = new Set<string>();
  const isShared = ['inferline', 'exact'].includes(spec.planner.method);
  const shares = isShared
    ? sharedBetween(
        answers.map((answer, i) => foundOf(answer, cases[i] as PipelineCase)),
        'least',
      )
    : [];
  for (const [i, answer] of answers.entries()) {
    if (answer === undefined) continue;
    const asked = cases[i] as PipelineCase;
    if ('reasons' in answer) {
      rows.push({ ...headOf(asked), status: 'infeasible', reasons: answer.reasons });
      continue;
    }
    const plan = await bestPlan(tools, answer, shares[i] && { ...shares[i], answers });
    for (const note of plan?.notes ?? []) notes.add(note);
    rows.push(plan === undefined ? rowWithout(asked, answer.outcome) : rowOfPlan(asked, plan));
  }
  const isLimited = options.work !== undefined || options.timeLimit !== undefined;
  const limitReached = isLimited && answers.some(isUnfinished);
  const document = comparisonDocument(rows, {
    ...{ cases: cases.length, notes: [...notes], inputs: loaded.inputs(output) },
  });
  if (output !== undefined) await saveComparison(output, document);
  return { document, limitReached };
}

type Answer = PipelineAnswer | { readonly reasons: readonly string[] } | undefined;

function planIn(answer: Answer): PipelinePlanBody | undefined {
  return answer !== undefined && 'outcome' in answer && answer.outcome.status === 'feasible'
    ? answer.outcome.plan
    : undefined;
}

/** bestPlan takes the plan of the case that has the cheapest one which serves here too, with the highest bound known. */
async function bestPlan(
  tools: PipelineTools,
  answer: PipelineAnswer,
  share: (Shared & { readonly answers: readonly Answer[] }) | undefined,
): Promise<PipelinePlanBody | undefined> {
  const own = planIn(answer);
  const plan = share?.from === undefined ? own : planIn(share.answers[share.from]);
  if (plan === undefined || share === undefined) return plan;
  if (plan === own && share.bound <= (own.objective?.bound ?? 0)) return own;
  return tools.takenOver(plan, { ...answer.job, ...planningTools(answer.job) }, share.bound);
}

function isUnfinished(answer: Answer): boolean {
  if (answer === undefined || 'reasons' in answer) return false;
  const { outcome } = answer;
  return outcome.status === 'undecided' || (outcome.status === 'feasible' && !outcome.finished);
}

/** A pipeline has no gap to stop at, and its plans are not searched for what they hold. */
function pooledFaults({ gap, hold }: CompareOptions): Fault[] {
  return Object.entries({ gap, hold })
    .filter(([, value]) => value !== undefined)
    .map(([name]) => fault('is for pooled specs', option(name)));
}

type AskedJob = NamedJob<PlanningJob> | { readonly reasons: readonly string[] };

/** jobsOf resolves all cases. A case whose input is refused has the reasons. */
function jobsOf(
  loaded: LoadedPipeline,
  cases: readonly PipelineCase[],
  { work, timeLimit, tools }: Omit<CompareOptions, 'mixes'> & { readonly tools: PipelineTools },
): AskedJob[] {
  return cases.map((one): AskedJob => {
    const { spec, cluster } = one;
    const files = { ...loaded.files, cluster };
    const { problem: open, faults } = tools.resolveOpen(spec, files);
    if (open === undefined) return { reasons: faults.map(({ message }) => message) };
    return { name: caseText(one), job: { open, spec, files, trace: loaded.trace, work, timeLimit } };
  });
}

/** answersOf plans all cases. One that an interruption ended or left unstarted is undefined. */
async function answersOf(
  asked: readonly AskedJob[],
  options: Omit<CompareOptions, 'mixes'>,
): Promise<Answer[]> {
  const outcomes = await sideBySide<PlanningJob, PlannedOpen>(
    asked.map((one) => ('job' in one ? one : undefined)),
    {
      worker: '#dist/src/specs/pipeline/pipeline-worker.js',
      isWhole: (outcome) => outcome.status === 'feasible' && outcome.finished,
      ...options,
    },
  );
  return asked.map((one, i) => {
    if ('reasons' in one) return one;
    const outcome = outcomes[i];
    return outcome && { job: one.job, outcome };
  });
}

function foundOf(answer: Answer, asked: PipelineCase): CaseFound | undefined {
  if (answer === undefined || 'reasons' in answer) return undefined;
  const { value, bound } = planIn(answer)?.objective ?? {};
  const { mix, unlimited, spec } = asked;
  return { asked: { mix, unlimited, sloMs: spec.sloMs }, value, bound };
}

function headOf({
  mix,
  unlimited,
  slo,
  spec,
}: PipelineCase): Pick<CompareRow, 'mix' | 'unlimited' | 'slo' | 'sloMs'> {
  return {
    mix,
    ...(unlimited.length === 0 ? {} : { unlimited }),
    ...(slo === undefined ? {} : { slo }),
    sloMs: [spec.sloMs],
  };
}

function rowWithout(asked: PipelineCase, outcome: PlannedOpen): CompareRow {
  if (outcome.status !== 'infeasible') {
    const found = outcome.status === 'undecided' ? outcome : { reasons: [] };
    return { ...headOf(asked), status: 'no-plan-in-time', reasons: endedReasons(found) };
  }
  const least = outcome.smallestFeasibleSlosMs?.[0];
  return {
    ...{ ...headOf(asked), status: 'infeasible' },
    ...(least === undefined ? {} : { smallestFeasibleSloMs: least }),
    reasons: outcome.reasons.map(({ text }) => text),
  };
}

function rowOfPlan(asked: PipelineCase, plan: PipelinePlanBody): CompareRow {
  const { status = 'feasible', objective, throughputRps, hourlyCost, rps, sample } = plan;
  const perMillion = costPerMillion(hourlyCost, rps);
  return {
    ...headOf(asked),
    status,
    ...(objective === undefined ? {} : { objective }),
    throughputRps,
    ...(sample === undefined ? {} : { attainment: sample.attainment, p99Ms: sample.p99Ms }),
    used: Object.fromEntries(Object.entries(plan.classes).map(([name, { used }]) => [name, used])),
    ...(hourlyCost === undefined ? {} : { hourlyCost }),
    ...(perMillion === undefined ? {} : { costPerMillionRequests: perMillion }),
  };
}
