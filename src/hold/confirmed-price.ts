import type { PooledProblem } from '../milp/index.js';
import type { HeldConfirmation } from './confirmation.js';
import { PriceConfirmation } from './price.js';
import { pricedPlan, pricedSettings, servesRates, servingProblem } from './priced.js';
import { comparedOf, type Ranked, Ranking } from './ranking.js';
import type { HoldTarget } from './target.js';
import type { HoldTools } from './tools.js';
import type { Confirmed, HoldTrial } from './trial.js';
import { Trying } from './trying.js';
import { askedShare } from './value.js';

/** This many of the plans that look best are confirmed. */
const MOST_CONFIRMED = 3;
/** A plan that holds this multiple of its rates by the ranking seeds is likely to hold them by others. */
const ENOUGH = 1.01;

/** PriceQuestion is a priced problem, with what its plan is to hold. */
interface PriceQuestion {
  readonly problem: PooledProblem;
  readonly target: HoldTarget;
  readonly tools: HoldTools;
}

/** confirmedPrice gives the cheapest plan, found from the trials, whose rates hold with seeds that the search has not seen. */
export async function confirmedPrice(
  question: PriceQuestion,
  trials: readonly HoldTrial[],
): Promise<HeldConfirmation> {
  const { problem, tools } = question;
  const confirmation = new PriceConfirmation(problem, tools);
  const cheapest = await confirmation.cheapest(mostPromising(problem, trials).slice(0, MOST_CONFIRMED));
  const most =
    cheapest === undefined
      ? await fromMost(question, confirmation)
      : { confirmed: cheapest, isCut: false, simulated: 0 };
  return {
    ...most,
    isCut: most.isCut || confirmation.isCut,
    isUnconfirmed: confirmation.isCut && most.confirmed === undefined,
    closestRps: confirmation.closestRps,
  };
}

/** mostPromising gives the trials that hold the rates, the cheapest first, and all where none does, the closest first. */
function mostPromising(problem: PooledProblem, trials: readonly HoldTrial[]): readonly HoldTrial[] {
  const holding = trials.filter(({ value }) => value > Number.NEGATIVE_INFINITY);
  if (holding.length > 0) return holding.sort((a, b) => b.value - a.value);
  // A little more headroom may give the same plan, so that none of the trials holds where a larger plan does.
  const share = ({ heldRps }: HoldTrial) => askedShare(problem, heldRps);
  return [...trials].sort((a, b) => share(b) - share(a));
}

/**
 * fromMost looks for the plan that holds the largest multiple of the rates, whatever it costs, and lowers its price from
 * there. Near what a cluster can hold, few plans hold the rates, and more headroom for a cheap one need not lead to them.
 */
async function fromMost(
  { problem, target, tools }: PriceQuestion,
  confirmation: PriceConfirmation,
): Promise<Pick<HeldConfirmation, 'confirmed' | 'isCut' | 'simulated'>> {
  if (tools.isOver()) return { confirmed: undefined, isCut: true, simulated: 0 };
  const serving = servingProblem(problem);
  const trying = new Trying(serving, target, tools);
  await trying.run();
  const ranking = new Ranking(serving, tools, ENOUGH);
  const most = await ranking.mostHeld(comparedOf(trying.trials));
  const confirmed = most === undefined ? undefined : await judged(most, problem, confirmation);
  return { confirmed, isCut: trying.isCut || ranking.isCut, simulated: trying.trials.length };
}

/** judged gives the cheapest plan that a plan of the most that is held leads to, where that holds the rates. */
async function judged(
  { trial, value = 0, heldRps, moves }: Ranked,
  problem: PooledProblem,
  confirmation: PriceConfirmation,
): Promise<Confirmed | undefined> {
  const { outcome, settings } = trial;
  if (value < 1) confirmation.failedWith(heldRps);
  if (value < 1 || !servesRates(outcome.plan, problem)) return undefined;
  return confirmation.cheapestFrom({
    outcome: { ...outcome, plan: pricedPlan(outcome.plan, problem) },
    settings: pricedSettings(settings, outcome.plan, problem),
    ...(moves === undefined ? {} : { moves }),
  });
}
