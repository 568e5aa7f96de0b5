import { describe, expect, it } from 'vitest';
import { type Kept, SetArchive, undominated, WorkArchive, withoutWorse } from '../../src/gearplan/archive.js';
import type { Point } from '../../src/gearplan/sequence.js';
import { type Stream, streamOf } from '../../src/random/index.js';

const UNITS = [1, 3, 10];
const SETS = [[0], [1], [2], [0, 1], [1, 0], [0, 2], [1, 2], [0, 1, 2], [2, 0]];

/** randomPoint draws a point with few different figures, so that many are equal in some of them. */
function randomPoint(stream: Stream, levels = 4): Point {
  const models = SETS[stream.integer(SETS.length)]!;
  const comes = new Int32Array(4);
  comes[0] = levels;
  for (let step = 1; step < models.length; step++) comes[step] = 1 + stream.integer(comes[step - 1]!);
  return {
    models,
    ranks: Int32Array.of(stream.integer(5), stream.integer(5), 7),
    comes,
    right: stream.integer(levels + 3),
    workNs: models.reduce((sum, model, step) => sum + UNITS[model]! * comes[step]!, 0),
    floorNs: models.length,
  };
}

const pointsOf = (seed: number, count: number, levels?: number) => {
  const stream = streamOf(seed, 'points');
  return Array.from({ length: count }, () => randomPoint(stream, levels));
};

/** comesTo is how many samples come to each model of a point. */
const comesTo = ({ models, comes }: Pick<Kept, 'models'> & { readonly comes: ArrayLike<number> }) =>
  UNITS.map((_, model) => (models.includes(model) ? comes[models.indexOf(model)]! : 0));

type Figures = Pick<Kept, 'right' | 'workNs' | 'floorNs'>;
const isAsGood = (a: Figures, b: Figures) =>
  a.right >= b.right && a.workNs <= b.workNs && a.floorNs <= b.floorNs;
const isAsGoodByModel = (a: Kept | Point, b: Kept | Point) =>
  isAsGood(a, b) && comesTo(a).every((come, model) => come <= comesTo(b)[model]!);

/** expectBest checks that some points are as good as all, and none of them is as good as another. */
function expectBest<T extends Figures>(best: readonly T[], all: readonly T[], as: (a: T, b: T) => boolean) {
  expect(all.filter((one) => !best.some((kept) => as(kept, one)))).toEqual([]);
  expect(best.filter((one) => best.filter((kept) => as(kept, one)).length > 1)).toEqual([]);
  const rights = best.map(({ right }) => right);
  expect(rights).toEqual(rights.toSorted((a, b) => b - a));
}

const keyOf = ({ models, ranks, comes, right, workNs }: Kept) =>
  [models, ranks, comes, right, workNs].join('/');

/** expectAmong checks that points are some of others in all that they say. */
function expectAmong(some: readonly Kept[], all: readonly Kept[]) {
  const keys = new Set(all.map(keyOf));
  expect(some.filter((one) => !keys.has(keyOf(one)))).toEqual([]);
}

const kept = ({ models, ranks, comes, ...figures }: Point): Kept => ({
  ...figures,
  models,
  ranks: [...ranks].slice(0, models.length - 1),
  comes: [...comes].slice(0, models.length),
});

describe('An archive by work', () => {
  it('keeps the points that no other is as good as, in whichever order they come', () => {
    for (let seed = 1; seed <= 12; seed++) {
      const points = pointsOf(seed, 30, 6);
      const archive = new WorkArchive();
      for (const [i, point] of points.entries()) {
        const alike = points.slice(0, i).filter(({ floorNs }) => floorNs === point.floorNs);
        expect(archive.offer(point)).toBe(!alike.some((one) => isAsGood(one, point)));
      }
      const all = points.map(kept);
      expectBest(archive.kept(), all, isAsGood);
      expectAmong(archive.kept(), all);
      expectBest(undominated(all), all, isAsGood);
    }
  });
});

describe('An archive by models', () => {
  it('keeps the points that no other is as good as at every model, where it has room', () => {
    for (let seed = 1; seed <= 12; seed++) {
      const points = pointsOf(seed, 30).map(kept);
      expectBest(withoutWorse(points), points, isAsGoodByModel);
      const archive = new SetArchive('cascades', 100);
      for (const point of pointsOf(seed, 30)) expect(archive.offer(point)).toBe(true);
      expectBest(archive.kept(), points, isAsGoodByModel);
    }
  });

  it('makes alike points one where it has no room: one of cascades, and one as good as all of cells', () => {
    for (let seed = 1; seed <= 6; seed++) {
      const points = pointsOf(seed, 50, 40).map((point) => ({ ...point, right: point.right + point.workNs }));
      const [cells, cascades] = [new SetArchive('cells', 2), new SetArchive('cascades', 2)];
      for (const point of points) {
        cells.offer(point);
        cascades.offer(point);
      }
      const best = cells.kept();
      expect(points.filter((one) => !best.some((cell) => isAsGoodByModel(cell, one)))).toEqual([]);
      const all = points.map(kept);
      expectAmong(cascades.kept(), all);
      const most = Math.max(...all.map(({ right }) => right));
      expect(cascades.kept()[0]!.right).toBe(most);
      for (const archive of [cells, cascades]) {
        const sets = archive.kept().map(({ models }) => models.toSorted().join());
        for (const set of sets) expect(sets.filter((other) => other === set).length).toBeLessThanOrEqual(2);
      }
    }
  });

  it('compares thousands of points before they are asked for, and loses none of the best', () => {
    const points = pointsOf(1, 6000, 12).map((point) => ({ ...point, models: [0], workNs: 12 }));
    const archive = new SetArchive('cascades', 10);
    for (const point of points) archive.offer(point);
    expect(archive.kept().map(({ right }) => right)).toContain(Math.max(...points.map(({ right }) => right)));
  });
});
