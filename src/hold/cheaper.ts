import { itemAt, smallestOf } from '../collections/index.js';
import type { PlanBody, PooledProblem, ProblemModel } from '../milp/index.js';
import { MARGINS } from './candidates.js';
import { type ModelSetting, withSettings } from './settings.js';
import type { HoldTools } from './tools.js';
import { type FoundOutcome, type HoldTrial, pipelinesOf, planPrice } from './trial.js';

/** Every margin is tried with these headrooms. */
const HEADROOMS = [1, 1.02, 1.05, 1.1, 1.15, 1.2, 1.3];
/** This many cheaper plans are simulated at most for every model. */
const MOST_SIMULATED = 24;
/** A price must be lower by this share. */
const ROUNDING = 1e-9;

/** Cheaper is a plan that holds its rates by the ranking seeds, with the settings that it was made by. */
export type Cheaper = Pick<HoldTrial, 'settings' | 'outcome'>;

/** CheaperTools are what others do. `plans` gives a plan for each of several settings, as far as there are any. */
type CheaperTools = Pick<HoldTools, 'bounds' | 'ranked' | 'isOver' | 'onProgress'> & {
  plans(settings: readonly (readonly ModelSetting[])[]): Promise<(FoundOutcome | undefined)[]>;
};

/**
 * CheaperPlans finds plans that cost less than one that holds, by other margins and headrooms of one model after another.
 * The search for the first plan that holds raises headroom by what few runs have said, and may raise it too much: a
 * price has steps of whole GPUs, so a little headroom may cost one.
 */
export class CheaperPlans {
  /** isCut says whether the time was over before all was tried. */
  isCut = false;
  private readonly rps: readonly number[];
  private from: Cheaper | undefined;
  /** The plans that cost less than that one, and are still to be simulated. */
  private left: Cheaper[] = [];
  private readonly simulatedPlans = new Set<string>();

  constructor(
    private readonly problem: PooledProblem,
    private readonly tools: CheaperTools,
  ) {
    this.rps = problem.models.map(({ rps = 0 }) => rps);
  }

  /** next gives a plan that costs less than this one and holds the rates, undefined where none is found. */
  async next(from: Cheaper): Promise<Cheaper | undefined> {
    if (from !== this.from) {
      this.from = from;
      this.left = await this.near(from);
    }
    while (this.left.length > 0 && !this.isOver()) {
      const cheaper = this.left.shift() as Cheaper;
      const { plan } = cheaper.outcome;
      this.tell(planPrice(from));
      this.simulatedPlans.add(pipelinesOf(plan));
      const rates = await this.tools.ranked({
        plan,
        startRps: this.rps,
        leastRps: this.rps,
        enoughRps: this.rps,
      });
      this.isCut ||= rates === undefined;
      if (rates !== undefined && this.rps.every((rps, m) => itemAt(rates.heldRps, m) >= rps)) return cheaper;
    }
    return undefined;
  }

  /** near gives the plans that cost less than this one, first those that leave most room. */
  private async near(from: Cheaper): Promise<Cheaper[]> {
    if (this.isOver()) return [];
    const price = planPrice(from);
    this.tell(price);
    const promising = await this.promising(from.settings, price);
    return this.isOver() ? [] : this.planned(promising, price);
  }

  private tell(value: number): void {
    this.tools.onProgress?.({
      phase: 'lowering',
      done: this.simulatedPlans.size,
      of: this.mostSimulated,
      value,
    });
  }

  private get mostSimulated(): number {
    return MOST_SIMULATED * this.problem.models.length;
  }

  private isOver(): boolean {
    if (this.simulatedPlans.size >= this.mostSimulated) return true;
    const isOver = this.tools.isOver();
    this.isCut ||= isOver;
    return isOver;
  }

  /** promising gives the settings that differ in one model and whose plan may cost less, by the LP. */
  private async promising(
    from: readonly ModelSetting[],
    price: number,
  ): Promise<(readonly ModelSetting[])[]> {
    const all = from.flatMap((setting, m) =>
      MARGINS.flatMap((sloMargin) =>
        HEADROOMS.map((headroom) => from.with(m, { ...setting, sloMargin, headroom })),
      ),
    );
    const bounds = await this.tools.bounds(all.map((one) => withSettings(this.problem, one)));
    return all.filter((_, i) => isBelow(bounds[i], price));
  }

  /** planned gives the plans of settings that do cost less, in the order in which they are simulated. */
  private async planned(settings: readonly (readonly ModelSetting[])[], price: number): Promise<Cheaper[]> {
    const outcomes = await this.tools.plans(settings);
    const distinct = new Set(this.simulatedPlans);
    return outcomes
      .flatMap((outcome, i): Cheaper[] => {
        if (outcome === undefined || !isBelow(planPrice({ outcome }), price)) return [];
        const key = pipelinesOf(outcome.plan);
        if (distinct.has(key)) return [];
        distinct.add(key);
        return [{ settings: itemAt(settings, i), outcome }];
      })
      .map((cheaper) => ({ cheaper, room: this.room(cheaper.outcome) }))
      .sort((a, b) => b.room - a.room)
      .map(({ cheaper }) => cheaper);
  }

  /** room is how many times the rate that a plan serves of the model that it serves least of. */
  private room({ plan }: Pick<FoundOutcome, 'plan'>): number {
    const served = (models: PlanBody['models'], { rps = 0 }: ProblemModel, m: number) =>
      rps === 0 ? Number.POSITIVE_INFINITY : (models[m]?.throughputRps ?? 0) / rps;
    return smallestOf(this.problem.models.map((model, m) => served(plan.models, model, m)));
  }
}

function isBelow(bound: number | undefined, price: number): boolean {
  return bound !== undefined && bound < price * (1 - ROUNDING);
}
