import type { HoldArrivals } from '../formats/index.js';
import { CONFIDENCE } from '../metrics/index.js';
import type { PlanBody, PooledOutcome, PooledProblem, ProblemModel } from '../milp/index.js';
import { Candidates, type HoldCandidate } from './candidates.js';
import { confirmableShares } from './confirmable.js';
import { Polish } from './polish.js';
import { PriceConfirmation } from './price.js';
import { pricedPlan, pricedSettings, servesRates, servingProblem } from './priced.js';
import { heldRun, PROMISE_REQUESTS, promiseSeeds } from './runs.js';
import { asAsked, isOneMargin, type ModelSetting, withSettings } from './settings.js';
import type { HoldProgress, HoldTools } from './tools.js';
import {
  type Confirmed,
  type FoundOutcome,
  type HoldTrial,
  heldShareOf,
  isTimed,
  leadOf,
  leastPerWeight,
  pipelinesOf,
} from './trial.js';

/** HoldTarget says what a plan is to hold. */
export interface HoldTarget {
  /** By model: the share of requests that must be in time. */
  readonly attainment: readonly number[];
  /** How requests arrive, and the coefficient of variation of the gaps between gamma arrivals. */
  readonly arrivals: HoldArrivals;
  readonly cv?: number | undefined;
  /** The most plans that are simulated. */
  readonly mostTrials: number;
}

/** HoldOutcome is the end of a search. */
export type HoldOutcome =
  | {
      readonly status: 'held';
      /** The plan, with the rates that it holds and `hold`. */
      readonly plan: PlanBody;
      readonly outcome: FoundOutcome;
      /** Whether the search was ended before it had tried what it would. */
      readonly isCut: boolean;
    }
  | {
      /** No plan that was tried holds the rates that were asked for. */
      readonly status: 'not-held';
      readonly isCut: boolean;
      readonly trials: number;
      /** The share of its rate that the model furthest from it holds, in the plan that came closest. */
      readonly heldShare: number;
      /** What the models hold in that plan. */
      readonly heldRps: readonly number[];
      /** Whether that is by the mean over the seeds of the search, or by the lower end over others. */
      readonly judgedBy: 'mean' | 'lower-end';
    }
  | { readonly status: 'no-plan'; readonly outcome: PooledOutcome }
  /** A share is so near 1 that no runs could confirm it: by model, the largest share that they could. */
  | { readonly status: 'unconfirmable'; readonly most: readonly number[] }
  /** The search was ended before a plan was confirmed. */
  | { readonly status: 'unfinished' };

/** So many plans are simulated side by side. It is no matter of cores, as the search takes the same way everywhere. */
const SIDE_BY_SIDE = 4;
/** The search ends after so many rounds in a row that found no better plan. */
const MOST_VAIN = 6;
/** Plans whose values lie this close to the best are confirmed too, */
const CLOSE = 0.02;
/** but no more than this many. */
const MOST_CONFIRMED = 3;
/** Of plans that are to hold most, more are compared, as it costs little to give up one that holds less. */
const MOST_RANKED = 6;
/** GPUs are moved between the pools of the best plan and of so many others. */
const MOST_OTHERS = 2;
/** A plan that holds this multiple of its rates by the ranking seeds is likely to hold them by others. */
const ENOUGH = 1.01;
/** Held rates that differ by less than this share are not told apart by the ranking seeds; the first is kept. */
const DISTINCT = 0.001;

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
  // What any plan can hold, and what it can be planned for: a plan serves all of the rates, also where fewer need be in time.
  const [most, planned] = await tools.bounds(shares.map((share) => atNoMargin(problem, share)));
  if (most === undefined || planned === undefined) {
    const unserved = most === undefined ? target.attainment : always;
    const [outcome] = await tools.plans([atNoMargin(problem, unserved)]);
    return outcome === undefined ? { status: 'unfinished' } : { status: 'no-plan', outcome };
  }
  const confirmable = confirmableShares(problem, most);
  if (target.attainment.some((share, m) => share > (confirmable[m] as number)))
    return { status: 'unconfirmable', most: confirmable };
  const search = new Search(problem, target, tools);
  await search.run();
  const confirmed = await search.confirmed();
  const { isCut, ended } = search;
  if (confirmed === undefined) {
    const trials = search.simulated;
    // Of plans that were not simulated, or not confirmed, nobody knows whether they hold the rates.
    if (search.isUnconfirmed || (trials === 0 && (isCut || ended === undefined)))
      return { status: 'unfinished' };
    if (trials === 0) return { status: 'no-plan', outcome: ended as PooledOutcome };
    return { status: 'not-held', isCut, trials, ...search.closest() };
  }
  return {
    status: 'held',
    isCut,
    ...held(confirmed, problem, { target, tried: search.simulated, most, planned }),
  };
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

