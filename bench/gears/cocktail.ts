import type { FamilyModel } from '../../src/gearplan/index.js';

/** Ensemble is a set of models that all answer each request; the answer is what most of them say. */
export interface Ensemble {
  readonly models: readonly FamilyModel[];
  readonly accuracy: number;
}

/**
 * cheapestEnsemble finds the models with the least work whose majority is right in at least so many of the samples, as
 * Cocktail+ would with perfect knowledge. Of an even number that are split, half are taken to be right. Two wrong models
 * are taken to agree, as they do where there are two classes; where there are more, that understates ensembles.
 */
export function cheapestEnsemble(
  family: readonly FamilyModel[],
  { accuracy, latencyNs }: { readonly accuracy: number; readonly latencyNs: number },
): Ensemble | undefined {
  let best: Ensemble | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (let set = 1; set < 1 << family.length; set++) {
    const models = family.filter((_, model) => (set >> model) & 1);
    const work = models.reduce((sum, model) => sum + 1 / deviceRps(model, latencyNs), 0);
    if (work >= least) continue;
    const voted = votedAccuracy(models);
    if (voted < accuracy) continue;
    best = { models, accuracy: voted };
    least = work;
  }
  return best;
}

function votedAccuracy(models: readonly FamilyModel[]): number {
  const samples = (models[0] as FamilyModel).correct.length;
  let right = 0;
  for (let sample = 0; sample < samples; sample++) {
    const votes = models.reduce((sum, { correct }) => sum + (correct[sample] as number), 0);
    right += 2 * votes > models.length ? 1 : 2 * votes === models.length ? 0.5 : 0;
  }
  return right / samples;
}

/** The share of a device's time that is planned to be used. */
const PLANNED_USE = 0.8;

/** deviceRps is what a device is planned to serve of a model while a batch waits for no more than the one before it. */
function deviceRps({ latencyNs: byBatch }: FamilyModel, latencyNs: number): number {
  let most = 0;
  for (const [b, ns] of byBatch.entries())
    if (2 * ns <= latencyNs) most = Math.max(most, (1e9 * (b + 1)) / ns);
  return PLANNED_USE * most;
}

/** ensembleDevices is how many devices each model of an ensemble needs at a rate. */
export function ensembleDevices({ models }: Ensemble, rps: number, latencyNs: number): number[] {
  return models.map((model) => Math.max(1, Math.ceil(rps / deviceRps(model, latencyNs))));
}

/** AutoscaledLoad is a load whose rates Cocktail+ is told exactly, and how long its devices take to load a model. */
export interface AutoscaledLoad {
  /** The rates, each of which lasts so long. */
  readonly rps: readonly number[];
  readonly stepNs: number;
  readonly loadNs: number;
  /** Devices are added and given back every so many steps, for the highest rate among them. */
  readonly planSteps: number;
  readonly latencyNs: number;
  readonly arrivalsNs: Float64Array;
}

/** Served is what an ensemble did with a load: when each request was answered, and the devices in the mean. */
export interface ServedByEnsemble {
  readonly endedNs: Float64Array;
  readonly meanDevices: number;
}

/** Stint is the time in which a device serves a model. */
interface Stint {
  readonly fromNs: number;
  readonly toNs: number;
  freeNs: number;
}

/**
 * serveByEnsemble serves a load with an ensemble (Cocktail+, CascadeServe §6.1): the number of devices of each model
 * follows the rate of each step, which is known. A device that is added loads its model first; one that is not needed
 * goes at once. Each model batches dynamically what waits. A request is answered once all models have answered it.
 */
export function serveByEnsemble(ensemble: Ensemble, load: AutoscaledLoad): ServedByEnsemble {
  const endedNs = new Float64Array(load.arrivalsNs.length);
  const counts = load.rps.map((_, step) => {
    const from = step - (step % load.planSteps);
    const rps = Math.max(...load.rps.slice(from, from + load.planSteps));
    return ensembleDevices(ensemble, rps, load.latencyNs);
  });
  const endNs = load.rps.length * load.stepNs;
  let deviceNs = 0;
  ensemble.models.forEach((model, m) => {
    const stints = stintsOf(
      counts.map((count) => count[m] as number),
      load,
    );
    for (const { fromNs, toNs } of stints) deviceNs += Math.min(toNs, endNs) - fromNs + load.loadNs;
    serveModel(model, stints, { arrivalsNs: load.arrivalsNs, endedNs });
  });
  return { endedNs, meanDevices: deviceNs / endNs };
}

/** stintsOf gives the devices of one model. Those of the first step are loaded before it begins. */
function stintsOf(counts: readonly number[], { stepNs, loadNs }: AutoscaledLoad): Stint[] {
  const stints: Stint[] = [];
  const most = Math.max(...counts);
  for (let device = 0; device < most; device++) {
    let from = -1;
    counts.forEach((count, step) => {
      const isUsed = device < count;
      if (isUsed && from === -1) from = step;
      if (from === -1 || (isUsed && step < counts.length - 1)) return;
      // The last devices serve what is left after the load.
      const toNs = isUsed ? Number.MAX_SAFE_INTEGER : step * stepNs;
      const fromNs = from === 0 ? 0 : from * stepNs + loadNs;
      if (fromNs < toNs) stints.push({ fromNs, toNs, freeNs: fromNs });
      from = -1;
    });
  }
  return stints;
}

function serveModel(
  { latencyNs }: FamilyModel,
  stints: readonly Stint[],
  { arrivalsNs, endedNs }: { readonly arrivalsNs: Float64Array; readonly endedNs: Float64Array },
): void {
  for (let first = 0; first < arrivalsNs.length; ) {
    let earliest: Stint | undefined;
    let startNs = Number.POSITIVE_INFINITY;
    for (const stint of stints) {
      const atNs = Math.max(stint.freeNs, arrivalsNs[first] as number);
      if (atNs >= startNs || atNs >= stint.toNs) continue;
      earliest = stint;
      startNs = atNs;
    }
    if (earliest === undefined) throw new Error('no device serves the end of the load');
    let size = 1;
    while (
      size < latencyNs.length &&
      first + size < arrivalsNs.length &&
      (arrivalsNs[first + size] as number) <= startNs
    )
      size += 1;
    earliest.freeNs = startNs + (latencyNs[size - 1] as number);
    for (let i = first; i < first + size; i++) endedNs[i] = Math.max(endedNs[i] as number, earliest.freeNs);
    first += size;
  }
}
