import { itemAt } from '../collections/index.js';
import { CONFIDENCE } from '../metrics/index.js';
import type { PlanBody, PooledOutcome, PooledProblem } from '../milp/index.js';
import { confirmableShares } from './confirmable.js';
import type { HeldConfirmation } from './confirmation.js';
import { confirmedPrice } from './confirmed-price.js';
import { confirmedRates } from './confirmed-rates.js';
import { heldRun, PROMISE_REQUESTS } from './runs.js';
import { asAsked, withSettings } from './settings.js';
import type { HoldTarget } from './target.js';
import type { HoldTools } from './tools.js';
import { type Confirmed, type FoundOutcome, type HoldTrial, leadOf } from './trial.js';
import { Trying } from './trying.js';
import { askedShare, isPriced } from './value.js';

/** HoldOutcome is the end of a search. */
export type HoldOutcome =
  | {
      readonly status: 'held';
      /** The plan, with the rates that it holds and `hold`. */
      readonly plan: PlanBody;
      readonly outcome: FoundOutcome;
      /** isCut says whether the search was ended before it had tried what it would. */
      readonly isCut: boolean;
    }
  | {
      /** No plan that was tried holds the rates that were asked for. */
      readonly status: 'not-held';
      readonly isCut: boolean;
      readonly trials: number;
      /** The share of its rate that the model furthest from it holds, in the plan that came closest. */
      readonly heldShare: number;
      /** The rates that the models hold in that plan. */
      readonly heldRps: readonly number[];
      /**
       * judgedBy says whether that is by the mean over the seeds of the search, or by the lower end over
       * others.
       */
      readonly judgedBy: 'mean' | 'lower-end';
    }
  | { readonly status: 'no-plan'; readonly outcome: PooledOutcome }
  /** A share is so near 1 that no runs could confirm it: by model, the largest share that they could. */
  | { readonly status: 'unconfirmable'; readonly most: readonly number[] }
  /** The search was ended before a plan was confirmed. */
  | { readonly status: 'unfinished' };

/**
 * searchHeld searches the settings (margins, batch formation, largest batches and headroom of every model) whose plan
 * holds most in simulation, or holds the rates asked for at the least price. It first tries every margin for all models.
 * Then it predicts, by the LP and by what shares of their planned rates models have held, which change of one setting
 * gives more, and simulates the plans that are predicted to be better, until none is. The best ones are confirmed with
 * seeds that the search has not seen. The same problem and tools give the same plan.
 */
export async function searchHeld(
  problem: PooledProblem,
  target: HoldTarget,
  tools: HoldTools,
): Promise<HoldOutcome> {
  const always = target.attainment.map(() => 1);
  const shares = [target.attainment, always];
  // The rates that any plan can hold, and those that it can be planned for: a plan serves all of the rates,
  // even where fewer need be in time.
  const [most, planned] = await tools.bounds(shares.map((share) => atNoMargin(problem, share)));
  if (most === undefined || planned === undefined) {
    const unserved = most === undefined ? target.attainment : always;
    const [outcome] = await tools.plans([atNoMargin(problem, unserved)]);
    return outcome === undefined ? { status: 'unfinished' } : { status: 'no-plan', outcome };
  }
  const confirmable = confirmableShares(problem, most);
  if (target.attainment.some((share, m) => share > (confirmable[m] as number)))
    return { status: 'unconfirmable', most: confirmable };
  const trying = new Trying(problem, target, tools);
  await trying.run();
  const confirmation = isPriced(problem)
    ? await confirmedPrice({ problem, target, tools }, trying.trials)
    : await confirmedRates(problem, trying.trials, tools);
  const { confirmed } = confirmation;
  if (confirmed === undefined) return notHeld(problem, trying, confirmation);
  const tried = trying.trials.length + confirmation.simulated;
  return {
    status: 'held',
    isCut: trying.isCut || confirmation.isCut,
    ...held(confirmed, problem, { target, tried, most, planned }),
  };
}

/** notHeld says what a search ended with that has no plan which is sure to hold the rates. */
function notHeld(
  problem: PooledProblem,
  { trials, ended, isCut: isCutTrying }: Trying,
  { isCut: isCutConfirming, isUnconfirmed, simulated, closestRps }: HeldConfirmation,
): HoldOutcome {
  const isCut = isCutTrying || isCutConfirming;
  const tried = trials.length + simulated;
  // Of plans that were not simulated, or not confirmed, nobody knows whether they hold the rates.
  if (isUnconfirmed || (tried === 0 && (isCut || ended === undefined))) return { status: 'unfinished' };
  if (tried === 0) return { status: 'no-plan', outcome: ended as PooledOutcome };
  return { status: 'not-held', isCut, trials: tried, ...closestOf(problem, trials, closestRps) };
}

/**
 * closestOf gives what all models held in the plan that came closest to their rates. Where plans held them by the seeds of
 * the search, it is what the confirmation left of that. Without rates that are asked for, there is no share.
 */
function closestOf(
  problem: PooledProblem,
  trials: readonly HoldTrial[],
  closestRps: readonly number[] | undefined,
): Pick<Extract<HoldOutcome, { status: 'not-held' }>, 'heldShare' | 'heldRps' | 'judgedBy'> {
  const judgedBy = closestRps === undefined ? 'mean' : 'lower-end';
  const best = leadOf(
    trials.map((trial) => ({ ...trial, value: 0 })),
    (trial) => askedShare(problem, trial.heldRps),
  );
  const heldRps = closestRps ?? best?.heldRps ?? [];
  return { heldShare: isPriced(problem) ? askedShare(problem, heldRps) : 0, heldRps, judgedBy };
}

/**
 * atNoMargin gives the problem whose LP bounds what can be served in time: nothing is withheld from the SLO, partitions
 * take batches as they like, and only the share of the requests that must be in time has to be served.
 */
export function atNoMargin(problem: PooledProblem, attainment: readonly number[]): PooledProblem {
  const settings = attainment.map((headroom) => ({
    sloMargin: 0,
    batchFormation: 'none' as const,
    headroom,
  }));
  const freed = withSettings(problem, settings);
  return { ...freed, planner: { ...freed.planner, unifiedBatch: false } };
}

function held(
  { settings, outcome, rates, seeds, heldRps, value, moves }: Confirmed,
  problem: PooledProblem,
  found: { target: HoldTarget; tried: number; most: number; planned: number },
): { plan: PlanBody; outcome: FoundOutcome } {
  const { attainment, arrivals, cv } = found.target;
  const plan = asAsked(outcome.plan, problem, found.planned);
  const isThroughput = problem.planner.objective === 'throughput';
  const { durationNs, warmUp } = heldRun(outcome.plan.models, PROMISE_REQUESTS);
  const promised = isThroughput ? rates.heldRps : heldRps;
  const models = plan.models.map((model, m) => ({ ...model, heldRps: itemAt(promised, m) }));
  const hold: NonNullable<PlanBody['hold']> = {
    value: Math.abs(value),
    bound: found.most,
    trials: found.tried,
    ...(moves === undefined ? {} : moves),
    runs: {
      seeds: [...seeds],
      arrivals,
      ...(cv === undefined ? {} : { cv }),
      durationS: durationNs / 1e9,
      warmUp,
      confidence: CONFIDENCE,
    },
    models: settings.map((setting, m) => ({
      name: itemAt(problem.models, m).name,
      attainment: itemAt(attainment, m),
      ...(rates.attainment[m] === undefined ? {} : { simulated: { ...rates.attainment[m] } }),
      ...setting,
    })),
  };
  return { plan: { ...plan, models, hold }, outcome };
}