/** Ranked is a trial with what it holds by the ranking seeds. */
interface Ranked extends Pick<Confirmed, 'heldRps' | 'moves'> {
  readonly trial: HoldTrial;
  /** Absent where the time was over before it was known by these seeds. */
  readonly value?: number;
}

class Search {
  readonly trials: HoldTrial[] = [];
  /** Whether a time limit or an interruption ended the search, a plan's search or its simulations. */
  isCut = false;
  /** Whether the time was over before a plan that may hold the rates was confirmed. */
  isUnconfirmed = false;
  /** The outcome without a plan of the settings that withheld the least from the SLOs, where there was one. */
  ended: PooledOutcome | undefined;
  private endedMargin = Number.POSITIVE_INFINITY;
  /** The rates that the plan held which came closest to all of them, by seeds that rank or confirm. */
  private closestRps: readonly number[] | undefined;
  /** What was found of each plan, by its pipelines; undefined before it is simulated. */
  private readonly seen = new Map<string, HoldTrial | undefined>();
  private readonly candidates: Candidates;
  /** How many plans were simulated by the search for the largest multiple of the rates. */
  private simulatedForMost = 0;

  /** @param enough a value that is enough: by the ranking seeds, nothing that holds more is looked for */
  constructor(
    private readonly problem: PooledProblem,
    private readonly target: HoldTarget,
    private readonly tools: HoldTools,
    private readonly enough = Number.POSITIVE_INFINITY,
  ) {
    this.candidates = new Candidates(problem, (problems) => tools.bounds(problems));
  }

  async run(): Promise<void> {
    // What a model holds at a margin tells something also where another model makes the plan worse than the best.
    await this.try(this.candidates.first(), this.problem.models.length > 1);
    for (let vain = 0; vain < MOST_VAIN && !this.isOver(); ) {
      const before = this.best();
      const next = await this.candidates.next(before);
      if (next.length === 0) return;
      await this.try(next.slice(0, SIDE_BY_SIDE));
      vain = this.best() === before ? vain + 1 : 0;
    }
  }

  /** simulated is the number of plans that were simulated. */
  get simulated(): number {
    return this.trials.length + this.simulatedForMost;
  }

  private isOver(): boolean {
    if (this.trials.length >= this.target.mostTrials) return true;
    const isOver = this.tools.isOver();
    this.isCut ||= isOver;
    return isOver;
  }

  best(): HoldTrial | undefined {
    return leadOf(this.trials, (trial) => this.heldShare(trial));
  }

