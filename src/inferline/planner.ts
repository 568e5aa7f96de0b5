import { fixedFit } from './class-counts.js';
import { countedCost, leastCost } from './decided.js';
import { costBound, searchExactly } from './exact.js';
import { planGreedily } from './greedy.js';
import { type InfeasibleReason, leastOfStages, reasonsOf, scarceReason } from './infeasible.js';
import { type LeastSlo, leastSlo } from './least-slo.js';
import { type NearestLinked, planLinked } from './linked.js';
import { neededDevices } from './needed.js';
import type { Configuration } from './problem.js';
import { isCheaper, type PlannerInput, type PlanningAction, Trials } from './trials.js';

/** PlanningOutcome is what came of planning. */
export type PlanningOutcome =
  | {
      readonly status: 'feasible';
      readonly configuration: Configuration;
      readonly hourlyCost: number;
      /** The proved lower bound: no feasible configuration costs less. */
      readonly lowerBound: number;
      /** The cost to which InferLine's own algorithms come, where they find a configuration. */
      readonly greedyCost?: number;
      /** finished says whether the search came to its end; otherwise it was stopped. */
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
  /** The search found no configuration, and did not prove that there is none. */
  | {
      readonly status: 'undecided';
      readonly lowerBound: number;
      readonly estimates: number;
      /**
       * isCut says whether a limit stopped it; otherwise it came to its end, and links are in the way of a
       * proof.
       */
      readonly isCut: boolean;
      /** Where only waiting for links is in the way of what was found: what came nearest with them. */
      readonly nearest?: NearestLinked;
    };

/**
 * planPipeline finds a configuration that serves the sample within the objectives at little cost (`inferline`) or at
 * the least (`exact`). Where InferLine's first algorithm finds none, an exact search decides whether there is one.
 *
 * Where batches may wait for links, the Estimator does not know what waits: what it finds is served with
 * links too, and planned again where it misses the objectives then. The search proves its bounds for stages
 * behind others over idle links only. So the bound of a plan is the counted one, and a search that finds no
 * plan proves nothing.
 */
export function planPipeline(input: PlannerInput, method: 'inferline' | 'exact'): PlanningOutcome {
  const trials = new Trials(input);
  // No SLO mends what the counts of classes forbid.
  if (!fixedFit(trials)) {
    const reasons = [withNeeded(input, trials, scarceReason(trials))];
    return { status: 'infeasible', reasons, estimates: trials.estimates };
  }
  const outcome = answered(input, { trials, method });
  if (outcome.status !== 'infeasible') return outcome;
  // The exact search does not change whether there is a plan; with links it does, as it changes what is
  // served.
  const quick = trials.isLinked ? method : 'inferline';
  const solve = (asked: PlannerInput, isStep: boolean) =>
    answered(asked, { trials: new Trials(asked), method: isStep ? quick : method });
  const least = input.tellsSlo === false ? undefined : leastSlo(input, trials, solve);
  const reasons = reasonsOf(input, trials).map((reason) => withNeeded(input, trials, reason));
  return { ...outcome, reasons, ...(least === undefined ? {} : { least }) };
}

/**
 * withNeeded adds to a reason how many devices would do, where counts are too small together. The waits of
 * batches at links depend on how many servers there are, so that in this case only the least need of each
 * stage is reported.
 */
function withNeeded(input: PlannerInput, trials: Trials, reason: InfeasibleReason): InfeasibleReason {
  if (reason.code !== 'limits-together' || input.tellsSlo === false) return reason;
  if (trials.isLinked) return { ...reason, least: leastOfStages(trials) };
  const needed = neededDevices(input, reason.classes, (asked) => {
    const found = withoutLinks(asked, { trials: new Trials(asked), method: 'inferline' });
    return found.status === 'feasible' ? found.configuration : undefined;
  });
  return needed === undefined || needed.classes.length === 0 ? reason : { ...reason, needed };
}

/** Asking is what a problem is answered with. */
interface Asking {
  readonly trials: Trials;
  readonly method: 'inferline' | 'exact';
}

/** answered is what comes of planning, without reasons where there is no plan. */
function answered(input: PlannerInput, asking: Asking): PlanningOutcome {
  const plain = withoutLinks(input, asking);
  const { trials } = asking;
  const { serve } = input;
  if (plain.status !== 'feasible' || !trials.isLinked || serve === undefined) return plain;
  const linked = planLinked({ ...input, serve }, { trials, begin: plain.configuration }, (asked) => {
    const found = withoutLinks(asked, { trials: new Trials(asked), method: 'inferline' });
    return found.status === 'feasible' ? found : undefined;
  });
  const { configuration, nearest } = linked;
  const estimates = plain.estimates + linked.estimates;
  const { lowerBound } = plain;
  if (configuration === undefined) {
    const { isCut = true } = nearest ?? {};
    return { status: 'undecided', lowerBound, estimates, isCut, ...(nearest && { nearest }) };
  }
  const hourlyCost = trials.hourlyCost(configuration);
  return { ...plain, configuration, hourlyCost, finished: plain.finished && linked.finished, estimates };
}

function withoutLinks(input: PlannerInput, { trials, method }: Asking): PlanningOutcome {
  const infeasible = () => ({ status: 'infeasible' as const, reasons: [], estimates: trials.estimates });
  if (costBound(trials) === Number.POSITIVE_INFINITY || !trials.meets(trials.floor())) return infeasible();
  const bound = leastCost(trials);
  if (bound === Number.POSITIVE_INFINITY) return infeasible();
  const greedy = planGreedily(input, trials);
  if (greedy === undefined) {
    if (!trials.stopped && !trials.isLinked) return infeasible();
    const { estimates, stopped } = trials;
    return { status: 'undecided', lowerBound: bound, estimates, isCut: stopped };
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
  const { gap = 0 } = input;
  if (method === 'inferline' || (greedy.finished && !isCheaper(bound * (1 + gap), greedyCost)))
    return feasible;
  const found = searchExactly(trials, { incumbent: greedy.configuration, gap });
  const { configuration = greedy.configuration, lowerBound, finished } = found;
  return {
    ...feasible,
    configuration,
    hourlyCost: trials.hourlyCost(configuration),
    lowerBound: trials.isLinked ? bound : Math.max(bound, lowerBound),
    finished,
    estimates: trials.estimates,
  };
}

/** provedCost gives a cost below which no configuration is feasible. It is the bound of `inferline`. */
export function provedCost(input: PlannerInput): number {
  return leastCost(new Trials(input));
}

/** provedForAll gives a cost below which no configuration is feasible, whatever scheduler serves it. */
export function provedForAll(input: PlannerInput): number {
  return countedCost(new Trials(input));
}
