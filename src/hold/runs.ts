import { largestOf } from '../collections/index.js';
import type { WarmUp } from '../formats/index.js';

/** The seeds of the simulations by which plans are compared. */
export const SEARCH_SEEDS = [1, 2];

/** The seeds of the simulations by which the plans that look best are compared once more. */
export const RANKING_SEEDS = [101, 102, 103, 104, 105, 106, 107, 108];

/** The seeds of the simulations that confirm the promise of the plan that was chosen. Nothing was chosen by them. */
export const PROMISE_SEEDS = [201, 202, 203, 204, 205, 206, 207, 208];

/** The seeds that judge two plans lie so far apart. */
export const SEEDS_APART = 1000;

/** promiseSeeds gives the seeds that judge a plan after `judged` others were judged, each by seeds of its own. */
export function promiseSeeds(judged: number): number[] {
  return PROMISE_SEEDS.map((seed) => seed + SEEDS_APART * judged);
}

/** Each model gets at least this many requests in a run of the search, and in one that confirms a promise, */
export const TRIAL_REQUESTS = 8000;
export const PROMISE_REQUESTS = 20_000;
/** a run counts the requests of at least as many times the longest SLO, */
export const LEAST_SLOS = 60;
/** and all models together have no more than this many requests, with those of the warm-up. */
export const MOST_REQUESTS = 400_000;

/**
 * A run that began idle would have too many requests in time: its queues fill for as long as the load is a
 * little too much, which takes hundreds of SLOs, and are served after its end. So it begins with full queues:
 * for one SLO twice the rate arrives. Requests that are served right after that are late, so queues settle
 * first.
 */
const WARM_UP: WarmUp = { fillSlos: 1, settleSlos: 10 };
/** Where a run is shortened, filling the queues stays whole, but takes no more of its requests than this share. */
const MOST_FILLING = 0.5;

/** HeldRun says how long a simulation of a plan counts requests, and what comes before. */
export interface HeldRun {
  readonly durationNs: number;
  readonly warmUp: WarmUp;
}

/**
 * heldRun gives how long a simulation of a plan lasts, by the planned rates and the SLOs of the models that are served.
 * @param leastRequests that each model gets
 */
export function heldRun(
  models: readonly { readonly throughputRps: number; readonly sloMs: number }[],
  leastRequests: number,
): HeldRun {
  const served = models.filter(({ throughputRps }) => throughputRps > 0);
  const sumOf = (of: (model: (typeof served)[number]) => number) =>
    served.reduce((sum, model) => sum + of(model), 0);
  const longestS = largestOf(served.map(({ sloMs }) => sloMs)) / 1000;
  const together = sumOf(({ throughputRps }) => throughputRps);
  const wantedS = Math.max(
    LEAST_SLOS * longestS,
    largestOf(served.map(({ throughputRps }) => leastRequests / throughputRps)),
  );
  const { fillSlos, settleSlos } = WARM_UP;
  // Each model has twice its rate for its own SLO, and its rate for the rest of the longest one.
  const filling =
    fillSlos * (together * longestS + sumOf(({ throughputRps, sloMs }) => (throughputRps * sloMs) / 1000));
  const fill = Math.min(1, (MOST_FILLING * MOST_REQUESTS) / filling);
  const rest = together * (settleSlos * longestS + wantedS);
  const scale = Math.min(1, (MOST_REQUESTS - fill * filling) / rest);
  return {
    durationNs: Math.ceil(1e9 * scale * wantedS),
    warmUp: { fillSlos: fill * fillSlos, settleSlos: scale * settleSlos },
  };
}
