import { itemAt, largestOf } from '../collections/index.js';
import type { PooledProblem } from '../milp/index.js';
import { type ModelSetting, settingsAsked, withSettings } from './settings.js';
import type { HoldTrial } from './trial.js';

/** HoldCandidate is settings that may be tried, with the value that is predicted of their plan. */
export interface HoldCandidate {
  readonly settings: readonly ModelSetting[];
  readonly predicted: number;
}

/** The margins that are tried for all models at once. */
export const MARGINS = [0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5];
/** The finer steps around the best margin. */
const FINER = [-0.03, -0.015, 0.015, 0.03];
/** A prediction that promises less than this share more is not worth its simulations. */
const WORTH = 0.002;
/** How often the best predicted setting is looked for, model by model. */
const MOST_PASSES = 3;
/** Headroom grows at most this many times from one trial to the next. */
const MOST_RAISE = 1.5;

/** Choice is a setting of a model without its headroom. */
type Choice = Omit<ModelSetting, 'headroom'>;

/**
 * Candidates says which settings are worth a trial. It keeps for each setting of a model which share of the planned rate
 * the model has held, and predicts a plan's value by the LP of a problem in which every model is planned for its rate
 * over that share.
 */
export class Candidates {
  private readonly asked: readonly ModelSetting[];
  /** By model, the shares of planned rates that were held, by choice. */
  private readonly shares: readonly Map<string, number>[];
  private readonly choices: readonly Map<string, Choice>[];
  /** By model, the largest headroom that each choice was tried with. */
  private readonly raised: readonly Map<string, number>[];
  private readonly predictions = new Map<string, number>();
  private readonly tried = new Set<string>();

  constructor(
    private readonly problem: PooledProblem,
    private readonly bounds: (problems: readonly PooledProblem[]) => Promise<(number | undefined)[]>,
  ) {
    this.asked = settingsAsked(problem);
    this.shares = problem.models.map(() => new Map());
    this.choices = problem.models.map(() => new Map());
    this.raised = problem.models.map(() => new Map());
  }

  /** first gives what the problem asks for by itself, and every margin for all models. */
  first(): HoldCandidate[] {
    const uniform = MARGINS.map((sloMargin) => this.asked.map((setting) => ({ ...setting, sloMargin })));
    return [[...this.asked], ...uniform].map((settings) => ({ settings, predicted: 0 }));
  }

  /** learn takes in which shares of their planned rates the models of a trial held. */
  learn({ settings, outcome: { plan }, heldRps }: HoldTrial): void {
    settings.forEach((setting, m) => {
      const planned = plan.models[m]?.throughputRps ?? 0;
      if (planned === 0) return;
      const key = keyOf(setting);
      const shares = itemAt(this.shares, m);
      const share = Math.min(1, itemAt(heldRps, m) / planned);
      const before = shares.get(key);
      shares.set(key, before === undefined ? share : (before + share) / 2);
      this.choices[m]?.set(key, setting);
      const raised = itemAt(this.raised, m);
      raised.set(key, Math.max(setting.headroom, raised.get(key) ?? 0));
    });
    this.predictions.clear();
  }

  /**
   * next gives the settings that are predicted to be better than the best trial, best first: those that changing one
   * model after another leads to, every single change of the best trial, and its choices with each margin for all.
   */
  async next(best: HoldTrial | undefined): Promise<HoldCandidate[]> {
    const from = this.choicesOf(best);
    const uniform = MARGINS.map((sloMargin) => from.map((choice) => ({ ...choice, sloMargin })));
    const wanted = [from, await this.climbed(from), ...this.changes(from), ...uniform];
    const all = await this.predict(wanted);
    const value = best?.value ?? Number.NEGATIVE_INFINITY;
    const reference = Math.max(value, itemAt(all, 0).predicted);
    // Where no plan holds its rates yet, any may be the first.
    const least = Number.isFinite(value) ? reference + WORTH * Math.abs(reference) : value;
    const better = all.filter(
      ({ settings, predicted }) => predicted > least && !this.tried.has(settingsKey(settings)),
    );
    const distinct = [...new Map(better.map((one) => [settingsKey(one.settings), one])).values()];
    return distinct.sort((a, b) => b.predicted - a.predicted);
  }

  /** exclude notes settings that were tried. They are not given again. */
  exclude({ settings }: HoldCandidate): void {
    this.tried.add(settingsKey(settings));
  }

  private choicesOf(best: HoldTrial | undefined): Choice[] {
    return (best?.settings ?? this.asked).map(({ headroom: _, ...choice }) => choice);
  }

