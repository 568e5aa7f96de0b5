import { emittedHead } from '../../artifacts/index.js';
import type { PooledPlan } from '../../formats/index.js';
import {
  type HeldRates,
  type HoldTools,
  heldRates,
  heldRun,
  PROMISE_REQUESTS,
  RANKING_SEEDS,
  type RatedPlan,
  type RateSearch,
  SEARCH_SEEDS,
  TRIAL_REQUESTS,
} from '../../hold/index.js';
import type { PooledProblem } from '../../milp/index.js';
import type { SearchLimits } from '../solve-limits.js';
import type { HoldJob, HoldRun } from './hold-worker.js';
import type { SolverPool } from './solver-pool.js';

/** Plans are tried for this share of the time limit, */
const TRIED = 0.5;
/** and compared once more until this share of it is over. The rest is for the simulations that confirm the best one. */
const RANKED = 0.75;

/**
 * A search simulates no more requests than this for each model. Searches for what a share above 90 % holds take a few ten
 * million; only shares so small that plans are tried at many times their rates come near it.
 */
export const MOST_SIMULATED_REQUESTS = 200_000_000;

/**
 * HoldTime divides a time limit, and the requests that may be simulated, among the steps of a search for the plan that holds
 * most.
 */
export class HoldTime {
  private readonly startMs: number;
  private requests = 0;

  /**
   * @param nowMs a clock that has the same time on all threads
   * @param mostRequests that are simulated
   */
  constructor(
    private readonly limitMs: number | undefined,
    private readonly nowMs: () => number,
    private readonly mostRequests = Number.POSITIVE_INFINITY,
  ) {
    this.startMs = nowMs();
  }

  /** simulated counts requests that were simulated. */
  simulated(requests: number): void {
    this.requests += requests;
  }

  /** isWorkDone says whether the requests that may be simulated ended a step of the search. */
  get isWorkDone(): boolean {
    return this.requests >= TRIED * this.mostRequests;
  }

  get isTried(): boolean {
    return this.isPast(TRIED);
  }

  get isRanked(): boolean {
    return this.isPast(RANKED);
  }

  get isOver(): boolean {
    return this.isPast(1);
  }

  /** planningEnds gives a round of planning half of the time that its step has left, so that its plans can be simulated. */
  planningEnds(): { endsAtMs?: number } {
    if (this.limitMs === undefined) return {};
    const now = this.nowMs();
    const end = this.startMs + this.limitMs * (this.isTried ? 1 : TRIED);
    return { endsAtMs: now + Math.max(0, end - now) / 2 };
  }

  private isPast(share: number): boolean {
    if (this.requests >= share * this.mostRequests) return true;
    return this.limitMs !== undefined && this.nowMs() - this.startMs >= share * this.limitMs;
  }
}

const TRIAL = { precision: 0.01, judge: 'mean' } as const;
const RANKING = { precision: 0.002, judge: 'lower-end' } as const;
const PROMISE = { precision: 0.001, judge: 'lower-end' } as const;

/**
 * holdTools gives a search its planner and its simulations, each within its part of the time and of the requests that may be
 * simulated. An interruption ends all of them at once: a plan that is not confirmed by then is none.
 */
export async function holdTools({
  solver,
  simulate,
  attainment,
  limits,
  time,
  signal,
}: {
  readonly solver: Pick<SolverPool, 'runAll'>;
  readonly simulate: (job: HoldJob) => Promise<HoldRun>;
  readonly attainment: readonly number[];
  readonly limits: Omit<SearchLimits, 'timeLimitMs'>;
  readonly time: HoldTime;
  readonly signal: AbortSignal | undefined;
}): Promise<HoldTools> {
  const isCut = (): boolean => signal?.aborted === true;
  const counted = async (job: HoldJob): Promise<HoldRun> => {
    signal?.throwIfAborted();
    const run = await simulate(job);
    signal?.throwIfAborted();
    for (const { arrived } of run) time.simulated(arrived);
    return run;
  };
  const ask = (
    { plan, startRps, ...rates }: RatedPlan,
    leastRequests: number,
    by: Pick<RateSearch, 'seeds' | 'precision' | 'judge'> & { readonly isOver: () => boolean },
  ): Promise<HeldRates | undefined> => {
    const run = { plan: asArtifact(plan), ...heldRun(plan.models, leastRequests) };
    const plannedRps = plan.models.map(({ throughputRps }) => throughputRps);
    const asked = { plannedRps, startRps, attainment, ...rates, ...by };
    return heldRates((rps, seed) => counted({ ...run, rps, seed }), asked).catch((error: unknown) => {
      if (isCut() && error === signal?.reason) return undefined;
      throw error;
    });
  };
  const trial = { ...TRIAL, seeds: SEARCH_SEEDS, isOver: () => isCut() || time.isTried };
  const ranking = { ...RANKING, seeds: RANKING_SEEDS, isOver: () => isCut() || time.isRanked };
  const promise = { ...PROMISE, isOver: () => isCut() || time.isOver };
  return {
    bounds: (problems) => solver.runAll<'bound'>(problems.map((one) => named('bound', one, limits))),
    plans: (problems) => {
      const until = { ...limits, ...time.planningEnds() };
      return solver.runAll<'plan'>(problems.map((one) => named('plan', one, until)));
    },
    held: (plans) => Promise.all(plans.map((plan) => ask(plan, TRIAL_REQUESTS, trial))),
    ranked: (plan) => ask(plan, PROMISE_REQUESTS, ranking),
    promised: (plan, seeds) =>
      ask({ ...plan, enoughRps: plan.startRps }, PROMISE_REQUESTS, { ...promise, seeds }),
    isOver: () => isCut() || time.isTried,
  };
}

function named<K extends 'bound' | 'plan'>(
  kind: K,
  problem: PooledProblem,
  limits: SearchLimits & { readonly endsAtMs?: number },
) {
  return { name: kind, job: { kind, problem, ...limits } };
}

/** A simulation takes plans as files hold them. */
function asArtifact(plan: RatedPlan['plan']): PooledPlan {
  return { ...emittedHead('pooled-plan', []), ...plan };
}
