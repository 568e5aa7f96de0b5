/** The thread that plans cascades, so that an abort is heard and progress is shown while the search runs. */
import type { CascadeSpec } from '../../artifacts/index.js';
import {
  type CascadeFiles,
  explainFamily,
  type FamilyAnswer,
  frontierOf,
  type GearExplanation,
  isPlacementHard,
  placementSolver,
  planFamily,
  type ResolvedCascade,
} from '../../gearplan/index.js';
import { type JobContext, serveJobs } from '../../jobs/index.js';
import { loadHighs } from '../../milp/index.js';
import { streamOf } from '../../random/index.js';
import { GEARS_SEED, gearArrivals } from './gear-arrivals.js';

/** GearJob is a resolved spec, and what is to be said of its plan besides. */
export interface GearJob {
  readonly spec: CascadeSpec;
  readonly files: CascadeFiles;
  readonly resolved: ResolvedCascade;
  readonly explain: boolean;
  readonly frontier: boolean;
  readonly work?: number | undefined;
}

/** PlannedGears is the answer to a GearJob. */
export interface PlannedGears {
  readonly answer: FamilyAnswer;
  readonly explanation?: GearExplanation;
}

serveJobs<GearJob, PlannedGears, string>(
  async (job, { interrupted, tell }: JobContext<undefined, string>) => {
    const { explain, frontier, work, ...asked } = job;
    const { integer } = streamOf(GEARS_SEED, 'gears/random');
    const limits = { interrupted, ...(work === undefined ? {} : { work }) };
    const arrivalsOf = gearArrivals();
    const hard = isPlacementHard(job.resolved) ? { solvePlacement: placementSolver(await loadHighs()) } : {};
    const question = { ...asked, ...limits, ...hard, arrivalsOf, integer };
    tell('searching gears');
    const answer = planFamily(question);
    if (!('plan' in answer) || !(explain || frontier) || interrupted()) return { answer };
    tell('planning with other devices and latencies');
    return {
      answer,
      explanation: {
        ...(explain ? explainFamily(question, answer.plan) : {}),
        ...(frontier ? { frontier: frontierOf(question, answer.plan) } : {}),
      },
    };
  },
);