  /**
   * try plans by each candidate's settings, and simulates the plans that are new and may be better than the best.
   * @param all whether it simulates also those that cannot be better
   */
  private async try(candidates: readonly HoldCandidate[], all = false): Promise<void> {
    for (const candidate of candidates) this.candidates.exclude(candidate);
    const outcomes = await this.tools.plans(
      candidates.map(({ settings }) => withSettings(this.problem, settings)),
    );
    const again: { settings: readonly ModelSetting[]; key: string }[] = [];
    const fresh = outcomes.flatMap((outcome, i) => {
      const { settings } = candidates[i] as HoldCandidate;
      this.isCut ||= isTimed(outcome);
      if (!('plan' in outcome)) {
        this.keepEnded(outcome, settings);
        return [];
      }
      const key = pipelinesOf(outcome.plan);
      if (this.seen.has(key)) {
        again.push({ settings, key });
        return [];
      }
      this.seen.set(key, undefined);
      return [{ outcome, settings }];
    });
    for (let from = 0; from < fresh.length && !this.isOver(); from += SIDE_BY_SIDE) {
      const some = fresh
        .slice(from, from + SIDE_BY_SIDE)
        .filter(({ outcome }) => all || this.mayBeBetter(outcome.plan));
      const found = await this.tools.held(
        some.map(({ outcome: { plan } }) => ({ plan, startRps: this.startRps(plan) })),
      );
      found.forEach((rates, i) => {
        const { outcome, settings } = some[i] as (typeof some)[number];
        if (rates === undefined) this.isCut = true;
        else
          this.keep({
            settings,
            outcome,
            heldRps: rates.heldRps,
            value: this.valueOf(outcome.plan, rates.heldRps),
          });
      });
    }
    // Other settings may give the same plan. It holds the same by them.
    for (const { settings, key } of again) {
      const trial = this.seen.get(key);
      if (trial !== undefined) this.candidates.learn({ ...trial, settings });
    }
  }

  private keepEnded(outcome: PooledOutcome, settings: readonly ModelSetting[]): void {
    const margin = settings.reduce((sum, { sloMargin }) => sum + sloMargin, 0);
    if (margin >= this.endedMargin) return;
    this.ended = outcome;
    this.endedMargin = margin;
  }

  /**
   * No plan holds more than its planned rates over the share that must be in time, nor does it cost less. What a trial
   * says is not exact, so plans that could be close to the best are simulated too.
   */
  private mayBeBetter(plan: PlanBody): boolean {
    const best = this.best();
    if (best === undefined) return true;
    const { attainment } = this.target;
    const most = plan.models.map(({ throughputRps }, m) => throughputRps / (attainment[m] as number));
    const value = this.valueOf(plan, most);
    return this.isPriced ? value > best.value : value > (1 - CLOSE) * best.value;
  }

  private startRps({ models }: PlanBody): number[] {
    return models.map(({ throughputRps }, m) => {
      const { rps } = this.problem.models[m] as ProblemModel;
      return this.isPriced ? (rps as number) : throughputRps;
    });
  }

  private keep(trial: HoldTrial): void {
    this.trials.push(trial);
    this.seen.set(pipelinesOf(trial.outcome.plan), trial);
    this.candidates.learn(trial);
    const best = this.best()?.value;
    const value = best === undefined || best === Number.NEGATIVE_INFINITY ? {} : { value: Math.abs(best) };
    this.tell({ phase: 'trying', done: this.trials.length, of: this.target.mostTrials, ...value });
  }

  private tell(progress: HoldProgress): void {
    this.tools.onProgress?.(progress);
  }

  private get isPriced(): boolean {
    return this.problem.planner.objective !== 'throughput';
  }

  private valueOf(plan: PlanBody, heldRps: readonly number[]): number {
    const { models } = this.problem;
    if (!this.isPriced) return leastPerWeight(models, heldRps);
    const holds = models.every(({ rps = 0 }, m) => (heldRps[m] as number) >= rps);
    return holds ? -plan.objective.value : Number.NEGATIVE_INFINITY;
  }

  /** confirmed gives the best of the trials whose promise holds with seeds that the search has not seen. */
  async confirmed(): Promise<Confirmed | undefined> {
    return this.isPriced ? this.confirmedPrice() : this.confirmedRates();
  }

  private async confirmedRates(): Promise<Confirmed | undefined> {
    const compared = this.compared();
    const polished = await this.mostHeld(compared);
    if (polished === undefined) return undefined;
    // The best of several looks better than it is, so other seeds have the last word.
    const confirmed = await this.promisedOf(polished);
    if (confirmed === undefined) {
      this.isUnconfirmed = true;
      return undefined;
    }
    const last = await this.orOneMargin(confirmed, compared, polished.trial);
    return last.value > 0 ? last : undefined;
  }

