import { itemAt, largestOf } from '../collections/index.js';
import type { PooledProblem } from '../milp/index.js';
import { CheaperPlans } from './cheaper.js';
import type { HeldRates } from './held-rates.js';
import { promiseSeeds } from './runs.js';
import { type ModelSetting, withSettings } from './settings.js';
import type { HoldTools, RatedPlan } from './tools.js';
import {
  type Confirmed,
  type FoundOutcome,
  type HoldTrial,
  heldShareOf,
  isTimed,
  pipelinesOf,
  planPrice,
} from './trial.js';

/** How often a plan that fails is planned again with more headroom. */
const MOST_RAISED = 6;
/** A failing model gets this much more headroom than it lacked, */
const RAISE = 1.01;
/** and that again, at most this many times, while its plan stays the same one. */
const SAME_RAISE = 1.04;
const MOST_SAME = 12;
/** Where a raise has no plan, the largest one below it that has one is looked for by this many bisections. */
const BISECTIONS = 4;
/** This many plans are judged, each by seeds of its own, */
const MOST_JUDGED = 4;
/** and then so many that cost less than what was confirmed. */
const MOST_LOWERED = 6;
/** PlannedBy is a plan with the settings that it was made by. */
type PlannedBy = Pick<Confirmed, 'settings' | 'outcome' | 'moves'>;

/**
 * PriceConfirmation finds the cheapest plan that holds its rates with confidence. A plan gets more headroom until the
 * ranking seeds say that it holds, and is then judged by seeds by which nothing was chosen. Then cheaper ones are judged.
 */
export class PriceConfirmation {
  private readonly rps: readonly number[];
  private judged = 0;
  private ranked = 0;
  /** The rates of the plan that came closest to all of them, of those that were ranked or judged and failed. */
  closestRps: readonly number[] | undefined;
  /** isCut says whether the time was over before all was tried. */
  isCut = false;

  constructor(
    private readonly problem: PooledProblem,
    private readonly tools: HoldTools,
  ) {
    this.rps = problem.models.map(({ rps = 0 }) => rps);
  }

  /** cheapest confirms trials in their order, and gives the cheapest plan that this leads to. */
  async cheapest(trials: readonly HoldTrial[]): Promise<Confirmed | undefined> {
    let best: Confirmed | undefined;
    for (const trial of trials) {
      const below = best === undefined ? Number.POSITIVE_INFINITY : -best.value;
      const firm = await this.raised(trial, below);
      if (firm === undefined) continue;
      best = (await this.confirmed(firm, below)) ?? best;
    }
    return best === undefined ? undefined : this.lowered(best);
  }

  /** cheapestFrom judges a plan as it is, and gives the cheapest plan that it leads to, where it holds the rates. */
  async cheapestFrom(at: PlannedBy): Promise<Confirmed | undefined> {
    const { rates, seeds } = await this.judgedOnce(at);
    if (rates === undefined || !this.holds(rates.heldRps)) return undefined;
    return this.lowered(this.confirmedBy(at, rates, seeds));
  }

  /** lowered confirms plans that cost less and hold by the ranking seeds, one after another. */
  private async lowered(from: Confirmed): Promise<Confirmed> {
    const plans = new CheaperPlans(this.problem, {
      ...this.tools,
      plans: (settings) => this.plans(settings),
    });
    let best = from;
    for (let judged = 0; judged < MOST_LOWERED; judged++) {
      const at = await plans.next(best);
      if (at === undefined) break;
      const { rates, seeds } = await this.judgedOnce(at, { leastRps: this.rps });
      if (rates !== undefined && this.holds(rates.heldRps)) best = this.confirmedBy(at, rates, seeds);
    }
    this.isCut ||= plans.isCut;
    return best;
  }

  /** raised plans with more headroom until the ranking seeds say that the rates are held, for less than a price. */
  private async raised(from: PlannedBy, below: number): Promise<PlannedBy | undefined> {
    let at: PlannedBy | undefined = from;
    for (let raised = 0; raised <= MOST_RAISED && at !== undefined; raised++) {
      if (planPrice(at) >= below) return undefined;
      const heldRps = await this.rankedRps(at);
      // Where no time is left to rank a plan, it is judged as it is.
      if (heldRps === undefined || this.holds(heldRps)) return at;
      at = await this.withMore(at, heldRps);
    }
    return undefined;
  }

  /** confirmed judges a plan by new seeds, and others with more headroom by yet newer ones where it fails. */
  private async confirmed(from: PlannedBy, below: number): Promise<Confirmed | undefined> {
    let at: PlannedBy | undefined = from;
    while (at !== undefined && this.judged < MOST_JUDGED && planPrice(at) < below) {
      const { rates, seeds } = await this.judgedOnce(at);
      if (rates === undefined) return undefined;
      if (this.holds(rates.heldRps)) return this.confirmedBy(at, rates, seeds);
      at = await this.withMore(at, rates.heldRps);
    }
    return undefined;
  }

