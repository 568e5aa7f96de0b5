import { describe, expect, it } from 'vitest';
import { allCascades, figuresOf, type Tried } from '../../bench/refute/cascades/every-cascade.js';
import { type Cascade, cascadeSpace, type FamilyModel } from '../../src/gearplan/index.js';
import { type Stream, streamOf } from '../../src/random/index.js';
import { inWholeRun, seeds } from '../cases.js';
import { randomFamily } from './families.js';

const QUANTILE = 0.8;
const EPSILON = 1e-9;

/** isAsGood says whether a cascade is as good as another in accuracy, work and floor. */
function isAsGood(a: Cascade, b: Tried): boolean {
  return a.accuracy >= b.accuracy - EPSILON && a.workNs <= b.workNs * (1 + EPSILON) && a.floorNs <= b.floorNs;
}

/** hasNoMoreWork says whether no model has more work in a cascade than in another. */
function hasNoMoreWork(a: Cascade, b: Tried): boolean {
  return a.models.every((model, step) => {
    const at = b.models.indexOf(model);
    return a.visits[step]! <= (at === -1 ? 0 : b.visits[at]!) + EPSILON;
  });
}

/** manyLevels draws models whose certainties are nearly all different, and right as chance has it, in any order. */
function manyLevels(stream: Stream, count: number, samples: number): FamilyModel[] {
  return randomFamily(stream, count, samples).map((model) => ({
    ...model,
    certainty: model.certainty.map((value) => value + 0.001 * stream.uniform()),
    correct: model.correct.map((right) => (stream.uniform() < 0.15 ? 1 - right : right)),
  }));
}

describe('The space of cascades', () => {
  inWholeRun(
    'of few samples has a cascade as good as any, in any order and with any thresholds, and no limit above these',
    () => {
      for (const seed of seeds(40, 400)) {
        const stream = streamOf(seed, 'all');
        const count = 1 + stream.integer(4);
        const models = manyLevels(stream, count, count === 4 ? 4 + stream.integer(4) : 4 + stream.integer(9));
        const { cascades, limits, scope, isWhole } = cascadeSpace({
          models,
          thresholds: 2,
          quantile: QUANTILE,
        });
        expect(scope).toEqual({ mostModels: count, orders: 'any', thresholds: 'all' });
        expect(isWhole).toBe(true);
        for (const one of allCascades(models, { quantile: QUANTILE }))
          if (!cascades.some((best) => isAsGood(best, one)))
            throw new Error(`seed ${seed}: ${JSON.stringify(one)}`);
        expect(limits).toEqual(cascades);
        for (const [i, one] of cascades.entries())
          expect(
            cascades.some((other, k) => k !== i && isAsGood(other, one as Tried)),
            `seed ${seed}`,
          ).toBe(false);
      }
    },
  );

  inWholeRun(
    'of few samples and devices that do not hold all models has one with no more work of any model',
    () => {
      let more = 0;
      for (const seed of seeds(30, 300)) {
        const stream = streamOf(seed, 'apart');
        const count = 2 + stream.integer(3);
        const models = manyLevels(stream, count, count === 4 ? 4 + stream.integer(3) : 4 + stream.integer(7));
        const space = { models, thresholds: 2, quantile: QUANTILE };
        const { cascades, limitsByModel } = cascadeSpace({ ...space, memoryBytes: 1 });
        const isBest = (one: Tried) => (best: Cascade) => isAsGood(best, one) && hasNoMoreWork(best, one);
        for (const one of allCascades(models, { quantile: QUANTILE })) {
          if (!cascades.some(isBest(one))) throw new Error(`seed ${seed}: ${JSON.stringify(one)}`);
          if (!limitsByModel?.some(isBest(one)))
            throw new Error(`seed ${seed}, limits: ${JSON.stringify(one)}`);
        }
        more += cascades.length > cascadeSpace(space).cascades.length ? 1 : 0;
      }
      expect(more).toBeGreaterThan(seeds(30, 300).length / 3);
    },
  );

  inWholeRun(
    'of few thresholds has limits that no cascade with any thresholds surpasses, and knows the most right answers',
    () => {
      let beyond = 0;
      for (const seed of seeds(30, 300)) {
        const stream = streamOf(seed, 'limits');
        const count = 3 + stream.integer(2);
        const models = manyLevels(stream, count, count === 4 ? 5 + stream.integer(4) : 8 + stream.integer(9));
        const space = { models, thresholds: 1, quantile: QUANTILE, combinations: 6 * stream.integer(30) };
        const { cascades, limits, limitsByModel } = cascadeSpace({ ...space, memoryBytes: 1 });
        const all = allCascades(models, { quantile: QUANTILE });
        for (const one of all) {
          if (!limits.some((best) => isAsGood(best, one)))
            throw new Error(`seed ${seed}: ${JSON.stringify(one)}`);
          if (!limitsByModel?.some((best) => isAsGood(best, one) && hasNoMoreWork(best, one)))
            throw new Error(`seed ${seed}, by model: ${JSON.stringify(one)}`);
        }
        const most = Math.max(...all.map(({ accuracy }) => accuracy));
        expect(cascades[0]?.accuracy, `seed ${seed}`).toBe(most);
        expect(limits[0]?.accuracy).toBe(most);
        beyond += limits.some((limit) => !all.some((one) => isAsGood(one, limit as Tried))) ? 1 : 0;
      }
      expect(beyond).toBeGreaterThan(seeds(30, 300).length / 4);
    },
  );

  it('has the figures that its cascades have sample by sample, the most accurate first', () => {
    for (const seed of seeds(4, 40)) {
      const models = manyLevels(streamOf(seed, 'figures'), 4, 30);
      for (const memoryBytes of [1, Number.POSITIVE_INFINITY]) {
        const { cascades } = cascadeSpace({
          models,
          thresholds: 4,
          quantile: QUANTILE,
          memoryBytes,
          combinations: 2e4,
        });
        for (const cascade of cascades) {
          const [chosen, levels] = [[...cascade.models], [...cascade.thresholds]];
          const again = figuresOf(models, { chosen, levels, quantile: QUANTILE });
          expect(cascade.accuracy).toBeCloseTo(again.accuracy, 12);
          expect(cascade.workNs / again.workNs).toBeCloseTo(1, 12);
          expect(cascade.floorNs).toBe(again.floorNs);
          for (const [step, share] of cascade.visits.entries())
            expect(share).toBeCloseTo(again.visits[step]!, 12);
        }
        const accuracies = cascades.map(({ accuracy }) => accuracy);
        expect(accuracies).toEqual([...accuracies].sort((a, b) => b - a));
      }
    }
  });

  it('has two models in another order where that is right more often', () => {
    // The dearer model is sure of what it is wrong about only where the cheaper one is right.
    const models: FamilyModel[] = [
      model('cheap', 1e6, [1, 1, 0, 0], [0.9, 0.9, 0.9, 0.9]),
      model('dear', 4e6, [0, 0, 1, 1], [0.1, 0.1, 0.9, 0.9]),
    ];
    const { cascades, limits } = cascadeSpace({ models, thresholds: 2, quantile: 0.95 });
    expect(cascades[0]).toMatchObject({ models: [1, 0], thresholds: [0.9], accuracy: 1, visits: [1, 0.5] });
    expect(limits[0]?.accuracy).toBe(1);
  });
});

function model(name: string, ns: number, correct: number[], certainty: number[]): FamilyModel {
  return {
    name,
    latencyNs: Float64Array.of(ns),
    memoryBytes: 1,
    correct: Uint8Array.from(correct),
    certainty: Float64Array.from(certainty),
  };
}
