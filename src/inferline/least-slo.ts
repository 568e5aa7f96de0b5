import { decided } from './decided.js';
import type { Configuration } from './problem.js';
import { type PlannerInput, Trials } from './trials.js';

/** LeastSlo is the SLO of each objective that can be met, with what a plan for them costs. */
export interface LeastSlo {
  readonly sloNs: readonly number[];
  readonly configuration: Configuration;
  readonly hourlyCost: number;
}

/** Solved is what comes of planning for other SLOs. */
type Solved =
  | {
      readonly status: 'feasible';
      readonly configuration: Configuration;
      readonly hourlyCost: number;
      readonly estimates: number;
    }
  | { readonly status: 'infeasible' | 'undecided'; readonly estimates: number };

/** SolveSlos plans for SLOs. In a step, no cheaper configuration need be searched than is needed to know that one is there. */
type SolveSlos = (input: PlannerInput, isStep: boolean) => Solved;

const MOST_STRETCH = 2 ** 20;
/**
 * The SLO that is reported and the SLO that is known to be missed are no further apart than this factor, with
 * the rounding of the former.
 */
const FINE = 1.015;
/** An SLO that is met over idle links is missed if it is shorter by this factor. */
const SHORTER = 0.98;
/** While batches may wait for links, SLOs that are missed are tried so much longer, this many times. */
const LONGER = 1.4;
const MOST_TRIES = 6;
/** A step makes no more estimates: near the least SLO a search could go on for long. */
const MOST_STEP = 500;
/** An SLO is reported with this many digits. */
const DIGITS = 4;

/**
 * leastSlo finds SLOs that can be met, all stretched by one factor from the shortest that could be if no
 * request ever waited. It halves between what is missed and what is met until both are near each other. Each
 * is as it is reported, with few digits; and what is found is solved as a spec with these SLOs would be,
 * within the same limits, so that it is met where a person tries it. All of that has the limits of one search
 * together: no step begins once they are reached. Where they end before the answer is known, or the search
 * that ends them finds no plan, nothing is reported.
 */
export function leastSlo(input: PlannerInput, trials: Trials, solve: SolveSlos): LeastSlo | undefined {
  const shortest = trials.problem.objectives.map((objective) =>
    Math.max(objective.sloNs, trials.leastSloNs(trials.floor(), objective)),
  );
  const asked = new AskedSlos(input, solve);
  const factor = asked.leastFactor(shortest);
  if (factor === undefined) return undefined;
  const solved = (one: number, isStep = false) => asked.solved(told(shortest, one), isStep);
  if (!trials.isLinked && !asked.isOpen) return solved(factor);
  const found = leastSolved(factor, asked, (one) => solved(one, true));
  return found === undefined || trials.isLinked ? found?.least : solved(found.factor);
}

/**
 * leastSolved finds the least factor whose SLOs are met where no step before proves that shorter ones are missed: where
 * batches may wait for links, or a step was left open. Each of its own steps is solved as a spec with these SLOs would be.
 */
function leastSolved(
  from: number,
  asked: AskedSlos,
  solved: (factor: number) => LeastSlo | undefined,
): { readonly factor: number; readonly least: LeastSlo } | undefined {
  let [missed, met] = [from * SHORTER, from];
  let found = solved(met);
  for (let tries = 0; found === undefined && tries < MOST_TRIES; tries++) {
    if (asked.isSpent) return undefined;
    [missed, met] = [met, met * LONGER];
    found = solved(met);
  }
  while (found !== undefined && met > missed * FINE) {
    if (asked.isSpent) return undefined;
    const middle = Math.sqrt(missed * met);
    const better = solved(middle);
    if (better === undefined) missed = middle;
    else [found, met] = [better, middle];
  }
  return found && { factor: met, least: found };
}

/** told rounds stretched SLOs up to the figures that are reported. */
function told(sloNs: readonly number[], factor: number): number[] {
  return sloNs.map((ns) => {
    const exact = Math.ceil(ns * factor);
    const unit = 10 ** Math.max(0, Math.ceil(Math.log10(exact + 1)) - DIGITS);
    return Math.ceil(exact / unit) * unit;
  });
}

/** AskedSlos asks whether SLOs can be met, and counts the estimates of all questions. */
class AskedSlos {
  private estimates = 0;
  /** isOpen says whether a step was left open, which then counted as missed. */
  isOpen = false;

  constructor(
    private readonly input: PlannerInput,
    private readonly solve: SolveSlos,
  ) {}

  /** isSpent says whether the limits of a search are reached. */
  get isSpent(): boolean {
    const { mostEstimates = Number.POSITIVE_INFINITY, stop } = this.input;
    return this.estimates >= mostEstimates || stop?.(this.estimates) === true;
  }

  /** leastFactor is the least factor that was found, over idle links, to be met; undefined where that was not decided in time. */
  leastFactor(shortest: readonly number[]): number | undefined {
    const asks = (factor: number) => this.isMet(told(shortest, factor));
    const { objectives } = this.input.problem;
    // The SLOs that were asked for are known to be missed.
    const isAsked = told(shortest, 1).every((sloNs, k) => sloNs === objectives[k]?.sloNs);
    let [missed, met] = [1, 1];
    let answer = isAsked ? false : asks(1);
    while (answer === false && met < MOST_STRETCH) {
      [missed, met] = [met, met * 2];
      answer = asks(met);
    }
    if (answer !== true) return undefined;
    while (met > missed * FINE) {
      const middle = (missed + met) / 2;
      answer = asks(middle);
      if (answer === undefined) return undefined;
      if (answer) met = middle;
      else missed = middle;
    }
    return met;
  }

  /** solved plans for SLOs as a spec with them is planned for. */
  solved(sloNs: readonly number[], isStep: boolean): LeastSlo | undefined {
    const outcome = this.solve(withSlos(this.input, sloNs), isStep);
    this.estimates += outcome.estimates;
    if (outcome.status !== 'feasible') return undefined;
    return { sloNs, configuration: outcome.configuration, hourlyCost: outcome.hourlyCost };
  }

  /** isMet is undefined where it was not decided in time. */
  private isMet(sloNs: readonly number[]): boolean | undefined {
    const { mostEstimates = Number.POSITIVE_INFINITY } = this.input;
    const left = mostEstimates - this.estimates;
    if (this.isSpent) return undefined;
    const { serve: _, ...asked } = {
      ...withSlos(this.input, sloNs),
      mostEstimates: Math.min(left, MOST_STEP),
    };
    const trials = new Trials(asked);
    const answer = decided(asked, trials);
    this.estimates += trials.estimates;
    if (answer === 'open') this.isOpen = true;
    return answer === 'met';
  }
}

function withSlos(input: PlannerInput, sloNs: readonly number[]): PlannerInput {
  const objectives = input.problem.objectives.map((objective, k) => ({
    ...objective,
    sloNs: sloNs[k] as number,
  }));
  return { ...input, problem: { ...input.problem, objectives } };
}
