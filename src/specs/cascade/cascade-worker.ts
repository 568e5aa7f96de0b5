/** The thread that plans cascades, so that an abort is heard and progress is shown while the search runs. */
import type { CascadeSpec } from '../../formats/index.js';
import {
  type CascadeFiles,
  explainFamily,
  type FamilyAnswer,
  frontierOf,
  type GearExplanation,
  isPlacementHard,
  KnownModels,
  placementSolver,
  planFamily,
  type ResolvedCascade,
} from '../../gearplan/index.js';
import { type JobContext, serveJobs } from '../../jobs/index.js';
import { loadHighs } from '../../lp/index.js';
import { streamOf } from '../../random/index.js';
import { GEARS_SEED, gearArrivals } from './gear-arrivals.js';
import { gearSimulation } from './gear-simulation.js';

/** GearJob is a resolved spec, and what is to be said of its plan besides. */
export interface GearJob {
  readonly spec: CascadeSpec;
  readonly files: CascadeFiles;
  readonly resolved: ResolvedCascade;
  readonly explain: boolean;
  readonly frontier: boolean;
  readonly work?: number | undefined;
  /** The time after which the search ends, in seconds. */
  readonly timeLimit?: number | undefined;
}

/** PlannedGears is the answer to a GearJob. */
export interface PlannedGears {
  readonly answer: FamilyAnswer;
  readonly explanation?: GearExplanation;
  /**
   * timeOver says whether the time was over before the search ended, so that another one may end with
   * something else.
   */
  readonly timeOver?: true;
}

/**
 * The jobs of a pool, such as the cases of a comparison, are often of one family. The worker's knowledge of
 * it ends with the pool.
 */
const known = new WeakMap<object, KnownModels>();

serveJobs<GearJob, PlannedGears, string>(async (job, context: JobContext<undefined, string>) => {
  const { interrupted: aborted, tell } = context;
  const models = known.get(context) ?? new KnownModels();
  known.set(context, models);
  const { explain, frontier, work, timeLimit = Number.POSITIVE_INFINITY, ...rest } = job;
  const asked = { ...rest, resolved: models.in(job.resolved) };
  const { integer } = streamOf(GEARS_SEED, 'gears/random');
  const endMs = performance.now() + 1e3 * timeLimit;
  let isOver = false;
  const interrupted = () => {
    isOver ||= performance.now() >= endMs;
    return isOver || aborted();
  };
  const limits = { interrupted, ...(work === undefined ? {} : { work }) };
  const arrivalsOf = gearArrivals();
  const hard = isPlacementHard(asked.resolved) ? { solvePlacement: placementSolver(await loadHighs()) } : {};
  const simulate = gearSimulation(job.spec, job.files);
  const question = { ...asked, ...limits, ...hard, arrivalsOf, integer, simulate };
  tell('searching gears');
  const answer = planFamily(question);
  const ended = isOver ? { timeOver: true as const } : {};
  if (!('plan' in answer) || !(explain || frontier) || interrupted()) return { answer, ...ended };
  tell('planning with other devices and latencies');
  return {
    answer,
    explanation: {
      ...(explain ? explainFamily(question, answer.plan) : {}),
      ...(frontier ? { frontier: frontierOf(question, answer.plan) } : {}),
    },
  };
});
