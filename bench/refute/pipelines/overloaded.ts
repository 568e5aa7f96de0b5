import type { PipelinePlan } from '../../../src/formats/index.js';
import type { Refutation } from '../refuter.js';
import type { RandomPipeline } from './random-spec.js';
import { attainmentsOf } from './served.js';

const FACTOR = 10;
const SEED = 90_101;
/** A plan claims this where it promises so much of its load in time, */
const LEAST_ATTAINMENT = 0.9;
/** and its SLO is so many times as long as full batches take on the longest path; PARD's workloads have one that is roomy. */
const LEAST_SLO = 1.5;
const ROOMY_SLO = 2;
/**
 * So much of the rate that a plan is made for is in time at ten times that rate, by the plan's scheduler. The least that was
 * found is 0.747 by `room-first` and 0.32 by `stage-local`.
 */
const LEAST_KEPT: Readonly<Record<string, number>> = { 'room-first': 0.7, 'stage-local': 0.25 };
const LEAST_KEPT_BY_PARD = 0.9;
/**
 * So much less of the requests of a draw of the load may be in time than where nothing is dropped. The most that was
 * found is 2.2 points, of a sample of one second, and 0.36 where the SLO is roomy. Shorter ones leave too little time
 * for full batches, which estimates count.
 */
const MOST_LOST = { tight: 0.03, roomy: 0.01 };
const DRAWN = '8s';

/**
 * overloadRefutations serves a plan at the rate that its spec plans for, and finds that more is lost by dropping than by chance,
 * and at ten times that rate, and finds that too little of it is in time by its own scheduler, or by `pard` where there is one
 * SLO, which leaves time.
 */
export function overloadRefutations(drawn: RandomPipeline, plan: PipelinePlan): Refutation[] {
  const sloInPaths = (1e3 * plan.sloMs) / plan.longestPath.latencyUs;
  if (plan.attainment < LEAST_ATTAINMENT || sloInPaths < LEAST_SLO) return [];
  const isOfPard = sloInPaths >= ROOMY_SLO && drawn.spec.applications === undefined;
  const mostLost = sloInPaths < ROOMY_SLO ? MOST_LOST.tight : MOST_LOST.roomy;
  const scheduler = plan.serving?.scheduler as string;
  const claims = [
    { scheduler, least: LEAST_KEPT[scheduler] as number },
    ...(isOfPard ? [{ scheduler: 'pard', least: LEAST_KEPT_BY_PARD }] : []),
  ];
  const within = lostWithin(drawn, plan);
  return [
    ...(within <= mostLost
      ? []
      : [{ claim: `within the load, dropping loses at most ${mostLost}`, found: `it loses ${within}` }]),
    ...claims.flatMap(({ scheduler: by, least }) => {
      const kept = keptShare(drawn, plan, by);
      const claim = `at ${FACTOR} times the rate of the load, ${by} keeps ${least} of that rate in time`;
      return kept >= least ? [] : [{ claim, found: `${kept} of it is` }];
    }),
  ];
}

/** lostWithin is how much less of the spec's load is in time by a plan's scheduler than where nothing is dropped. */
export function lostWithin(drawn: RandomPipeline, plan: PipelinePlan): number {
  const { rps } = drawn.spec.load as { rps: number };
  const of = (serving: PipelinePlan['serving']) => shareInTime(drawn, { ...plan, serving }, rps, DRAWN);
  return of({ scheduler: 'inferline' }) - of(plan.serving);
}

/** keptShare is the rate in time by a scheduler at ten times the rate of the spec's load, as a share of that rate. */
export function keptShare(drawn: RandomPipeline, plan: PipelinePlan, scheduler: string): number {
  const { rps } = drawn.spec.load as { rps: number };
  return FACTOR * shareInTime(drawn, { ...plan, serving: { scheduler } }, FACTOR * rps, '4s');
}

/** shareInTime is the share in time of Poisson arrivals at a rate, as a plan serves them. */
function shareInTime(
  { spec, profiles }: RandomPipeline,
  plan: PipelinePlan,
  rps: number,
  duration: string,
): number {
  const loaded = { ...spec, load: { arrivals: 'poisson' as const, rps, duration } };
  const inTime = attainmentsOf({ spec: loaded, profiles }, plan, SEED);
  const shares = spec.applications?.map(({ share }) => share) ?? [1];
  const whole = shares.reduce((sum, share) => sum + share, 0);
  return shares.reduce((sum, share, k) => sum + share * (inTime[k] as number), 0) / whole;
}
