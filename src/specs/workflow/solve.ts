import type { WorkflowAnswer } from '../../dyorc/index.js';
import type { NoPlan, NoPlanModel } from '../../formats/index.js';
import { missedWhatWasAsked } from '../solve-limits.js';
import type { SolveOptions } from '../solve-options.js';
import { searchedSince } from '../solver-report.js';
import type { PlanFound, PlanMissing, SolvingOf } from '../spec-of.js';
import { FOR_CASCADES, FOR_POOLED } from '../taken-options.js';
import { NOT_FOR_WORKFLOWS, type WorkflowTypes } from './kind.js';
import { workflowPlanOf } from './plan-file.js';
import { planOnThread } from './plan-workflows.js';
import type { PlannedJob } from './planning-job.js';
import { componentProfiles, type LoadedWorkflows, workflowFigures, workflowNotes } from './workflow.js';

/** solvingWorkflows is how specs of workflows are solved. */
export const solvingWorkflows: SolvingOf<WorkflowTypes> = {
  outcome: 'workflow-plan',
  named: ', workflows',
  // A search ends by itself, after a few simulations, so that a gap is asked of what it proved.
  options: () => ({
    gap: 'taken',
    work: NOT_FOR_WORKFLOWS,
    timeLimit: 'taken',
    explain: NOT_FOR_WORKFLOWS,
    baseline: FOR_POOLED,
    measure: FOR_POOLED,
    hold: FOR_POOLED,
    frontier: FOR_CASCADES,
    literal: FOR_POOLED,
  }),
  refuse: async () => undefined,
  figures: workflowFigures,
  async search(loaded, options) {
    const startedMs = performance.now();
    const planned = await planOnThread(loaded, options);
    const solver = searchedSince(startedMs, planned?.answer.simulations ?? 0);
    if (planned === undefined || planned.answer.status !== 'planned')
      return missing(loaded, planned, { solver, options });
    return found(loaded, { planned, answer: planned.answer, solver }, options);
  },
};

type Planned = Extract<WorkflowAnswer, { readonly status: 'planned' }>;

function found(
  loaded: LoadedWorkflows,
  {
    planned: { sha256, timeOver = false },
    answer: { plan, notes: ofPlan },
    solver,
  }: { readonly planned: PlannedJob; readonly answer: Planned; readonly solver: NoPlan['solver'] },
  options: SolveOptions,
): PlanFound<WorkflowTypes> {
  return {
    isFound: true,
    cluster: loaded.files.cluster,
    profiles: componentProfiles(loaded),
    limitReached: timeOver || missedWhatWasAsked(undefined, plan.objective.gap, options),
    solver,
    planFor: async (holder, notes) =>
      workflowPlanOf(plan, loaded, { holder, notes: [...ofPlan, ...notes], sha256 }),
  };
}

function missing(
  loaded: LoadedWorkflows,
  planned: PlannedJob | undefined,
  { solver, options: { signal } }: { readonly solver: NoPlan['solver']; readonly options: SolveOptions },
): PlanMissing {
  const answer = planned?.answer;
  const reasons = answer === undefined || answer.status === 'planned' ? [] : answer.reasons;
  const isProved = answer?.status === 'infeasible';
  const limit =
    planned === undefined || signal?.aborted ? 'interrupted' : planned.timeOver ? 'time' : undefined;
  return {
    isFound: false,
    loaded,
    notes: workflowNotes(loaded),
    answer: {
      status: isProved ? 'infeasible' : 'no-plan-in-time',
      ...(isProved || limit === undefined ? {} : { limit }),
      reasons,
      solver,
      models: noPlanModels(loaded, reasons),
    },
    reasons: reasons.map(({ text }) => text),
  };
}

/** noPlanModels names the SLOs of the workflows that have one, with those that they could meet, as far as these are known. */
function noPlanModels({ resolved }: LoadedWorkflows, reasons: NoPlan['reasons']): NoPlanModel[] {
  return resolved.workflows.flatMap(({ name, sloMs }) => {
    if (sloMs === undefined) return [];
    const tooShort = reasons.find(({ code, model }) => code === 'slo-too-short' && model === name);
    const { latencyMs } = tooShort ?? {};
    return [{ name, sloMs, ...(latencyMs === undefined ? {} : { smallestFeasibleSloMs: latencyMs }) }];
  });
}
