import { itemAt } from '../collections/index.js';
import type { PlanBody, PooledOutcome, PooledProblem } from '../milp/index.js';
import { Candidates, type HoldCandidate } from './candidates.js';
import type { HeldRates } from './held-rates.js';
import { type ModelSetting, withSettings } from './settings.js';
import type { HoldTarget } from './target.js';
import type { HoldTools } from './tools.js';
import { type FoundOutcome, type HoldTrial, isTimed, leadOf, pipelinesOf } from './trial.js';
import { askedShare, heldValue, isPriced } from './value.js';

/** This many plans are simulated side by side. It is no matter of cores, as the search takes the same way everywhere. */
const SIDE_BY_SIDE = 4;
/** Trying ends after this many rounds in a row that found no better plan. */
const MOST_VAIN = 6;
/** Plans whose values lie this close to the best may be better than it: what a trial says is not exact. */
export const CLOSE = 0.02;

/** Planned is a plan with the settings that it was made by. */
interface Planned {
  readonly settings: readonly ModelSetting[];
  readonly outcome: FoundOutcome;
}

/**
 * Trying looks for settings whose plans hold more, or as much at a lower price. It tries every margin for all models, and
 * then the settings that are predicted to be better, until none is. No plan is simulated twice.
 */
export class Trying {
  readonly trials: HoldTrial[] = [];
  /**
   * isCut says whether a time limit or an interruption ended the trials, a plan's search or its simulations.
   */
  isCut = false;
  /** The outcome without a plan of the settings that withheld the least from the SLOs, where there was one. */
  ended: PooledOutcome | undefined;
  private endedMargin = Number.POSITIVE_INFINITY;
  /** The trial of each plan, by its pipelines; undefined before the plan is simulated. */
  private readonly seen = new Map<string, HoldTrial | undefined>();
  private readonly candidates: Candidates;

  constructor(
    private readonly problem: PooledProblem,
    private readonly target: HoldTarget,
    private readonly tools: HoldTools,
  ) {
    this.candidates = new Candidates(problem, (problems) => tools.bounds(problems));
  }

  async run(): Promise<void> {
    // The rate that a model holds at a margin is of use also where another model makes the plan worse than
    // the best.
    await this.try(this.candidates.first(), this.problem.models.length > 1);
    for (let vain = 0; vain < MOST_VAIN && !this.isOver(); ) {
      const before = this.best();
      const next = await this.candidates.next(before);
      if (next.length === 0) return;
      await this.try(next.slice(0, SIDE_BY_SIDE));
      vain = this.best() === before ? vain + 1 : 0;
    }
  }

  private isOver(): boolean {
    if (this.trials.length >= this.target.mostTrials) return true;
    const isOver = this.tools.isOver();
    this.isCut ||= isOver;
    return isOver;
  }

  private best(): HoldTrial | undefined {
    return leadOf(this.trials, ({ heldRps }) => askedShare(this.problem, heldRps));
  }

  /**
   * try plans by each candidate's settings, and simulates the plans that are new and may be better than the best.
   * @param all whether it simulates also those that cannot be better
   */
  private async try(candidates: readonly HoldCandidate[], all = false): Promise<void> {
    for (const candidate of candidates) this.candidates.exclude(candidate);
    const { fresh, again } = await this.planned(candidates);
    for (let from = 0; from < fresh.length && !this.isOver(); from += SIDE_BY_SIDE)
      await this.simulate(
        fresh.slice(from, from + SIDE_BY_SIDE).filter(({ outcome }) => all || this.mayBeBetter(outcome.plan)),
      );
    // Other settings may give the same plan. It holds the same by them.
    for (const { settings, outcome } of again) {
      const trial = this.seen.get(pipelinesOf(outcome.plan));
      if (trial !== undefined) this.candidates.learn({ ...trial, settings });
    }
  }

  /** planned plans by each candidate's settings, and tells plans that are new from those that were seen before. */
  private async planned(
    candidates: readonly HoldCandidate[],
  ): Promise<{ readonly fresh: readonly Planned[]; readonly again: readonly Planned[] }> {
    const outcomes = await this.tools.plans(
      candidates.map(({ settings }) => withSettings(this.problem, settings)),
    );
    const fresh: Planned[] = [];
    const again: Planned[] = [];
    outcomes.forEach((outcome, i) => {
      const { settings } = itemAt(candidates, i);
      this.isCut ||= isTimed(outcome);
      if (!('plan' in outcome)) {
        this.keepEnded(outcome, settings);
        return;
      }
      const key = pipelinesOf(outcome.plan);
      (this.seen.has(key) ? again : fresh).push({ settings, outcome });
      if (!this.seen.has(key)) this.seen.set(key, undefined);
    });
    return { fresh, again };
  }

  /** simulate asks what plans hold, side by side, and keeps them as trials. */
  private async simulate(some: readonly Planned[]): Promise<void> {
    const found = await this.tools.held(
      some.map(({ outcome: { plan } }) => ({ plan, startRps: this.startRps(plan) })),
    );
    found.forEach((rates, i) => {
      if (rates === undefined) this.isCut = true;
      else this.keep(itemAt(some, i), rates);
    });
  }

  private keepEnded(outcome: PooledOutcome, settings: readonly ModelSetting[]): void {
    const margin = settings.reduce((sum, { sloMargin }) => sum + sloMargin, 0);
    if (margin >= this.endedMargin) return;
    this.ended = outcome;
    this.endedMargin = margin;
  }

  /**
   * No plan holds more than its planned rates over the share that must be in time, nor does it cost less. The
   * results of a trial are not exact, so plans that could be close to the best are simulated too.
   */
  private mayBeBetter(plan: PlanBody): boolean {
    const best = this.best();
    if (best === undefined) return true;
    const { attainment } = this.target;
    const most = plan.models.map(({ throughputRps }, m) => throughputRps / itemAt(attainment, m));
    const value = heldValue(this.problem, plan, most);
    return isPriced(this.problem) ? value > best.value : value > (1 - CLOSE) * best.value;
  }

  private startRps({ models }: PlanBody): number[] {
    return models.map(({ throughputRps }, m) => {
      const { rps } = itemAt(this.problem.models, m);
      return isPriced(this.problem) ? (rps as number) : throughputRps;
    });
  }

  private keep({ settings, outcome }: Planned, { heldRps }: HeldRates): void {
    const trial = { settings, outcome, heldRps, value: heldValue(this.problem, outcome.plan, heldRps) };
    this.trials.push(trial);
    this.seen.set(pipelinesOf(outcome.plan), trial);
    this.candidates.learn(trial);
    const best = this.best()?.value;
    const value = best === undefined || best === Number.NEGATIVE_INFINITY ? {} : { value: Math.abs(best) };
    const { mostTrials } = this.target;
    this.tools.onProgress?.({ phase: 'trying', done: this.trials.length, of: mostTrials, ...value });
  }
}
