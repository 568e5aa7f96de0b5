import { itemAt } from '../collections/index.js';
import type { Configuration, StageCandidate } from './problem.js';
import type { StageOption, Trials } from './trials.js';

/** The pipelines of the published system have five stages and three classes: this is every choice of classes for them. */
const MOST_CHOICES = 243;

/**
 * initialize finds a feasible configuration, as InferLine's Algorithm 1 is to do: the fastest class of each stage, the
 * smallest batch, and replicas until the Estimator finds it feasible. Each stage begins with what it needs when no other
 * delays anything, and all grow together from there, by factors of two and then back by halves. (Algorithm 1 adds one
 * replica at a time to the stage of least throughput, which stops where the mean rate is met, and so may not be feasible.)
 *
 * Where a class has too few devices, the stages on it take larger batches, which need fewer, and then other classes.
 *
 * Configurations that grew further follow the first. They leave time that a dear stage can use up, where the smallest one
 * may have spent it on a cheap stage.
 *
 * Where nothing limits replicas, no transfer takes time and no batch is faster than one row, it finds a configuration
 * whenever there is one: with a replica for each request, no request can be answered sooner. Otherwise it may miss one;
 * `searchExactly` decides then.
 */
export function initialize(trials: Trials): Configuration[] {
  for (const candidates of classChoices(trials)) {
    const found = grownOn(trials, candidates);
    if (found.length > 0 || trials.stopped) return found;
  }
  return [];
}

/** classChoices lists a candidate for each stage: first the fastest ones, then others, the fastest changes first. */
function classChoices({ problem: { stages, counts } }: Trials): number[][] {
  const ranked = stages.map(({ candidates }) =>
    [...candidates.keys()]
      .filter((k) => (counts[candidates[k]?.device as string] ?? 1) > 0)
      .sort((a, b) => byLatency(itemAt(candidates, a), itemAt(candidates, b))),
  );
  let choices: { ranks: number; chosen: number[] }[] = [{ ranks: 0, chosen: [] }];
  for (const own of ranked)
    choices = choices
      .flatMap(({ ranks, chosen }) => own.map((k, rank) => ({ ranks: ranks + rank, chosen: [...chosen, k] })))
      .sort((a, b) => a.ranks - b.ranks)
      .slice(0, MOST_CHOICES);
  return choices.map(({ chosen }) => chosen);
}

function byLatency(a: StageCandidate, b: StageCandidate): number {
  return aloneNs(a) - aloneNs(b) || a.hourlyCost - b.hourlyCost;
}

function aloneNs({ latencyNs }: StageCandidate): number {
  return latencyNs[0] as number;
}

/** grownOn grows a configuration with one class for each stage, with larger batches where replicas are too few. */
function grownOn(trials: Trials, candidates: readonly number[]): Configuration[] {
  let options = candidates.map((candidate, i) =>
    neededFrom(trials, i, { candidate, batch: trials.candidate(i, candidate).batches[0] as number }),
  );
  for (;;) {
    if (!options.every((option) => option !== undefined)) return [];
    const grown = furtherGrown(trials, options);
    if (grown.length > 0 || trials.stopped) return grown;
    const relief = relieved(trials, options);
    if (relief === undefined) return [];
    options = relief;
  }
}

/**
 * neededFrom gives a stage its smallest batch, from the given one on, with which there are replicas enough for it when
 * no other stage delays anything.
 */
function neededFrom(
  trials: Trials,
  stage: number,
  { candidate, batch: smallest }: Omit<StageOption, 'replicas'>,
): StageOption | undefined {
  for (const batch of trials.candidate(stage, candidate).batches.filter((size) => size >= smallest)) {
    const replicas = trials.aloneReplicas(stage, { candidate, batch });
    if (replicas !== undefined) return { candidate, batch, replicas };
  }
  return undefined;
}

