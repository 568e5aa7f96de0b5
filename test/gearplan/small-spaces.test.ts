import { describe, expect, it } from 'vitest';
import { allCascades, figuresOf } from '../../bench/refute/cascades/every-cascade.js';
import { boundOf, busyByCascade, loadedCascades, rangeBounds } from '../../src/gearplan/best-gears.js';
import { longestOf, singleModels } from '../../src/gearplan/frontier.js';
import { cascadeSpace, type FamilyModel } from '../../src/gearplan/index.js';
import { levelsOf, thresholdsOf } from '../../src/gearplan/levels.js';
import { placementsOf } from '../../src/gearplan/placement.js';
import { placementSolver } from '../../src/gearplan/placement-solver.js';
import { leastWorkNs } from '../../src/gearplan/problem.js';
import { type Point, Sequence } from '../../src/gearplan/sequence.js';
import { LineSweeps } from '../../src/gearplan/sweep.js';
import { loadHighs } from '../../src/lp/index.js';
import { streamOf } from '../../src/random/index.js';
import { describeInWholeRun } from '../cases.js';
import { randomFamily, randomProblem } from './families.js';

const QUANTILE = 0.8;
const SAMPLES = 14;

/** Told is a point as it was reported, before the next one overwrites it. */
interface Told extends Pick<Point, 'models' | 'right' | 'workNs' | 'floorNs'> {
  readonly ranks: readonly number[];
  readonly comes: readonly number[];
}

/** collected gives all points that something reports. */
function collected(tell: (offered: (point: Point) => void) => void): Told[] {
  const told: Told[] = [];
  tell((point) => told.push({ ...point, ranks: [...point.ranks], comes: [...point.comes] }));
  return told;
}

/** counted sends every sample through the cascade of some ranks, one after another. */
function counted(family: readonly FamilyModel[], models: readonly number[], ranks: readonly number[]) {
  const levels = models.slice(0, -1).map((model, step) => {
    const { values } = levelsOf(family[model]!.certainty);
    return values[ranks[step]!] ?? Number.POSITIVE_INFINITY;
  });
  const { accuracy, visits, workNs, floorNs } = figuresOf(family, {
    chosen: [...models],
    levels,
    quantile: QUANTILE,
  });
  const right = Math.round(accuracy * SAMPLES);
  return { right, workNs, floorNs, comes: visits.map((share) => Math.round(share * SAMPLES)) };
}

/** expectCounted checks the figures of a point against those of its samples, one after another. */
function expectCounted(family: readonly FamilyModel[], { models, ranks, comes, ...told }: Told) {
  const own = counted(family, models, ranks);
  expect(comes.slice(0, models.length)).toEqual(own.comes);
  expect(told).toMatchObject({ right: own.right, floorNs: own.floorNs });
  expect(told.workNs / own.workNs).toBeCloseTo(1, 9);
}

const families = [1, 2, 3].map((seed) => randomFamily(streamOf(seed, 'small'), 3, SAMPLES));

describe('A line of cascades', () => {
  it('reports each that is right more often than those with less work, as its samples are', () => {
    for (const family of families) {
      const levels = family.map(({ certainty }) => levelsOf(certainty));
      const sweeps = new LineSweeps({ family, levels, quantile: QUANTILE });
      for (const swept of [0, 1]) {
        const models = [2, 0, 1];
        const ranks = [1, 1];
        const told = collected((offered) => sweeps.tell({ models, ranks, swept }, offered));
        for (const point of told) expectCounted(family, point);
        let most = -1;
        const wanted: number[] = [];
        for (let rank = 1; rank < levels[models[swept]!]!.values.length; rank++) {
          const { right, comes } = counted(family, models, ranks.with(swept, rank));
          if (right <= most || comes[2] === 0) continue;
          most = right;
          wanted.push(rank);
        }
        expect(told.map((point) => point.ranks[swept])).toEqual(wanted);
      }
    }
  });
});

describe('A sequence of models', () => {
  const gridsOf = (family: readonly FamilyModel[], models: readonly number[], most: number) =>
    models.slice(0, -1).map((model) => thresholdsOf(levelsOf(family[model]!.certainty), most));

  it('reports the cascades of all combinations of thresholds that are right more often than those with less work', () => {
    for (const family of families)
      for (const models of [[0], [1, 2], [0, 1, 2], [2, 0, 1]]) {
        const grids = gridsOf(family, models, 4);
        const sequence = new Sequence({ family, models, grids, quantile: QUANTILE });
        const told = collected((offered) => sequence.tellCascades(offered));
        for (const point of told) expectCounted(family, point);
        // The last threshold is told only where more answers are right than with those before it.
        const [first = { thresholds: Int32Array.of(0) }, last = { thresholds: Int32Array.of(0) }] =
          grids.length === 1 ? [undefined, grids[0]] : grids;
        let wanted = 0;
        for (const one of first.thresholds) {
          let most = -1;
          for (const other of last.thresholds) {
            const ranks = grids.length === 2 ? [one, other] : [other];
            const { right, comes } = counted(family, models, ranks);
            if (right <= most || comes.at(-1) === 0) continue;
            most = right;
            wanted += 1;
          }
        }
        expect(told).toHaveLength(wanted);
      }
  });

  it('has a cell that is as good as any cascade with any thresholds', () => {
    for (const family of families)
      for (const models of [
        [1, 2],
        [0, 1, 2],
      ]) {
        const grids = gridsOf(family, models, 2);
        const most = Math.max(
          ...allCascades(family, { quantile: QUANTILE }).map((one) => one.accuracy * SAMPLES),
        );
        const sequence = new Sequence({ family, models, grids, quantile: QUANTILE });
        const cells = collected((offered) => sequence.tellCells(Math.round(most), offered));
        expect(Math.max(...cells.map(({ right }) => right))).toBeLessThanOrEqual(Math.round(most));
        const axes = models.slice(0, -1).map((model) => levelsOf(family[model]!.certainty).values.length);
        for (let i = 1; i <= axes[0]!; i++)
          for (let k = 1; k <= (axes[1] ?? 1); k++) {
            const own = counted(family, models, [i, k]);
            if (own.comes.at(-1) === 0) continue;
            const isAsGood = (cell: Told) =>
              cell.right >= own.right &&
              cell.workNs <= own.workNs * (1 + 1e-9) &&
              cell.floorNs <= own.floorNs;
            expect(cells.some(isAsGood), `${models} ${i} ${k}`).toBe(true);
          }
      }
  });
});

