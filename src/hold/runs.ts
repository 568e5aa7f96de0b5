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
/** a run lasts at least as many times the longest SLO, so that how it begins counts little, */
const LEAST_SLOS = 60;
/** and all models together have no more than this many requests. */
const MOST_REQUESTS = 400_000;

/**
 * heldDurationNs gives how long a simulation of a plan lasts, in ns, by its planned rates and its SLOs.
 * @param leastRequests that each model gets
 */
export function heldDurationNs(
  models: readonly { readonly throughputRps: number; readonly sloMs: number }[],
  leastRequests: number,
): number {
  const served = models.filter(({ throughputRps }) => throughputRps > 0);
  const together = served.reduce((sum, { throughputRps }) => sum + throughputRps, 0);
  const wantedS = Math.max(
    ...served.map(({ throughputRps, sloMs }) =>
      Math.max(leastRequests / throughputRps, (LEAST_SLOS * sloMs) / 1000),
    ),
  );
  return Math.ceil(1e9 * Math.min(wantedS, MOST_REQUESTS / together));
}
