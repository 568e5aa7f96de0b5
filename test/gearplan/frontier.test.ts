import { describe, expect, it } from 'vitest';
import { type Cascade, cascadeFrontier, type FamilyModel } from '../../src/gearplan/index.js';
import { streamOf } from '../../src/random/index.js';
import { seeds } from '../cases.js';
import { randomFamily } from './families.js';

const QUANTILE = 0.8;

/** Every cascade of a family with thresholds at the given quantiles, sample by sample. */
function allCascades(models: readonly FamilyModel[], thresholds: number): Cascade[] {
  const grids = models.map(({ certainty }) => {
    const sorted = [...certainty].sort((a, b) => a - b);
    const at = Array.from(
      { length: thresholds },
      (_, i) => sorted[Math.floor(((i + 1) * sorted.length) / (thresholds + 1))]!,
    );
    return [...new Set(at)].filter((level) => level > sorted[0]!);
  });
  const all: Cascade[] = [];
  const extend = (chosen: number[], levels: number[]) => {
    if (chosen.length > 0) all.push(figures(models, chosen, levels));
    if (chosen.length === 4) return;
    for (let next = (chosen.at(-1) ?? -1) + 1; next < models.length; next++)
      for (const level of chosen.length === 0 ? [Number.NaN] : grids[chosen.at(-1)!]!)
        extend([...chosen, next], chosen.length === 0 ? [] : [...levels, level]);
  };
  extend([], []);
  return all;
}

function figures(models: readonly FamilyModel[], chosen: number[], levels: number[]): Cascade {
  const samples = models[0]!.correct.length;
  const visits = chosen.map(() => 0);
  let right = 0;
  const floors: number[] = [];
  for (let s = 0; s < samples; s++) {
    let floorNs = 0;
    for (const [step, m] of chosen.entries()) {
      visits[step]! += 1 / samples;
      floorNs += models[m]!.latencyNs[0]!;
      if (step < levels.length && models[m]!.certainty[s]! < levels[step]!) continue;
      right += models[m]!.correct[s]!;
      break;
    }
    floors.push(floorNs);
  }
  const least = (m: number) => Math.min(...models[m]!.latencyNs.map((ns, b) => ns / (b + 1)));
  floors.sort((a, b) => a - b);
  return {
    ...{ models: chosen, thresholds: levels, visits, accuracy: right / samples },
    workNs: chosen.reduce((sum, m, step) => sum + visits[step]! * least(m), 0),
    floorNs: floors[Math.ceil(QUANTILE * samples - 1e-9) - 1]!,
  };
}

const EPSILON = 1e-9;

/** beats says whether a cascade is as good as another in all three figures. */
function isAsGood(a: Cascade, b: Cascade): boolean {
  return a.accuracy >= b.accuracy - EPSILON && a.workNs <= b.workNs * (1 + EPSILON) && a.floorNs <= b.floorNs;
}

/** hasNoMoreWork says whether no model has more work in a cascade than in another. */
function hasNoMoreWork(a: Cascade, b: Cascade): boolean {
  return a.models.every((model, step) => {
    const at = b.models.indexOf(model);
    return at !== -1 && a.visits[step]! <= b.visits[at]! + EPSILON;
  });
}

describe('The frontier of cascades', () => {
  it('has a cascade as good as any other one, and none that another one is better than, tried sample by sample', () => {
    let sizes = 0;
    for (const seed of seeds(30, 300)) {
      const stream = streamOf(seed, 'frontier');
      const models = randomFamily(stream, 1 + stream.integer(5), 20 + stream.integer(60));
      const thresholds = 1 + stream.integer(3);
      const frontier = cascadeFrontier({ models, thresholds, quantile: QUANTILE });
      const all = allCascades(models, thresholds);
      for (const one of all)
        expect(
          frontier.some((best) => isAsGood(best, one)),
          `seed ${seed}: ${JSON.stringify(one)}`,
        ).toBe(true);
      for (const [i, one] of frontier.entries())
        expect(
          frontier.some((other, k) => k !== i && isAsGood(other, one)),
          `seed ${seed}`,
        ).toBe(false);
      sizes += frontier.length;
    }
    expect(sizes).toBeGreaterThan(5 * seeds(30, 300).length);
  });

  it('has the figures that its cascades have sample by sample, the most accurate first', () => {
    for (const seed of seeds(30, 300)) {
      const stream = streamOf(seed, 'figures');
      const models = randomFamily(stream, 4, 50);
      const frontier = cascadeFrontier({ models, thresholds: 4, quantile: QUANTILE });
      for (const cascade of frontier) {
        const again = figures(models, [...cascade.models], [...cascade.thresholds]);
        expect(cascade.accuracy).toBeCloseTo(again.accuracy, 12);
        expect(cascade.workNs / again.workNs).toBeCloseTo(1, 12);
        expect(cascade.floorNs).toBe(again.floorNs);
        for (const [step, share] of cascade.visits.entries())
          expect(share).toBeCloseTo(again.visits[step]!, 12);
      }
      const accuracies = frontier.map(({ accuracy }) => accuracy);
      expect(accuracies).toEqual([...accuracies].sort((a, b) => b - a));
    }
  });

  it('of models that do not fit a device together has a cascade as good as any other with no model that this one lacks', () => {
    const size = { apart: 0, together: 0 };
    for (const seed of seeds(30, 300)) {
      const stream = streamOf(seed, 'apart');
      const models = randomFamily(stream, 2 + stream.integer(4), 20 + stream.integer(60));
      const thresholds = 1 + stream.integer(3);
      const bytes = models.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0);
      const space = { models, thresholds, quantile: QUANTILE };
      const frontier = cascadeFrontier({ ...space, memoryBytes: bytes - 1 });
      for (const one of allCascades(models, thresholds))
        expect(
          frontier.some(
            (best) => best.models.every((model) => one.models.includes(model)) && isAsGood(best, one),
          ),
          `seed ${seed}: ${JSON.stringify(one)}`,
        ).toBe(true);
      const accuracies = frontier.map(({ accuracy }) => accuracy);
      expect(accuracies).toEqual([...accuracies].sort((a, b) => b - a));
      for (const [i, one] of frontier.entries())
        expect(
          frontier.some((other, k) => k !== i && isAsGood(other, one) && hasNoMoreWork(other, one)),
          `seed ${seed}`,
        ).toBe(false);
      const together = cascadeFrontier({ ...space, memoryBytes: bytes });
      expect(together).toEqual(cascadeFrontier(space));
      size.apart += frontier.length;
      size.together += together.length;
    }
    expect(size.apart).toBeGreaterThan(1.2 * size.together);
  });

  it('has the cheapest and the most accurate cascade', () => {
    const models = randomFamily(streamOf(5, 'ends'), 4, 60);
    const frontier = cascadeFrontier({ models, thresholds: 4, quantile: QUANTILE });
    const all = allCascades(models, 4);
    expect(frontier[0]?.accuracy).toBeCloseTo(Math.max(...all.map(({ accuracy }) => accuracy)), 12);
    const least = (cascades: readonly Cascade[]) => Math.min(...cascades.map(({ workNs }) => workNs));
    expect(least(frontier) / least(all)).toBeCloseTo(1, 12);
  });
});
