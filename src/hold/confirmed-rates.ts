import type { PooledProblem } from '../milp/index.js';
import type { HeldConfirmation } from './confirmation.js';
import { comparedOf, type Ranked, Ranking } from './ranking.js';
import { promiseSeeds } from './runs.js';
import { isOneMargin } from './settings.js';
import type { HoldTools } from './tools.js';
import type { Confirmed, HoldTrial } from './trial.js';
import { CLOSE } from './trying.js';
import { heldValue } from './value.js';

/** confirmedRates gives the best of the trials, whose rates hold with seeds that the search has not seen. */
export async function confirmedRates(
  problem: PooledProblem,
  trials: readonly HoldTrial[],
  tools: HoldTools,
): Promise<HeldConfirmation> {
  return new RateConfirmation(problem, tools).confirmed(comparedOf(trials));
}

class RateConfirmation {
  /** isCut says whether the time was over before all was tried. */
  private isCut = false;

  constructor(
    private readonly problem: PooledProblem,
    private readonly tools: HoldTools,
  ) {}

  async confirmed(compared: readonly HoldTrial[]): Promise<HeldConfirmation> {
    const ranking = new Ranking(this.problem, this.tools);
    const most = await ranking.mostHeld(compared);
    this.isCut ||= ranking.isCut;
    if (most === undefined) return this.ended(undefined);
    // The best of several looks better than it is, so other seeds have the last word.
    const confirmed = await this.promisedOf(most);
    if (confirmed === undefined) return { ...this.ended(undefined), isUnconfirmed: true };
    const last = await this.orOneMargin(confirmed, compared, most.trial);
    return this.ended(last.value > 0 ? last : undefined);
  }

  private ended(confirmed: Confirmed | undefined): HeldConfirmation {
    return { confirmed, isCut: this.isCut, isUnconfirmed: false, simulated: 0 };
  }

  /** promisedOf confirms what a plan holds, by seeds that it was not found by; undefined where the time is over before. */
  private async promisedOf({ trial, heldRps, moves }: Ranked): Promise<Confirmed | undefined> {
    const { plan } = trial.outcome;
    const seeds = promiseSeeds(0);
    this.tools.onProgress?.({ phase: 'confirming', done: 0 });
    const rates = await this.tools.promised({ plan, startRps: heldRps }, seeds);
    this.isCut ||= rates === undefined;
    if (rates === undefined) return undefined;
    const value = heldValue(this.problem, plan, rates.heldRps);
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
      this.tools.onProgress?.({ phase: 'ranking', done: 0 });
      const rates = await this.tools.ranked({ plan, startRps: trial.heldRps });
      this.isCut ||= rates === undefined;
      if (rates === undefined || heldValue(this.problem, plan, rates.heldRps) <= best.value) continue;
      const found = await this.promisedOf({ trial, heldRps: rates.heldRps, ...moves });
      if (found !== undefined && found.value > best.value) best = found;
    }
    return best;
  }
}
