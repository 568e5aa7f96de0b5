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
