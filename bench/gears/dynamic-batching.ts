import type { FamilyModel } from '../../src/gearplan/index.js';
import { streamOf } from '../../src/random/index.js';

/** Stint is the time in which a device serves a model. */
export interface Stint {
  readonly fromNs: number;
  readonly toNs: number;
  /** When its last batch ends. */
  freeNs: number;
}

/** BatchedLoad has the arrivals of a model, and when each was answered by the models that have served it so far. */
export interface BatchedLoad {
  readonly arrivalsNs: Float64Array;
  readonly endedNs: Float64Array;
}

/**
 * serveModel serves a load with one model: the device that is free first takes all that waits, up to the largest batch, and
 * starts at once. Clipper's batching does so once it has found that the largest batch is in time, and Cocktail+ here.
 */
export function serveModel(
  { latencyNs }: FamilyModel,
  stints: readonly Stint[],
  { arrivalsNs, endedNs }: BatchedLoad,
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

/**
 * withTimelyBatches leaves the batches that are in time though each request waits for the one before: those up to the first
 * that takes more than half the latency. Clipper's batch sizes grow until one takes too long.
 */
export function withTimelyBatches(model: FamilyModel, latencyNs: number): FamilyModel {
  const tooLong = model.latencyNs.findIndex((ns) => 2 * ns > latencyNs);
  return tooLong === -1 ? model : { ...model, latencyNs: model.latencyNs.slice(0, Math.max(1, tooLong)) };
}

/** HeldRate is a steady rate of which a share must be answered within a latency. */
export interface HeldRate {
  readonly rps: number;
  readonly latencyNs: number;
  readonly quantile: number;
}

/** Of so many requests it is counted how many are in time, */
const COUNTED = 8000;
/** after queues were filled by twice the rate, and have settled, each for so many latencies. */
const FILLING = 1;
const SETTLING = 10;
const MOST_DEVICES = 256;

/**
 * holdsRate says whether devices answer the share in time, of Poisson arrivals and by the batches that form. It begins with
 * full queues, from which too few devices do not recover; a trial that began idle would end before they show it.
 */
export function holdsRate(model: FamilyModel, devices: number, rate: HeldRate): boolean {
  const { latencyNs, quantile } = rate;
  const arrivalsNs = trialArrivals(rate);
  const endedNs = new Float64Array(arrivalsNs.length);
  const always = { fromNs: 0, toNs: Number.POSITIVE_INFINITY };
  const stints = Array.from({ length: devices }, () => ({ ...always, freeNs: 0 }));
  serveModel(model, stints, { arrivalsNs, endedNs });
  let late = 0;
  for (let i = arrivalsNs.length - COUNTED; i < arrivalsNs.length; i++)
    if ((endedNs[i] as number) - (arrivalsNs[i] as number) > latencyNs) late += 1;
  return late <= (1 - quantile) * COUNTED;
}

function trialArrivals({ rps, latencyNs }: HeldRate): Float64Array {
  const { exponential } = streamOf(1, 'batches that form');
  const perLatency = (rps * latencyNs) / 1e9;
  const filling = Math.ceil(2 * FILLING * perLatency);
  const count = filling + Math.ceil(SETTLING * perLatency) + COUNTED;
  let nowNs = 0;
  return Float64Array.from({ length: count }, (_, i) => {
    nowNs += (1e9 * exponential()) / (i < filling ? 2 * rps : rps);
    return nowNs;
  });
}

/** devicesHolding finds the fewest devices that hold a rate by timely batches; undefined where no number of them does. */
export function devicesHolding(measured: FamilyModel, rate: HeldRate): number | undefined {
  if ((measured.latencyNs[0] as number) > rate.latencyNs) return undefined;
  const model = withTimelyBatches(measured, rate.latencyNs);
  if (rate.rps === 0) return 1;
  let [tooFew, enough] = [0, 1];
  while (!holdsRate(model, enough, rate)) {
    if (enough >= MOST_DEVICES) return undefined;
    [tooFew, enough] = [enough, 2 * enough];
  }
  while (enough - tooFew > 1) {
    const middle = (tooFew + enough) >> 1;
    if (holdsRate(model, middle, rate)) enough = middle;
    else tooFew = middle;
  }
  return enough;
}
