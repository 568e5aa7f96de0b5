import { smallestOf } from '../../collections/index.js';
import { resolveWorkflows, type WorkflowPlanBody } from '../../dyorc/index.js';
import type { CompareRow, OpenCluster } from '../../formats/index.js';
import { useFigures } from '../cost-per-million.js';
import { endedReasons } from '../ended-reasons.js';
import { mixFigures } from '../mixes.js';
import type { RefusedCase } from '../side-by-side.js';
import { missedWhatWasAsked, type SolveLimits } from '../solve-limits.js';
import type { ComparingOf } from '../spec-of.js';
import { type WorkflowCase, workflowCases } from './cases.js';
import { NOT_FOR_WORKFLOWS, WORKFLOW_THREAD, type WorkflowTypes } from './kind.js';
import type { PlannedJob, WorkflowPlanningJob } from './planning-job.js';
import { type LoadedWorkflows, loadWorkflows, workflowFigures, workflowNotes } from './workflow.js';

/** comparingWorkflows is how cases of workflows are planned and reported. Each case has a plan of its own. */
export const comparingWorkflows: ComparingOf<WorkflowTypes> = {
  options: { gap: 'taken', hold: NOT_FOR_WORKFLOWS },
  thread: WORKFLOW_THREAD,
  refuse: async () => undefined,
  hasFrontier: false,
  load: (spec) => loadWorkflows(spec),
  cases: workflowCases,
  prepare: (loaded) => ({
    notes: workflowNotes(loaded),
    currency: loaded.files.cluster.currency,
    figures: workflowFigures(loaded),
  }),
  jobOf: jobWithin,
  isWhole: ({ answer }) =>
    answer.status === 'infeasible' || (answer.status === 'planned' && answer.plan.reproducible !== false),
  shares: (_, cases) => cases.map(() => undefined) as never,
  head: headOf,
  async row({ variant, answer }) {
    const { answer: found } = answer;
    return found.status === 'planned'
      ? { row: rowOfPlan(variant, found.plan) }
      : { row: rowWithout(variant, answer) };
  },
  isCut: ({ answer, timeOver }, options) =>
    timeOver === true ||
    (answer.status === 'planned' && missedWhatWasAsked(undefined, answer.plan.objective.gap, options)),
};

/** jobWithin makes the job of a case, unless its input is refused. */
function jobWithin(
  { files, trace }: LoadedWorkflows,
  { spec, cluster }: WorkflowCase,
  { timeLimit }: SolveLimits,
): WorkflowPlanningJob | RefusedCase {
  const outcome = resolveWorkflows(spec, { ...files, cluster });
  if ('faults' in outcome) return { refused: outcome.faults.map(({ message }) => message) };
  return { resolved: outcome.resolved, trace, timeLimit };
}

function headOf({
  slo,
  spec,
  ...mix
}: WorkflowCase): Pick<CompareRow, 'mix' | 'unlimited' | 'slo' | 'sloMs'> {
  return {
    ...mixFigures(mix),
    ...(slo === undefined ? {} : { slo }),
    sloMs: spec.workflows.flatMap(({ sloMs }) => sloMs ?? []),
  };
}

function rowWithout(asked: WorkflowCase, { answer, timeOver }: PlannedJob): CompareRow {
  const reasons = answer.status === 'planned' ? [] : answer.reasons;
  if (answer.status === 'infeasible')
    return { ...headOf(asked), status: 'infeasible', reasons: reasons.map(({ text }) => text) };
  const limit = timeOver === true ? { limit: 'time' as const } : {};
  return { ...headOf(asked), status: 'no-plan-in-time', reasons: endedReasons({ ...limit, reasons }) };
}

function rowOfPlan(asked: WorkflowCase, plan: WorkflowPlanBody): CompareRow {
  const { status, objective, cluster, sample, rps } = plan;
  const shares = sample.workflows.flatMap(({ attainment }) => attainment ?? []);
  return {
    ...headOf(asked),
    status,
    objective,
    ...(shares.length === 0 ? {} : { attainment: smallestOf(shares) }),
    meanMs: sample.meanMs,
    p95Ms: sample.p95Ms,
    p99Ms: sample.p99Ms,
    ...useFigures(usedIn(cluster), { hourlyCost: hourlyCost(cluster), rps }),
  };
}

function usedIn({ devices }: OpenCluster): Record<string, { used: number }> {
  return Object.fromEntries(Object.entries(devices).map(([name, { count = 0 }]) => [name, { used: count }]));
}

/** hourlyCost is what the devices of a plan cost; undefined where a class has no price. */
function hourlyCost({ devices }: OpenCluster): number | undefined {
  let sum = 0;
  for (const { count = 0, hourlyCost: price } of Object.values(devices)) {
    if (price === undefined) return undefined;
    sum += count * price;
  }
  return sum;
}
