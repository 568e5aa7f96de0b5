import { classBound } from './class-bound.js';
import { fixedFit } from './class-counts.js';
import { costBound, searchExactly } from './exact.js';
import { planGreedily } from './greedy.js';
import { type InfeasibleReason, type LeastSlo, leastSlo, reasonsOf, scarceReason } from './infeasible.js';
import type { Configuration } from './problem.js';
import { isCheaper, type PlannerInput, type PlanningAction, Trials } from './trials.js';

/** PlanningOutcome is what came of planning. */
export type PlanningOutcome =
  | {
      readonly status: 'feasible';
      readonly configuration: Configuration;
      readonly hourlyCost: number;
      /** It is proved that no feasible configuration costs less. */
      readonly lowerBound: number;
      /** The cost to which InferLine's own algorithms come, where they find a configuration. */
      readonly greedyCost?: number;
      /** Whether the search came to its end; otherwise it was stopped. */
      readonly finished: boolean;
      /** The steps of InferLine's algorithms. An exact search may have found a cheaper configuration than they. */
      readonly trail: readonly PlanningAction[];
      readonly estimates: number;
    }
  | {
      readonly status: 'infeasible';
      readonly reasons: readonly InfeasibleReason[];
      /** The least SLOs that can be met, with all else as it is; absent where none was found before the search stopped. */
      readonly least?: LeastSlo;
      readonly estimates: number;
    }
  /** The search was stopped before it found a configuration or proved that there is none. */
  | { readonly status: 'undecided'; readonly lowerBound: number; readonly estimates: number };

/**
 * planPipeline finds a configuration that serves the sample within the objectives at little cost (`inferline`) or at
 * the least (`exact`). Where InferLine's first algorithm finds none, an exact search decides whether there is one.
 */
export function planPipeline(input: PlannerInput, method: 'inferline' | 'exact'): PlanningOutcome {
  const trials = new Trials(input);
  // No SLO mends what the counts of classes forbid.
  if (!fixedFit(trials))
    return { status: 'infeasible', reasons: [scarceReason(trials)], estimates: trials.estimates };
  if (costBound(trials) === Number.POSITIVE_INFINITY || !trials.meets(trials.floor()))
    return infeasible(input, trials);
  const bound = boundOf(trials);
  if (bound === Number.POSITIVE_INFINITY) return infeasible(input, trials);
  const greedy = planGreedily(input, trials);
  if (greedy === undefined) {
    if (!trials.stopped) return infeasible(input, trials);
    return { status: 'undecided', lowerBound: bound, estimates: trials.estimates };
  }
  const greedyCost = trials.hourlyCost(greedy.configuration);
  const feasible = {
    status: 'feasible' as const,
    configuration: greedy.configuration,
    hourlyCost: greedyCost,
    lowerBound: bound,
    greedyCost,
    finished: greedy.finished,
    trail: greedy.trail,
    estimates: trials.estimates,
  };
  if (method === 'inferline' || (greedy.finished && !isCheaper(bound, greedyCost))) return feasible;
  const {
    configuration = greedy.configuration,
    lowerBound,
    finished,
  } = searchExactly(trials, {
    incumbent: greedy.configuration,
  });
  const hourlyCost = trials.hourlyCost(configuration);
  const { estimates } = trials;
  return {
    ...feasible,
    configuration,
    hourlyCost,
    lowerBound: Math.max(bound, lowerBound),
    finished,
    estimates,
  };
}

/** provedCost gives a cost below which no configuration is feasible. It is the bound of `inferline`. */
export function provedCost(input: PlannerInput): number {
  return boundOf(new Trials(input));
}

function boundOf(trials: Trials): number {
  return Math.max(costBound(trials), classBound(trials));
}

function infeasible(input: PlannerInput, trials: Trials): PlanningOutcome {
  const least = leastSlo(input, trials);
  const reasons = reasonsOf(input, trials);
  return {
    status: 'infeasible',
    reasons,
    ...(least === undefined ? {} : { least }),
    estimates: trials.estimates,
  };
}
