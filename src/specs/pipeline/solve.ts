import { type Loaded, type NoPlan, pipelineMethodOf } from '../../formats/index.js';
import type { PipelineLimits, PlannedOpen } from '../../inferline/index.js';
import { JobPool } from '../../jobs/index.js';
import { type GivenProblem, planGiven, servedApplications } from '../../pipeline/index.js';
import { missedWhatWasAsked } from '../solve-limits.js';
import type { SolveOptions } from '../solve-options.js';
import { searchedSince } from '../solver-report.js';
import type { PlanMissing, SolvingOf } from '../spec-of.js';
import { FOR_CASCADES, FOR_POOLED, FOR_SEARCHED, type OptionsTaken } from '../taken-options.js';
import type { PipelineTypes } from './kind.js';
import {
  type LoadedPipeline,
  noPlanModelsOf,
  pipelineFigures,
  pipelineNotes,
  profilesIn,
} from './pipeline.js';
import { pipelinePlan } from './plan-file.js';
import type { PlanningJob } from './planning-job.js';
import { plannedStandby } from './standby.js';

/** solvingPipeline is how specs of pipelines are solved. */
export const solvingPipeline: SolvingOf<PipelineTypes> = {
  outcome: 'pipeline-plan',
  named: ', a pipeline',
  options,
  refuse: async () => undefined,
  figures: pipelineFigures,
  async search(loaded, asked) {
    const { signal, onProgress } = asked;
    const startedMs = performance.now();
    const outcome = await outcomeOf(loaded, asked);
    const solver = searchedSince(startedMs, 'estimates' in outcome ? outcome.estimates : 0);
    const notes = pipelineNotes(loaded);
    if (outcome.status === 'undecided') {
      const limit = signal?.aborted ? 'interrupted' : outcome.limit;
      const [advice] = outcome.reasons.map(({ text }) => text);
      const answer = undecided(loaded, { ...outcome, limit }, solver);
      return { isFound: false, loaded, answer, notes, ...(advice === undefined ? {} : { advice }) };
    }
    if (outcome.status === 'infeasible') {
      const answer = infeasible(loaded, outcome, solver);
      return { isFound: false, loaded, answer, notes, reasons: answer.reasons.map(({ text }) => text) };
    }
    return {
      isFound: true,
      cluster: loaded.files.cluster,
      profiles: profilesIn(loaded),
      limitReached: missedWhatWasAsked(limitOf(outcome, asked), outcome.plan.objective?.gap, asked),
      solver,
      ...('explanation' in outcome && outcome.explanation ? { explanation: outcome.explanation } : {}),
      planFor: async (holder, ofCluster) => {
        const fixed = await pipelinePlan(outcome.plan, loaded, { holder, notes: ofCluster });
        return plannedStandby(fixed, { spec: loaded.spec.value, trace: loaded.trace, signal, onProgress });
      },
    };
  },
};

/** A pipeline is not timed. A given pipeline is not searched or explained either. */
function options({ value }: Loaded<'pipeline'>): OptionsTaken {
  const searched = pipelineMethodOf(value) === 'given' ? FOR_SEARCHED : 'taken';
  return {
    gap: searched,
    work: searched,
    timeLimit: searched,
    explain: searched,
    baseline: FOR_POOLED,
    measure: FOR_POOLED,
    hold: FOR_POOLED,
    frontier: FOR_CASCADES,
    literal: FOR_POOLED,
  };
}

/** limitOf names a limit that was asked for where one ended the search. */
function limitOf(outcome: object, { work }: PipelineLimits): 'work' | 'time' | undefined {
  if (!('finished' in outcome) || outcome.finished === true) return undefined;
  return work === undefined ? 'time' : 'work';
}

async function outcomeOf(
  { spec, problem, open, files, trace }: LoadedPipeline,
  { work, timeLimit, gap, explain, signal, onProgress }: SolveOptions,
): Promise<PlannedOpen | ReturnType<typeof planGiven>> {
  if (open === undefined) return planGiven(problem as GivenProblem);
  const pool = new JobPool<PlanningJob, PlannedOpen, number>('#dist/src/specs/pipeline/pipeline-worker.js', {
    what: 'planner',
    threads: 1,
    signal,
  });
  const tell = (estimates: number): void => onProgress?.(`searching: ${estimates} estimates`);
  try {
    return await pool.run({ open, spec: spec.value, files, trace, work, timeLimit, gap, explain }, tell);
  } finally {
    await pool.close();
  }
}

type Unplanned = Exclude<PlannedOpen, { readonly status: 'feasible' }>;

function undecided(
  { spec }: LoadedPipeline,
  { reasons, limit }: { readonly reasons: Unplanned['reasons']; readonly limit: NoPlan['limit'] },
  solver: NoPlan['solver'],
): PlanMissing['answer'] {
  return {
    status: 'no-plan-in-time',
    ...(limit === undefined ? {} : { limit }),
    reasons: [...reasons],
    models: noPlanModelsOf(spec.value, []),
    solver,
  };
}

/** InfeasiblePipeline says why a pipeline has no plan. */
interface InfeasiblePipeline {
  readonly reasons: Unplanned['reasons'];
  /** isProved says whether it is proved of all schedulers; true where absent. */
  readonly isProved?: boolean;
  readonly smallestFeasibleSlosMs?: readonly number[] | undefined;
  readonly smallestFeasibleSloMs?: number | undefined;
}

function infeasible(
  { spec }: LoadedPipeline,
  { reasons, isProved = true, smallestFeasibleSloMs, smallestFeasibleSlosMs }: InfeasiblePipeline,
  solver: NoPlan['solver'],
): PlanMissing['answer'] {
  const ofEach =
    smallestFeasibleSloMs === undefined
      ? []
      : servedApplications(spec.value).map(() => smallestFeasibleSloMs);
  const leastMs = smallestFeasibleSlosMs ?? ofEach;
  const status = isProved ? 'infeasible' : 'no-plan-in-time';
  return { status, reasons: [...reasons], models: noPlanModelsOf(spec.value, leastMs), solver };
}
