import type { PooledProblem } from '../milp/index.js';
import { Polish } from './polish.js';
import { isOneMargin } from './settings.js';
import type { HoldTools } from './tools.js';
import type { Confirmed, HoldTrial } from './trial.js';
import { CLOSE } from './trying.js';
import { heldValue } from './value.js';

/** Of plans that are to hold most, so many are compared at most, as it costs little to give up one that holds less. */
const MOST_RANKED = 6;
/** GPUs are moved between the pools of the best plan and of this many others. */
const MOST_OTHERS = 2;
/** Held rates that differ by less than this share are not distinguished by the ranking seeds; the first is kept. */
const DISTINCT = 0.001;

/** Ranked is a trial with what it holds by the ranking seeds. */
export interface Ranked extends Pick<Confirmed, 'heldRps' | 'moves'> {
  readonly trial: HoldTrial;
  /** Absent where the time was over before it was known by these seeds. */
  readonly value?: number;
}

/** comparedOf gives the trials that hold most by the seeds of the search, best first. */
export function comparedOf(trials: readonly HoldTrial[]): HoldTrial[] {
  const ranked = [...trials].sort((a, b) => b.value - a.value);
  const least = (1 - CLOSE) * (ranked[0]?.value ?? 0);
  const close = ranked.filter(({ value }) => value >= least && value > 0);
  const compared = close.slice(0, MOST_RANKED);
  // The result is never below the best plan of one margin for all models, by the seeds that rank.
  const single = ranked.find(({ settings, value }) => isOneMargin(settings) && value > 0);
  if (single !== undefined && !compared.some(({ settings }) => isOneMargin(settings))) compared.push(single);
  return compared;
}

/** Ranking finds the plan that holds most by the ranking seeds, of trials and of plans with GPUs moved. */
export class Ranking {
  /** isCut says whether the time was over before all was compared. */
  isCut = false;

  /** @param enough a value that is enough: nothing that holds more is looked for */
  constructor(
    private readonly problem: PooledProblem,
    private readonly tools: HoldTools,
    private readonly enough = Number.POSITIVE_INFINITY,
  ) {}

  /** mostHeld gives what holds most by the ranking seeds; undefined where there is nothing to compare. */
  async mostHeld(compared: readonly HoldTrial[]): Promise<Ranked | undefined> {
    const best = await this.best(compared);
    return best === undefined ? undefined : this.polished(best, compared);
  }

  /**
   * best compares trials by the ranking seeds. Each is first asked for more than the best before it holds. Where the time
   * is over before any was, it is the first one, with what it held when it was tried.
   */
  private async best(trials: readonly HoldTrial[]): Promise<Ranked | undefined> {
    let best: (Ranked & { readonly value: number }) | undefined;
    for (const [done, trial] of trials.entries()) {
      const { plan } = trial.outcome;
      const found = best === undefined ? {} : { value: best.value };
      this.tools.onProgress?.({ phase: 'ranking', done, of: trials.length, ...found });
      const least = best === undefined ? {} : { leastRps: this.ratesOf((1 + DISTINCT) * best.value) };
      const rates = await this.tools.ranked({ plan, startRps: trial.heldRps, ...least });
      if (rates === undefined) {
        this.isCut = true;
        return best ?? { trial, heldRps: trial.heldRps };
      }
      const { heldRps } = rates;
      const value = heldValue(this.problem, plan, heldRps);
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

  /** ratesOf gives the rates at which a plan has a value: the value per unit of weight. */
  private ratesOf(value: number): number[] {
    return this.problem.models.map(({ weight }) => value * weight);
  }
}
