import { describe, expect, it } from 'vitest';
import {
  cheapestEnsemble,
  keptCounts,
  serveByEnsemble,
  votedAccuracy,
} from '../../../bench/gears/cocktail.js';
import { devicesHolding, holdsRate } from '../../../bench/gears/dynamic-batching.js';
import { switchingDevices } from '../../../bench/gears/model-switching.js';
import type { FamilyModel } from '../../../src/gearplan/index.js';
import { streamOf } from '../../../src/random/index.js';
import { inWholeRun } from '../../cases.js';

/** A model that takes 4 ms and 1 ms more for each further sample of up to 16, and is right in the samples given. */
function modelOf(name: string, correct: readonly number[], slow = 1): FamilyModel {
  return {
    name,
    memoryBytes: 1,
    latencyNs: Float64Array.from({ length: 16 }, (_, b) => slow * 1e6 * (4 + b)),
    correct: Uint8Array.from(correct),
    certainty: Float64Array.from(correct, () => 1),
  };
}

const SLO = { latencyNs: 100e6, quantile: 0.95 };
const MODEL = modelOf('m', [1]);
/** What a device serves of it in batches of 16. */
const MOST_RPS = 16 / 0.019;

/** p95MsAfter serves a steady rate for a minute by other arrivals than those of the trials, and gives the p95. */
function p95MsAfter(family: readonly FamilyModel[], rps: number): number {
  const ensemble = cheapestEnsemble(family, { ...SLO, accuracy: 0, ranges: [{ toRps: rps, share: 1 }] })!;
  const { uniform } = streamOf(7, 'a steady load');
  const arrivalsNs = Float64Array.from({ length: 60 * rps }, () => 60e9 * uniform()).sort();
  const load = { rps: [rps], stepNs: 60e9, loadNs: 1e9, ahead: false, arrivalsNs };
  const { endedNs, meanDevices } = serveByEnsemble(ensemble, load);
  expect(meanDevices).toBe(ensemble.mostDevices);
  const times = endedNs.map((ns, i) => ns - (arrivalsNs[i] as number)).sort();
  return (times[Math.ceil(0.95 * times.length) - 1] as number) / 1e6;
}

describe('devicesHolding()', () => {
  inWholeRun(
    'plans devices that serve a steady rate for long, and no more than one beyond what the largest batches need',
    () => {
      for (const share of [0.3, 0.9, 1.02, 2.5, 7.7]) {
        const rps = Math.round(share * MOST_RPS);
        const devices = devicesHolding(MODEL, { rps, ...SLO }) as number;
        expect(devices).toBeGreaterThan(share);
        expect(devices).toBeLessThanOrEqual(Math.ceil(1.15 * share));
        expect(p95MsAfter([MODEL], rps)).toBeLessThanOrEqual(100);
      }
    },
  );

  it('is not misled by one batch that was measured too fast, which seldom forms', () => {
    const latencyNs = MODEL.latencyNs.slice();
    latencyNs[6] = 1e5;
    const misled = { ...MODEL, name: 'misled', latencyNs };
    const rps = Math.round(3.5 * MOST_RPS);
    expect(devicesHolding(misled, { rps, ...SLO })).toBe(devicesHolding(MODEL, { rps, ...SLO }));
    expect(p95MsAfter([misled], rps)).toBeLessThanOrEqual(100);
  });

  it('forms no batches that are late by themselves, from which queues recover late', () => {
    const tight = { rps: Math.round(2 * MOST_RPS), latencyNs: 20e6, quantile: 0.95 };
    // Batches of seven take 10 ms, half of the latency.
    const seven = { ...MODEL, name: 'seven', latencyNs: MODEL.latencyNs.slice(0, 7) };
    expect(devicesHolding(MODEL, tight)).toBe(devicesHolding(seven, tight));
    const steep = {
      ...MODEL,
      name: 'steep',
      latencyNs: MODEL.latencyNs.map((ns, b) => (b < 7 ? ns : 20 * ns)),
    };
    expect(devicesHolding(steep, tight)).toBe(devicesHolding(seven, tight));
  });

  it('says that a rate just beyond what the largest batches serve is not held, though it takes seconds to show', () => {
    expect(holdsRate(MODEL, 4, { rps: 1.01 * 4 * MOST_RPS, ...SLO })).toBe(false);
    expect(devicesHolding(modelOf('slow', [1], 30), { rps: 1, ...SLO })).toBeUndefined();
  });
});

describe('votedAccuracy()', () => {
  it('weighs votes by how often a model is right, so that the better of two decides where they differ', () => {
    const better = modelOf('better', [1, 1, 1, 0]);
    const worse = modelOf('worse', [0, 1, 0, 1]);
    expect(votedAccuracy([better, worse])).toBe(0.75);
    expect(votedAccuracy([worse, better])).toBe(0.75);
    // Two that are alike split where they differ.
    expect(votedAccuracy([worse, modelOf('other', [1, 0, 1, 0])])).toBe(0.5);
    // Two of three outvote the best.
    expect(votedAccuracy([better, worse, modelOf('third', [0, 1, 0, 1])])).toBe(0.5);
  });
});

describe('keptCounts()', () => {
  const load = { stepNs: 5e9, loadNs: 8e9 };

  it('adds devices when the rate has risen, and keeps those that are needed again before they could be loaded', () => {
    const needed = [1, 3, 1, 2, 1, 1, 1];
    expect(keptCounts(needed, { ...load, ahead: false })).toEqual([1, 3, 2, 2, 1, 1, 1]);
  });

  it('adds them so early that they are loaded when the rate rises, where the option says so', () => {
    expect(keptCounts([1, 1, 1, 3, 1, 1], { ...load, ahead: true })).toEqual([1, 3, 3, 3, 1, 1]);
  });
});

describe('switchingDevices()', () => {
  it('finds the fewest devices on which the better model holds the ranges that the accuracy needs it for', () => {
    const family = [modelOf('small', [1, 0, 1, 0]), modelOf('large', [1, 1, 1, 0], 2)];
    const ranges = [0.5, 1, 1.5].map((load) => ({
      fromRps: (load - 0.5) * MOST_RPS,
      toRps: load * MOST_RPS,
      share: 1 / 3,
    }));
    const devicesFor = (accuracy: number) => switchingDevices(family, { ...SLO, ranges, accuracy });
    const holding = (model: number, range: number) =>
      devicesHolding(family[model]!, { rps: ranges[range]!.toRps, ...SLO }) as number;
    // All ranges need the large model for 0.75, two of them for 0.66, and none for 0.5.
    expect(devicesFor(0.75)).toBe(holding(1, 2));
    expect(devicesFor(0.66)).toBe(Math.max(holding(1, 1), holding(0, 2)));
    expect(devicesFor(0.5)).toBe(holding(0, 2));
    expect(devicesFor(0.76)).toBeUndefined();
  });
});