  /** judgedOnce asks what rates a plan holds by seeds by which nothing was chosen; there are none where the time is over. */
  private async judgedOnce(
    { outcome: { plan } }: PlannedBy,
    more: Pick<RatedPlan, 'leastRps'> = {},
  ): Promise<{ rates: HeldRates | undefined; seeds: readonly number[] }> {
    const seeds = promiseSeeds(this.judged++);
    this.tools.onProgress?.({ phase: 'confirming', done: this.judged - 1 });
    const rates = await this.tools.promised({ plan, startRps: this.rps, ...more }, seeds);
    this.isCut ||= rates === undefined;
    return { rates, seeds };
  }

  private confirmedBy(
    { settings, outcome, moves }: PlannedBy,
    rates: HeldRates,
    seeds: readonly number[],
  ): Confirmed {
    const found = { settings, outcome, heldRps: this.rps, rates, seeds, value: -planPrice({ outcome }) };
    return moves === undefined ? found : { ...found, moves };
  }

  /**
   * withMore plans again with more headroom for the models that hold too little, until the plan is another one. Where no
   * plan has so much, it takes the most headroom that has one.
   */
  private async withMore(at: PlannedBy, heldRps: readonly number[]): Promise<PlannedBy | undefined> {
    const lacking = this.rps.map((rps, m) => rps / Math.max(itemAt(heldRps, m), rps / 2));
    const raisedBy = (more: number) =>
      at.settings.map((setting, m) => {
        const short = itemAt(lacking, m);
        return short > 1 ? { ...setting, headroom: setting.headroom * Math.max(1, short * more) } : setting;
      });
    let least = 1 / largestOf(lacking);
    for (let more = RAISE, tries = 0; tries <= MOST_SAME; more *= SAME_RAISE, tries++) {
      const raised = await this.planned(raisedBy(more));
      const found = raised ?? (await this.mostBetween([least, more], raisedBy));
      if (found !== undefined && !isSame(found, at)) return found;
      if (raised === undefined) return undefined;
      least = more;
    }
    return undefined;
  }

  /** mostBetween gives the plan of the largest raise that has one, between one that has and one that has none. */
  private async mostBetween(
    [has, hasNone]: readonly [number, number],
    raisedBy: (more: number) => readonly ModelSetting[],
  ): Promise<PlannedBy | undefined> {
    let [low, high] = [has, hasNone];
    let best: PlannedBy | undefined;
    for (let step = 0; step < BISECTIONS; step++) {
      const middle = (low + high) / 2;
      const found = await this.planned(raisedBy(middle));
      if (found === undefined) high = middle;
      else low = middle;
      best = found ?? best;
    }
    return best;
  }

  private async planned(settings: readonly ModelSetting[]): Promise<PlannedBy | undefined> {
    const [outcome] = await this.plans([settings]);
    return outcome === undefined ? undefined : { settings, outcome };
  }

  private async plans(settings: readonly (readonly ModelSetting[])[]): Promise<(FoundOutcome | undefined)[]> {
    const outcomes = await this.tools.plans(settings.map((one) => withSettings(this.problem, one)));
    this.isCut ||= outcomes.length < settings.length;
    return outcomes.map((outcome) => {
      this.isCut ||= isTimed(outcome);
      return 'plan' in outcome ? outcome : undefined;
    });
  }

  private async rankedRps({ outcome: { plan } }: PlannedBy): Promise<readonly number[] | undefined> {
    this.tools.onProgress?.({ phase: 'ranking', done: this.ranked++ });
    const rates = await this.tools.ranked({ plan, startRps: this.rps, enoughRps: this.rps });
    this.isCut ||= rates === undefined;
    return rates?.heldRps;
  }

  /** holds returns whether rates are enough, and remembers how near they came where they are not. */
  private holds(heldRps: readonly number[]): boolean {
    if (heldShareOf(heldRps, this.rps) >= 1) return true;
    this.failedWith(heldRps);
    return false;
  }

  /** failedWith remembers what a plan held that does not hold all rates, where it came closest. */
  failedWith(heldRps: readonly number[]): void {
    const before = this.closestRps;
    if (before === undefined || heldShareOf(heldRps, this.rps) > heldShareOf(before, this.rps))
      this.closestRps = heldRps;
  }
}

function isSame(one: PlannedBy, other: PlannedBy): boolean {
  return pipelinesOf(one.outcome.plan) === pipelinesOf(other.outcome.plan);
}
