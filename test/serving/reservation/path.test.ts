import { describe, expect, it } from 'vitest';
import { NONE } from '../../../src/collections/index.js';
import { Journeys, Leg, Path } from '../../../src/serving/reservation/path.js';

/** A path of `stages` stages. Its numbers tell the stage and the field. */
function pathOf(stages: number, base = 0): Path {
  const path = new Path(stages);
  path.stages = stages;
  for (let k = 0; k < stages; k++) {
    path.device[k] = base + k;
    path.sendAt[k] = base + 100 + k;
    path.startAt[k] = base + 200 + k;
    path.endAt[k] = base + 300 + k;
  }
  return path;
}

const stageOf = (journeys: Journeys, batch: number, stage: number) => [
  journeys.device(batch, stage),
  journeys.sendAt(batch, stage),
  journeys.startAt(batch, stage),
  journeys.endAt(batch, stage),
];

describe('Path', () => {
  it('finishes when its last stage ends', () => {
    const path = pathOf(3);
    expect(path.finish).toBe(302);
    path.stages = 2;
    expect(path.finish).toBe(301);
  });
});

describe('Journeys', () => {
  it('step() gives every batch and stage a number of its own, which batchOf() and stageOf() take apart', () => {
    for (const stages of [1, 2, 3, 4, 5, 8]) {
      const journeys = new Journeys(stages);
      const seen = new Set<number>();
      for (let batch = 0; batch < 5; batch++)
        for (let stage = 0; stage < stages; stage++) {
          const step = journeys.step(batch, stage);
          seen.add(step);
          expect([journeys.batchOf(step), journeys.stageOf(step)]).toEqual([batch, stage]);
        }
      expect(seen.size).toBe(5 * stages);
    }
  });

  it('begin() takes over a path, at its first stage and before its execution', () => {
    const journeys = new Journeys(3);
    journeys.begin(2, 7, pathOf(3));
    expect([journeys.entry[2], journeys.stage[2], journeys.leg[2]]).toEqual([7, 0, Leg.toExecute]);
    expect([0, 1, 2].map((stage) => stageOf(journeys, 2, stage))).toEqual([
      [0, 100, 200, 300],
      [1, 101, 201, 301],
      [2, 102, 202, 302],
    ]);
    journeys.stage[2] = 2;
    journeys.leg[2] = Leg.sending;
    journeys.begin(2, 8, pathOf(2, 10));
    expect([journeys.entry[2], journeys.stage[2], journeys.leg[2]]).toEqual([8, 0, Leg.toExecute]);
    expect(journeys.device(2, 1)).toBe(11);
  });

  it('follow() takes over a path from a stage on, and move() sets the times of a stage', () => {
    const journeys = new Journeys(3);
    journeys.begin(1, 0, pathOf(3));
    journeys.follow(1, pathOf(3, 50), 2);
    expect([0, 1, 2].map((stage) => stageOf(journeys, 1, stage))).toEqual([
      [0, 100, 200, 300],
      [1, 101, 201, 301],
      [52, 152, 252, 352],
    ]);
    journeys.move(1, 1, 7, 8, 9);
    expect([0, 1, 2].map((stage) => stageOf(journeys, 1, stage))).toEqual([
      [0, 100, 200, 300],
      [1, 7, 8, 9],
      [52, 152, 252, 352],
    ]);
  });

  it('follow() changes no neighbouring batch', () => {
    const journeys = new Journeys(2);
    for (const batch of [0, 1, 2]) journeys.begin(batch, 0, pathOf(2, 10 * batch));
    journeys.follow(1, pathOf(2, 90), 0);
    expect([0, 1, 2].map((batch) => journeys.device(batch, 0))).toEqual([0, 90, 20]);
    expect([0, 1, 2].map((batch) => journeys.device(batch, 1))).toEqual([1, 91, 21]);
  });

  it('end() cuts the way off at a stage', () => {
    const journeys = new Journeys(3);
    journeys.begin(1, 0, pathOf(3));
    journeys.end(1, 1);
    expect([0, 1].map((stage) => journeys.device(1, stage))).toEqual([0, NONE]);
  });

  it('keeps everything when it grows for more batches', () => {
    const journeys = new Journeys(3);
    for (let batch = 0; batch < 300; batch++) {
      journeys.begin(batch, batch, pathOf(3, 1000 * batch));
      journeys.stage[batch] = batch % 3;
      journeys.leg[batch] = batch % 4;
    }
    for (let batch = 0; batch < 300; batch++) {
      const base = 1000 * batch;
      expect([journeys.entry[batch], journeys.stage[batch], journeys.leg[batch]]).toEqual([
        batch,
        batch % 3,
        batch % 4,
      ]);
      expect(stageOf(journeys, batch, 2)).toEqual([base + 2, base + 102, base + 202, base + 302]);
    }
  });
});