describe('The space of few cascades', () => {
  it('has one as good as any, for devices that hold all models and for those that do not', () => {
    for (const models of families) {
      const family = models.map((model) => ({
        ...model,
        correct: model.correct.slice(0, 7),
        certainty: model.certainty.slice(0, 7),
      }));
      const asked = { models: family, thresholds: 2, quantile: QUANTILE };
      const space = cascadeSpace(asked);
      expect(space.scope).toEqual({ mostModels: 3, orders: 'any', thresholds: 'all' });
      const apart = cascadeSpace({ ...asked, memoryBytes: 1 });
      for (const one of allCascades(family, { quantile: QUANTILE })) {
        const isAsGood = (best: (typeof space.cascades)[number]) =>
          best.accuracy >= one.accuracy - 1e-9 &&
          best.workNs <= one.workNs * (1 + 1e-9) &&
          best.floorNs <= one.floorNs;
        expect(space.cascades.some(isAsGood)).toBe(true);
        const hasNoMore = (best: (typeof space.cascades)[number]) =>
          isAsGood(best) &&
          best.models.every(
            (model, step) => best.visits[step]! <= (one.visits[one.models.indexOf(model)] ?? 0) + 1e-9,
          );
        expect(apart.cascades.some(hasNoMore)).toBe(true);
        expect(apart.limitsByModel!.some(hasNoMore)).toBe(true);
      }
      expect(cascadeSpace(asked)).toBe(space);
    }
  });
});

describe('The longest cascades', () => {
  it('are as long as all sequences have at most 100 million samples together', () => {
    const longestWith = (count: number, samples: number) =>
      longestOf(
        Array.from({ length: count }, () => ({ ...families[0]![0]!, correct: new Uint8Array(samples) })),
      );
    expect(longestWith(10, 1e6)).toBe(2);
    expect(longestWith(11, 1e6)).toBe(1);
    expect(longestWith(10, 1.2e5)).toBe(3);
    expect(longestWith(2, 10)).toBe(2);
    expect(longestWith(6, 10)).toBe(4);
  });

  it('have one model where cascades are not searched', () => {
    const models = families[0]!;
    const space = singleModels({ models, thresholds: 2, quantile: QUANTILE });
    expect(space.scope).toEqual({ mostModels: 1, orders: 'any', thresholds: 'all' });
    expect(space.cascades.every((one) => one.models.length === 1)).toBe(true);
    expect(space.limits).toEqual(space.cascades);
  });
});

describeInWholeRun('The MILP of few placements', () => {
  it('has the best of all placements, and the fewest devices for an accuracy', async () => {
    const solve = placementSolver(await loadHighs());
    const seen = { infeasible: 0, solved: 0 };
    for (const [seed, factor] of [1, 3, 6, 500, 2, 4, 8, 12].entries()) {
      const drawn = randomProblem(seed);
      const models = randomFamily(streamOf(seed, 'few'), 3, 20);
      const rps = (1e9 * factor) / leastWorkNs(models[2]!);
      const problem = {
        ...drawn,
        models,
        devices: 3,
        latencyNs: 1e12,
        memoryBytes: Math.max(...models.map(({ memoryBytes }) => memoryBytes)) * (seed < 4 ? 1 : 1.5),
        ranges: [0.5, 1].map((part) => ({ fromRps: (part - 0.5) * rps, toRps: part * rps, share: 0.5 })),
      };
      const { cascades } = cascadeSpace(problem);
      const on = (devices: number) => {
        const searched = loadedCascades({ ...problem, devices }, cascades);
        const placements = placementsOf(models, { ...problem, devices })!;
        const bounds = placements.map((one) =>
          boundOf(searched.problem, rangeBounds(searched, busyByCascade(searched, one))),
        );
        return { searched, best: Math.max(...bounds) };
      };
      const { searched, best } = on(3);
      const solved = solve(searched, { kind: 'accuracy' });
      if (best < 0) {
        expect(solved).toBe('infeasible');
        seen.infeasible += 1;
        continue;
      }
      expect(solved).toMatchObject({ bound: expect.closeTo(best, 9) });
      if (typeof solved !== 'object' || solved.placement === undefined) throw new Error(`seed ${seed}`);
      const { placement } = solved;
      expect(placement.length).toBe(3);
      const kept = boundOf(searched.problem, rangeBounds(searched, busyByCascade(searched, placement)));
      expect(kept, `seed ${seed}`).toBeCloseTo(best, 9);
      const accuracy = best * 0.95;
      const least = [1, 2, 3].find((devices) => on(devices).best >= accuracy);
      expect(solve(searched, { kind: 'devices', accuracy })).toMatchObject({ bound: least });
      seen.solved += 1;
    }
    expect(Math.min(seen.infeasible, seen.solved), JSON.stringify(seen)).toBeGreaterThan(0);
  });
});
