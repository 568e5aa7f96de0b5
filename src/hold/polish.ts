import { itemAt } from '../collections/index.js';
import { type PooledProblem, regrouped } from '../milp/index.js';
import { type Variant, variantsOf } from './moves.js';
import type { HoldTools } from './tools.js';
import { type HoldTrial, leastPerWeight, pipelinesOf } from './trial.js';

/** Polished is a trial whose plan may have GPUs in other pools, with what it holds, `value` per unit of weight. */
export interface Polished {
  readonly trial: HoldTrial;
  readonly heldRps: readonly number[];
  readonly value: number;
  /** How many whole GPUs are in other pools than the planner put them in. */
  readonly moved: number;
}

/** A variant is kept where it holds this share more. */
const WORTH = 0.001;
/** A variant may come nearer to its planned rates than the plan by half of what the plan lacks, or by this share. */
const NEARER = 0.01;
/** Variants are simulated until they took this many requests; the second number is for each model after the first. */
const MOST_REQUESTS = [4e6, 2e6] as const;
/** No more variants are simulated than this, however few requests they take. */
const MOST_VARIANTS = 60;

/**
 * Polish moves GPUs between the pools of plans, and keeps what holds more. The planner gives each pool just what its
 * pipeline's rate needs. How much more a pool needs so that little waits before it depends on how many GPUs it has, on
 * how much time its requests have left, and on its links: only a simulation says that.
 */
export class Polish {
  /** How many variants were simulated. */
  variants = 0;
  /** isCut says whether the time was over before all was tried. */
  isCut = false;
  private requests = 0;
  private readonly tried = new Set<string>();

  constructor(
    private readonly problem: PooledProblem,
    private readonly tools: Pick<HoldTools, 'ranked' | 'isOver' | 'onProgress'>,
    /** A value that is enough: nothing that holds more is looked for. */
    private readonly enough = Number.POSITIVE_INFINITY,
  ) {}

  /**
   * polished tries the variants of the best plan and of others, then those of the first one that holds more than the best
   * and of the others, and so on.
   * @param others plans that hold less than the best, or a little more by fewer simulations
   */
  async polished(start: Polished, others: readonly Polished[]): Promise<Polished> {
    // Under minimum shares a pipeline may be held back, and its rate is not that of its slowest pool.
    if (this.problem.models.some(({ minShare }) => Object.keys(minShare).length > 0)) return start;
    for (const { trial } of [start, ...others]) this.tried.add(pipelinesOf(trial.outcome.plan));
    let best = start;
    while (best.value < this.enough) {
      const better = await this.better([best, ...others]);
      if (better === undefined) break;
      best = better;
    }
    return best;
  }

  /** better gives the first variant that holds more than the first plan; single moves come first. */
  private async better(plans: readonly [Polished, ...Polished[]]): Promise<Polished | undefined> {
    const [{ value }] = plans;
    for (const atOnce of ['single', 'double'] as const)
      for (const from of plans)
        for (const variant of this.promising(from, variantsOf(from.trial.outcome.plan, atOnce), value)) {
          if (this.isOver()) return undefined;
          const found = await this.simulated(from, variant, value);
          if (found !== undefined) return found;
        }
    return undefined;
  }

  private isOver(): boolean {
    const [first, other] = MOST_REQUESTS;
    const most = first + other * (this.problem.models.length - 1);
    if (this.requests >= most || this.variants >= MOST_VARIANTS) return true;
    const isOver = this.tools.isOver();
    this.isCut ||= isOver;
    return isOver;
  }

  /**
   * promising gives the variants that may hold more than a value, those first that hold most where models keep their shares
   * of what is planned.
   */
  private promising(from: Polished, variants: readonly Variant[], value: number): Variant[] {
    const { models } = this.problem;
    const share = from.value / leastPerWeight(models, plannedRps(from));
    const most = share + Math.max(NEARER, (1 - share) / 2);
    return variants
      .filter((variant) => most * leastPerWeight(models, variant.plannedRps) > (1 + WORTH) * value)
      .map((variant) => ({ variant, predicted: leastPerWeight(models, predictedRps(from, variant)) }))
      .sort((a, b) => b.predicted - a.predicted)
      .map(({ variant }) => variant);
  }

  private async simulated(from: Polished, variant: Variant, value: number): Promise<Polished | undefined> {
    const { outcome } = from.trial;
    const plan = regrouped(outcome.plan, variant.counts, this.problem);
    if (plan === undefined || this.tried.has(pipelinesOf(plan))) return undefined;
    this.tried.add(pipelinesOf(plan));
    this.tools.onProgress?.({ phase: 'moving', done: this.variants, of: MOST_VARIANTS, value });
    const { models } = this.problem;
    const leastRps = models.map(({ weight }) => (1 + WORTH) * value * weight);
    const startRps = predictedRps(from, variant).map((rps, m) => Math.max(rps, itemAt(leastRps, m)));
    const rates = await this.tools.ranked({ plan, startRps, leastRps });
    if (rates === undefined) {
      this.isCut = true;
      return undefined;
    }
    this.variants += 1;
    this.requests += rates.requests;
    const { heldRps } = rates;
    const held = leastPerWeight(models, heldRps);
    if (held <= value) return undefined;
    const trial = { ...from.trial, outcome: { ...outcome, plan } };
    return { trial, heldRps, value: held, moved: from.moved + variant.moved };
  }
}

function plannedRps({ trial }: Polished): number[] {
  return trial.outcome.plan.models.map(({ throughputRps }) => throughputRps);
}

/** predictedRps is what a variant holds where every model holds the share of its planned rate that it held before. */
function predictedRps(from: Polished, variant: Variant): number[] {
  const planned = plannedRps(from);
  return variant.plannedRps.map((rps, m) => rps * Math.min(1, itemAt(from.heldRps, m) / (planned[m] || 1)));
}