  /** climbed changes one model after another to what is predicted best, until nothing is better. */
  private async climbed(from: readonly Choice[]): Promise<Choice[]> {
    let at = [...from];
    let [now] = await this.predict([at]);
    for (let pass = 0; pass < MOST_PASSES; pass++) {
      const before = now?.predicted ?? Number.NEGATIVE_INFINITY;
      for (const m of at.keys()) {
        const options = this.known(m).map((choice) => at.with(m, choice));
        const predicted = await this.predict(options);
        predicted.forEach((one, i) => {
          if (one.predicted <= (now?.predicted ?? Number.NEGATIVE_INFINITY)) return;
          now = one;
          at = itemAt(options, i);
        });
      }
      if ((now?.predicted ?? Number.NEGATIVE_INFINITY) <= before) break;
    }
    return at;
  }

  /** changes gives all settings that differ from these in one model: in what is known of it, and in finer steps. */
  private changes(from: readonly Choice[]): Choice[][] {
    return from.flatMap((choice, m) => {
      const finer = FINER.map((step) => choice.sloMargin + step)
        .filter((sloMargin) => sloMargin >= 0 && sloMargin < 1)
        .map((sloMargin) => ({ ...choice, sloMargin: rounded(sloMargin) }));
      return [...this.known(m), ...finer, ...this.otherBatches(choice, m)].map((other) =>
        from.with(m, other),
      );
    });
  }

  private otherBatches(choice: Choice, m: number): Choice[] {
    const asked = itemAt(this.asked, m).batchFormation;
    const formations = asked === 'none' ? [] : [asked, 'none' as const];
    const { profile, classes } = itemAt(this.problem.models, m);
    const batches = new Set(
      classes.flatMap((name) =>
        Object.values(profile.devices[name]?.blockLatencyUs ?? {}).flatMap((byBatch) =>
          Object.keys(byBatch).map(Number),
        ),
      ),
    );
    const largest = largestOf(batches);
    const { mostBatch: _, ...free } = choice;
    return [
      ...formations.map((batchFormation) => ({ ...choice, batchFormation })),
      ...(choice.mostBatch === undefined ? [] : [free]),
      ...[...batches].filter((batch) => batch < largest).map((mostBatch) => ({ ...choice, mostBatch })),
    ];
  }

  private known(m: number): Choice[] {
    return [...itemAt(this.choices, m).values()].map(({ sloMargin, batchFormation, mostBatch }) => ({
      sloMargin,
      batchFormation,
      ...(mostBatch === undefined ? {} : { mostBatch }),
    }));
  }

  private async predict(lists: readonly (readonly Choice[])[]): Promise<HoldCandidate[]> {
    const settings = lists.map((choices) => choices.map((choice, m) => this.withHeadroom(choice, m)));
    const keys = settings.map(settingsKey);
    const unknown = [...new Map(settings.map((one, i) => [itemAt(keys, i), one]))].filter(
      ([key]) => !this.predictions.has(key),
    );
    const bounds = await this.bounds(unknown.map(([, one]) => withSettings(this.problem, one)));
    const isThroughput = this.problem.planner.objective === 'throughput';
    unknown.forEach(([key], i) => {
      const bound = bounds[i];
      const value = bound === undefined ? Number.NEGATIVE_INFINITY : isThroughput ? bound : -bound;
      this.predictions.set(key, value);
    });
    return settings.map((one, i) => ({
      settings: one,
      predicted: this.predictions.get(itemAt(keys, i)) as number,
    }));
  }

  /**
   * A model is planned for its rate over the share that it is expected to hold: that of the same choice, and of one that
   * was not tried the largest of any, so that it is tried where that would be better.
   */
  private withHeadroom(choice: Choice, m: number): ModelSetting {
    const shares = itemAt(this.shares, m);
    const share = shares.get(keyOf(choice)) ?? largestOf(shares.values());
    const wanted = Number.isFinite(share) ? 1 / Math.max(share, 1e-9) : 1;
    // A larger plan holds a larger share, so headroom is raised step by step.
    const before = this.raised[m]?.get(keyOf(choice)) ?? 1;
    return { ...choice, headroom: rounded(Math.min(wanted, MOST_RAISE * before)) };
  }
}

function keyOf({ sloMargin, batchFormation, mostBatch }: Choice): string {
  return `${sloMargin.toFixed(4)} ${JSON.stringify(batchFormation)} ${mostBatch ?? ''}`;
}

function settingsKey(settings: readonly ModelSetting[]): string {
  return settings.map((setting) => `${keyOf(setting)} ${setting.headroom}`).join('; ');
}

/** Settings are rounded, so that what is written into a plan is short and gives the same plan again. */
function rounded(value: number): number {
  return Math.round(value * 1e4) / 1e4;
}
