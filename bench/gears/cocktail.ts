import type { FamilyModel, LoadRange } from '../../src/gearplan/index.js';
import { devicesHolding, type Stint, serveModel, withTimelyBatches } from './dynamic-batching.js';

/** AskedOfEnsemble says what an ensemble is to do: the accuracy, and the share of requests within a latency. */
export interface AskedOfEnsemble {
  readonly accuracy: number;
  readonly latencyNs: number;
  readonly quantile: number;
  /** The loads that it is to serve, at the upper ends of their ranges, for their shares of the time. */
  readonly ranges: readonly Pick<LoadRange, 'toRps' | 'share'>[];
}

/** Ensemble is a set of models that all answer each request; the answer is what most of their weighted votes say. */
export interface Ensemble {
  readonly models: readonly FamilyModel[];
  readonly accuracy: number;
  /** The devices of all its models, in the mean over time and at the highest rate. */
  readonly meanDevices: number;
  readonly mostDevices: number;
  /** devices gives how many devices each model needs at a rate. */
  devices(rps: number): number[];
}

/**
 * cheapestEnsemble finds the models that need the fewest devices and whose weighted vote is right in at least so many of
 * the samples, as Cocktail+ would with perfect knowledge.
 */
export function cheapestEnsemble(
  family: readonly FamilyModel[],
  asked: AskedOfEnsemble,
): Ensemble | undefined {
  const needs = deviceTables(asked);
  const timely = family.map((model) => withTimelyBatches(model, asked.latencyNs));
  let best: Ensemble | undefined;
  for (let set = 1; set < 1 << family.length; set++) {
    const models = timely.filter((_, model) => (set >> model) & 1);
    const accuracy = votedAccuracy(models);
    if (accuracy < asked.accuracy) continue;
    const devices = (rps: number) => models.map((model) => needs(model, models.length, rps));
    const totals = asked.ranges.map(({ toRps }) => devices(toRps).reduce((sum, count) => sum + count, 0));
    const meanDevices = totals.reduce((sum, count, k) => sum + count * (asked.ranges[k]?.share ?? 0), 0);
    if (!(meanDevices < (best?.meanDevices ?? Number.POSITIVE_INFINITY))) continue;
    best = { models, accuracy, meanDevices, mostDevices: Math.max(...totals), devices };
  }
  return best;
}

/**
 * deviceTables gives the devices that a model needs so that all models of an ensemble are in time together: where each of
 * k models is late for a k-th of what may be late, no more is late in all. Infinitely many where none are enough.
 */
function deviceTables({ latencyNs, quantile }: AskedOfEnsemble) {
  const known = new Map<string, number>();
  return (model: FamilyModel, members: number, rps: number): number => {
    const key = `${model.name}/${members}/${rps}`;
    const before = known.get(key);
    if (before !== undefined) return before;
    const rate = { rps, latencyNs, quantile: 1 - (1 - quantile) / members };
    const devices = devicesHolding(model, rate) ?? Number.POSITIVE_INFINITY;
    known.set(key, devices);
    return devices;
  };
}

/**
 * votedAccuracy weighs each vote by how often the model is right in the records, as Cocktail does. Two wrong models are
 * taken to agree, as they do where there are two classes; where there are more, that understates ensembles. Of samples
 * whose votes are split evenly, half are taken to be right.
 */
export function votedAccuracy(models: readonly Pick<FamilyModel, 'correct'>[]): number {
  const samples = (models[0] as FamilyModel).correct.length;
  const weights = models.map(({ correct }) => correct.reduce((sum, right) => sum + right, 0) / samples);
  let right = 0;
  for (let sample = 0; sample < samples; sample++) {
    let lead = 0;
    for (const [m, { correct }] of models.entries())
      lead += correct[sample] === 1 ? (weights[m] as number) : -(weights[m] as number);
    right += lead > 0 ? 1 : lead === 0 ? 0.5 : 0;
  }
  return right / samples;
}

/** AutoscaledLoad is a load whose rates Cocktail+ is told exactly, and how long its devices take to load a model. */
export interface AutoscaledLoad {
  /** The rates, each of which lasts so long. */
  readonly rps: readonly number[];
  readonly stepNs: number;
  readonly loadNs: number;
  /**
   * Whether models are loaded before a rate rises, so that devices are there when it does. In the paper's runs they are
   * loaded when it has risen.
   */
  readonly ahead: boolean;
  readonly arrivalsNs: Float64Array;
}

/** Served is what an ensemble did with a load: when each request was answered, and the devices in the mean. */
export interface ServedByEnsemble {
  readonly endedNs: Float64Array;
  readonly meanDevices: number;
}

/** A stint with the instant from which its device is paid for. */
interface PaidStint extends Stint {
  readonly askedNs: number;
}

/**
 * serveByEnsemble serves a load with an ensemble (Cocktail+, CascadeServe §6.2): devices are planned anew at every change of
 * the rate, which is known. A device that is added loads its model first; one goes when no rate needs it for as long as
 * loading takes, since it could not be had back sooner. A request is answered once all models have answered it.
 */
export function serveByEnsemble(ensemble: Ensemble, load: AutoscaledLoad): ServedByEnsemble {
  const endedNs = new Float64Array(load.arrivalsNs.length);
  const endNs = load.rps.length * load.stepNs;
  const needed = load.rps.map((rps) => ensemble.devices(rps));
  let deviceNs = 0;
  ensemble.models.forEach((model, m) => {
    const counts = keptCounts(
      needed.map((counts) => counts[m] as number),
      load,
    );
    const stints = stintsOf(counts, load);
    for (const { askedNs, toNs } of stints) deviceNs += Math.min(toNs, endNs) - askedNs;
    serveModel(model, stints, { arrivalsNs: load.arrivalsNs, endedNs });
  });
  return { endedNs, meanDevices: deviceNs / endNs };
}

/** keptCounts gives the devices of one model that are loaded or loading in each step. */
export function keptCounts(
  needed: readonly number[],
  { stepNs, loadNs, ahead }: Pick<AutoscaledLoad, 'stepNs' | 'loadNs' | 'ahead'>,
): number[] {
  const steps = Math.ceil(loadNs / stepNs);
  const counts: number[] = [];
  for (const [step, now] of needed.entries()) {
    const soon = Math.max(...needed.slice(step, step + steps + 1));
    counts.push(ahead ? soon : Math.max(now, Math.min(counts.at(-1) ?? now, soon)));
  }
  return counts;
}

/** stintsOf gives the devices of one model. Those of the first step are loaded before it begins. */
function stintsOf(
  counts: readonly number[],
  { stepNs, loadNs }: Pick<AutoscaledLoad, 'stepNs' | 'loadNs'>,
): PaidStint[] {
  const stints: PaidStint[] = [];
  const most = Math.max(...counts);
  for (let device = 0; device < most; device++) {
    let from = -1;
    counts.forEach((count, step) => {
      const isUsed = device < count;
      if (isUsed && from === -1) from = step;
      if (from === -1 || (isUsed && step < counts.length - 1)) return;
      const askedNs = from * stepNs;
      const fromNs = from === 0 ? 0 : askedNs + loadNs;
      // The last devices serve what is left after the load.
      const toNs = isUsed ? Number.MAX_SAFE_INTEGER : step * stepNs;
      stints.push({ askedNs, fromNs, toNs, freeNs: fromNs });
      from = -1;
    });
  }
  return stints;
}
