import type { FamilyModel, GearProblem } from '../../src/gearplan/index.js';
import { type Stream, streamOf } from '../../src/random/index.js';

/**
 * randomFamily draws models from cheaper to dearer ones, whose answers are right and certain as chance has it, mostly
 * alike. Certainties are tenths, so that many samples are equally certain.
 */
export function randomFamily(stream: Stream, count: number, samples: number): FamilyModel[] {
  const ease = Float64Array.from({ length: samples }, () => stream.normal());
  let work = 1e6 * (1 + stream.uniform());
  return Array.from({ length: count }, (_, model) => {
    work *= 1.5 + 2 * stream.uniform();
    const own = ease.map((z) => 0.3 + 0.3 * model + z + 0.5 * stream.normal());
    return {
      name: `m${model}`,
      latencyNs: Float64Array.from({ length: 1 + stream.integer(4) }, (_, b) =>
        Math.round(work * (1 + 0.4 * b)),
      ),
      memoryBytes: 1 + stream.integer(5),
      correct: Uint8Array.from(own, (x) => (x > 0 ? 1 : 0)),
      certainty: own.map((x) => Math.round(10 * Math.tanh(Math.abs(x))) / 10),
    };
  }).sort((a, b) => workOf(a) - workOf(b));
}

function workOf({ latencyNs }: FamilyModel): number {
  return Math.min(...latencyNs.map((ns, b) => ns / (b + 1)));
}

/** randomProblem draws a small problem, whose models may not all fit on one device. */
export function randomProblem(seed: number): GearProblem {
  const stream = streamOf(seed, 'gear-problem');
  const models = randomFamily(stream, 2 + stream.integer(2), 40);
  const ranges = 1 + stream.integer(3);
  const rate = (stream.uniform() * 6e9) / workOf(models.at(-1) as FamilyModel);
  const shares = Array.from({ length: ranges }, () => 0.1 + stream.uniform());
  const total = shares.reduce((sum, share) => sum + share, 0);
  return {
    models,
    devices: 1 + stream.integer(3),
    memoryBytes: Math.max(...models.map(({ memoryBytes }) => memoryBytes)) + stream.integer(6),
    ranges: shares.map((share, k) => ({
      fromRps: (k * rate) / ranges,
      toRps: ((k + 1) * rate) / ranges,
      share: share / total,
    })),
    latencyNs: (0.3 + 6 * stream.uniform()) * ((models.at(-1) as FamilyModel).latencyNs[0] as number),
    quantile: 0.95,
    thresholds: 3,
  };
}

/** arrivalsOf draws the arrivals of a rate: few, so that brute force ends. */
export function arrivalsOf(requests: number, rps: number): Float64Array {
  const { exponential } = streamOf(1, 'arrivals');
  let atNs = 0;
  return Float64Array.from({ length: Math.min(requests, 300) }, () => {
    atNs += Math.max(1, Math.round((1e9 * exponential()) / rps));
    return atNs;
  });
}