  /** compared gives the trials that hold most by the seeds of the search. */
  private compared(): HoldTrial[] {
    const ranked = [...this.trials].sort((a, b) => b.value - a.value);
    const least = (1 - CLOSE) * (ranked[0]?.value ?? 0);
    const close = ranked.filter(({ value }) => value >= least && value > 0);
    const compared = close.slice(0, MOST_RANKED);
    // What is found is never below the best plan of one margin for all models, by the seeds that rank.
    const single = ranked.find(({ settings, value }) => isOneMargin(settings) && value > 0);
    if (single !== undefined && !compared.some(({ settings }) => isOneMargin(settings)))
      compared.push(single);
    return compared;
  }

  /** mostHeld gives what holds most by the ranking seeds, of trials and of plans with GPUs moved. */
  private async mostHeld(compared: readonly HoldTrial[]): Promise<Ranked | undefined> {
    const best = await this.bestRanked(compared);
    return best === undefined ? undefined : this.polished(best, compared);
  }

  /** promisedOf confirms what a plan holds, by seeds that it was not found by; undefined where the time is over before. */
  private async promisedOf({ trial, heldRps, moves }: Ranked): Promise<Confirmed | undefined> {
    const { plan } = trial.outcome;
    const seeds = promiseSeeds(0);
    this.tell({ phase: 'confirming', done: 0 });
    const rates = await this.tools.promised({ plan, startRps: heldRps }, seeds);
    this.isCut ||= rates === undefined;
    if (rates === undefined) return undefined;
    const value = this.valueOf(plan, rates.heldRps);
    return { ...trial, rates, seeds, value, ...(moves === undefined ? {} : { moves }) };
  }

  /**
   * orOneMargin gives the best plan of one margin for all models where it holds more than what was confirmed, by the
   * ranking seeds and by those that confirmed it. So no promise is below that of such a plan for want of luck.
   */
  private async orOneMargin(
    confirmed: Confirmed,
    compared: readonly HoldTrial[],
    confirmedTrial: HoldTrial,
  ): Promise<Confirmed> {
    const moves = confirmed.moves === undefined ? {} : { moves: { ...confirmed.moves, moved: 0 } };
    let best = confirmed;
    for (const trial of compared) {
      const isOther = trial !== confirmedTrial && isOneMargin(trial.settings);
      if (!isOther || trial.value < (1 - CLOSE) * best.value) continue;
      if (this.tools.isOver()) {
        this.isCut = true;
        return best;
      }
      const { plan } = trial.outcome;
      this.tell({ phase: 'ranking', done: 0 });
      const rates = await this.tools.ranked({ plan, startRps: trial.heldRps });
      this.isCut ||= rates === undefined;
      if (rates === undefined || this.valueOf(plan, rates.heldRps) <= best.value) continue;
      const found = await this.promisedOf({ trial, heldRps: rates.heldRps, ...moves });
      if (found !== undefined && found.value > best.value) best = found;
    }
    return best;
  }

  /**
   * bestRanked compares trials by the ranking seeds. Each is first asked for more than the best before it holds. Where
   * the time is over before any was, it is the first one, with what it held when it was tried.
   */
  private async bestRanked(trials: readonly HoldTrial[]): Promise<Ranked | undefined> {
    let best: (Ranked & { readonly value: number }) | undefined;
    for (const [done, trial] of trials.entries()) {
      const { plan } = trial.outcome;
      const found = best === undefined ? {} : { value: best.value };
      this.tell({ phase: 'ranking', done, of: trials.length, ...found });
      const least = best === undefined ? {} : { leastRps: this.ratesOf((1 + DISTINCT) * best.value) };
      const rates = await this.tools.ranked({ plan, startRps: trial.heldRps, ...least });
      if (rates === undefined) {
        this.isCut = true;
        return best ?? { trial, heldRps: trial.heldRps };
      }
      const { heldRps } = rates;
      const value = this.valueOf(plan, heldRps);
      if (best === undefined || value > best.value) best = { trial, heldRps, value };
      if (best.value >= this.enough) return best;
    }
    return best;
  }