/** relieved gives a larger batch to the stage that then needs the fewest replicas less, of those whose replicas are limited. */
function relieved(trials: Trials, options: readonly StageOption[]): StageOption[] | undefined {
  let best: { readonly stage: number; readonly option: StageOption; readonly freed: number } | undefined;
  for (const [stage, { candidate, batch, replicas }] of options.entries()) {
    if (!isLimited(trials, stage, candidate)) continue;
    const option = neededFrom(trials, stage, { candidate, batch: batch + 1 });
    if (option === undefined) continue;
    const freed = replicas - option.replicas;
    if (best === undefined || freed > best.freed) best = { stage, option, freed };
  }
  if (best === undefined) return undefined;
  const { stage, option } = best;
  return options.map((own, i) => (i === stage ? option : own));
}

function isLimited({ problem }: Trials, stage: number, candidate: number): boolean {
  const { replicas, candidates = [] } = problem.stages[stage] ?? {};
  return replicas !== undefined || problem.counts[candidates[candidate]?.device as string] !== undefined;
}

/** grownFrom finds a feasible configuration that has a given number of replicas for each stage, or a few more of all. */
export function grownFrom(trials: Trials, options: readonly StageOption[]): Configuration | undefined {
  const growth = new Growth(trials, options);
  const factor = growth.leastFactor();
  return factor === undefined ? undefined : growth.grown(factor);
}

/** furtherGrown lists that configuration, and feasible ones that grew further. */
function furtherGrown(trials: Trials, options: readonly StageOption[]): Configuration[] {
  const growth = new Growth(trials, options);
  const factor = growth.leastFactor();
  if (factor === undefined) return [];
  const larger = FURTHER.map((times) => growth.grown(factor * times));
  return [growth.grown(factor), ...larger.filter((one) => trials.meets(one))];
}

/** More than this many times what a stage needs alone is not tried; all replicas that there may be are. */
const MOST_GROWTH = 64;
const FINE = 1.05;
const FURTHER = [2, 4];

/** Growth multiplies the replicas of all stages. */
class Growth {
  private readonly limits: readonly number[];

  constructor(
    private readonly trials: Trials,
    private readonly options: readonly StageOption[],
  ) {
    this.limits = options.map((_, i) => this.limitOf(i));
  }

  /** leastFactor is the least growth that was found feasible. */
  leastFactor(): number | undefined {
    const { trials, options, limits } = this;
    if (options.some(({ replicas }, i) => replicas > (limits[i] as number))) return undefined;
    if (!trials.fits(this.grown(Number.POSITIVE_INFINITY))) return undefined;
    if (!trials.meets(this.grown(Number.POSITIVE_INFINITY))) return undefined;
    let [missed, met] = [1, 1];
    while (met <= MOST_GROWTH && !trials.meets(this.grown(met))) [missed, met] = [met, met * 2];
    if (met > MOST_GROWTH) return Number.POSITIVE_INFINITY;
    while (met > missed * FINE) {
      const middle = (missed + met) / 2;
      if (trials.meets(this.grown(middle))) met = middle;
      else missed = middle;
    }
    return met;
  }

  grown(factor: number): Configuration {
    const { options, limits } = this;
    return {
      candidate: Int32Array.from(options, ({ candidate }) => candidate),
      batch: Int32Array.from(options, ({ batch }) => batch),
      replicas: Int32Array.from(options, ({ replicas }, i) =>
        Math.min(limits[i] as number, Math.ceil(replicas * factor)),
      ),
    };
  }

  /** limitOf gives a stage what its class has, shared among the stages on it by what each needs. */
  private limitOf(stage: number): number {
    const { trials, options } = this;
    const { candidate, replicas } = itemAt(options, stage);
    const most = trials.mostReplicas(stage);
    const { device } = trials.candidate(stage, candidate);
    const count = trials.problem.counts[device];
    if (count === undefined) return most;
    const isFixed = (i: number): boolean => trials.problem.stages[i]?.replicas !== undefined;
    if (isFixed(stage)) return most;
    let [left, needed] = [count, 0];
    options.forEach((option, i) => {
      if (trials.candidate(i, option.candidate).device !== device) return;
      if (isFixed(i)) left -= option.replicas;
      else needed += option.replicas;
    });
    return Math.min(most, Math.floor((left * replicas) / needed));
  }
}
