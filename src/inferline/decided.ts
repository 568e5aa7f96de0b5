import { classBound } from './class-bound.js';
import { fixedFit } from './class-counts.js';
import { costBound, searchExactly } from './exact.js';
import { initialize } from './initialize.js';
import { type PlannerInput, Trials } from './trials.js';

/** leastCost gives a cost below which no configuration is feasible; Infinity where none is. */
export function leastCost(trials: Trials): number {
  return Math.max(costBound(trials), classBound(trials));
}

/**
 * countedCost gives a cost below which no configuration is feasible, whatever scheduler serves it; Infinity where none is. It
 * counts what requests in time need at least, and asks the Estimator nothing but what they take where none ever waits.
 */
export function countedCost(trials: Trials): number {
  if (!fixedFit(trials) || costBound(trials) === Number.POSITIVE_INFINITY) return Number.POSITIVE_INFINITY;
  if (!trials.meets(trials.floor())) return Number.POSITIVE_INFINITY;
  return Math.max(costBound(trials), classBound(trials, 'nothing'));
}

/**
 * decided says whether some configuration meets the objectives as the Estimator sees them, and makes none cheap. It is
 * `open` where a limit ended the search.
 */
export function decided(input: PlannerInput, trials = new Trials(input)): 'met' | 'missed' | 'open' {
  if (!fixedFit(trials) || costBound(trials) === Number.POSITIVE_INFINITY) return 'missed';
  if (!trials.meets(trials.floor()) || leastCost(trials) === Number.POSITIVE_INFINITY) return 'missed';
  if (initialize(trials).length > 0) return 'met';
  const { configuration } = searchExactly(trials, { first: true });
  if (configuration !== undefined) return 'met';
  return trials.stopped ? 'open' : 'missed';
}