  /** polished moves GPUs between the pools of the plan that was ranked best, and of others, where there was time to rank. */
  private async polished(ranked: Ranked, compared: readonly HoldTrial[]): Promise<Ranked> {
    const { trial, heldRps, value } = ranked;
    if (value === undefined || value <= 0) return ranked;
    const polish = new Polish(this.problem, this.tools, this.enough);
    const others = compared
      .filter((one) => one !== trial)
      .slice(0, MOST_OTHERS)
      .map((one) => ({ trial: one, heldRps: one.heldRps, value: one.value, moved: 0 }));
    const { moved, ...found } = await polish.polished({ trial, heldRps, value, moved: 0 }, others);
    this.isCut ||= polish.isCut;
    return { ...found, moves: { variants: polish.variants, moved } };
  }

  /** ratesOf gives the rates at which a plan has a value: so many per unit of weight. */
  private ratesOf(value: number): number[] {
    return this.problem.models.map(({ weight }) => value * weight);
  }

  private async confirmedPrice(): Promise<Confirmed | undefined> {
    const holding = this.trials
      .filter(({ value }) => value > Number.NEGATIVE_INFINITY)
      .sort((a, b) => b.value - a.value);
    // A little more headroom may give the same plan, so that none of the trials holds where a larger plan does.
    const closest = [...this.trials].sort((a, b) => this.heldShare(b) - this.heldShare(a));
    const ranked = holding.length > 0 ? holding : closest;
    const confirmation = new PriceConfirmation(this.problem, this.tools);
    const cheapest =
      (await confirmation.cheapest(ranked.slice(0, MOST_CONFIRMED))) ?? (await this.fromMost(confirmation));
    this.closestRps = confirmation.closestRps;
    this.isCut ||= confirmation.isCut;
    this.isUnconfirmed = confirmation.isCut && cheapest === undefined;
    return cheapest;
  }

  /**
   * fromMost looks for the plan that holds the largest multiple of the rates, whatever it costs, and lowers its price from
   * there. Near what a cluster can hold, few plans hold the rates, and more headroom for a cheap one need not lead to them.
   */
  private async fromMost(confirmation: PriceConfirmation): Promise<Confirmed | undefined> {
    if (this.tools.isOver()) {
      this.isCut = true;
      return undefined;
    }
    const search = new Search(servingProblem(this.problem), this.target, this.tools, ENOUGH);
    await search.run();
    const most = await search.mostHeld(search.compared());
    this.isCut ||= search.isCut;
    this.simulatedForMost = search.trials.length;
    if (most === undefined) return undefined;
    const { trial, value = 0, heldRps, moves } = most;
    const { outcome, settings } = trial;
    if (value < 1) confirmation.failedWith(heldRps);
    if (value < 1 || !servesRates(outcome.plan, this.problem)) return undefined;
    return confirmation.cheapestFrom({
      outcome: { ...outcome, plan: pricedPlan(outcome.plan, this.problem) },
      settings: pricedSettings(settings, outcome.plan, this.problem),
      ...(moves === undefined ? {} : { moves }),
    });
  }

  /**
   * closest gives what all models held in the plan that came closest to their rates. Where plans held them by the seeds of
   * the search, it is what the confirmation left of that. Without rates that are asked for, there is no share.
   */
  closest(): Pick<Extract<HoldOutcome, { status: 'not-held' }>, 'heldShare' | 'heldRps' | 'judgedBy'> {
    const judgedBy = this.closestRps === undefined ? 'mean' : 'lower-end';
    const best = leadOf(
      this.trials.map((trial) => ({ ...trial, value: 0 })),
      (trial) => this.heldShare(trial),
    );
    const heldRps = this.closestRps ?? best?.heldRps ?? [];
    return { heldShare: this.isPriced ? this.heldShare({ heldRps }) : 0, heldRps, judgedBy };
  }

  private heldShare({ heldRps }: Pick<HoldTrial, 'heldRps'>): number {
    return heldShareOf(
      heldRps,
      this.problem.models.map(({ rps }) => rps),
    );
  }
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
  const models = plan.models.map((model, m) => ({ ...model, heldRps: promised[m] as number }));
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
      name: (problem.models[m] as ProblemModel).name,
      attainment: attainment[m] as number,
      ...(rates.attainment[m] === undefined ? {} : { simulated: { ...rates.attainment[m] } }),
      ...setting,
    })),
  };
  return { plan: { ...plan, models, hold }, outcome };
}
