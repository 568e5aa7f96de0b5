import { beforeAll, describe, expect, test } from 'vitest';
import { randomProblem, type Shape } from '../../../bench/refute/pooled/random-problem.js';
import { checkedOutcome, checkPlan } from '../../../src/checks/index.js';
import type {
  ClassUse,
  Placement,
  PlannedModel,
  PlannedPartition,
  PlannedPipeline,
} from '../../../src/formats/index.js';
import { type HighsEngine, loadHighs } from '../../../src/lp/index.js';
import { type PlanBody, type ProblemModel, planPooled } from '../../../src/milp/index.js';

const SHAPE: Shape = { classes: 2, blocks: 5, batches: 3, virtual: [1, 2], models: 2, mostGpus: 12 };

let highs: HighsEngine;
beforeAll(async () => {
  highs = await loadHighs();
});

function goodPlan(seed: number) {
  const problem = randomProblem(seed, SHAPE);
  const outcome = planPooled(problem, { highs });
  if (!('plan' in outcome)) throw new Error(outcome.status);
  return { problem, outcome, plan: outcome.plan };
}

type Draft = { -readonly [K in keyof PlanBody]: PlanBody[K] };

function first(plan: Draft): PlannedPartition {
  return plan.models[0]?.pipelines[0]?.partitions[0] as PlannedPartition;
}

function firstCut(plan: Draft): PlannedPartition {
  const pipelines = plan.models.flatMap((model) => model.pipelines);
  return pipelines.find(({ partitions }) => partitions.length > 1)?.partitions[0] as PlannedPartition;
}

/** Replaces the figure at a place by a multiple of it. A record goes in, so that the caller sees the change. */
function scaled<T extends object>(of: T, key: keyof T, factor: number): void {
  Object.assign(of, { [key]: (of[key] as number) * factor });
}

/** Changes to a plan, each with the place that the checker must name. */
const SPOILS: readonly [string, (plan: Draft) => void, RegExp][] = [
  [
    'a higher rate',
    (p) => scaled(p.models[0]?.pipelines[0] as PlannedPipeline, 'throughputRps', 1.01),
    /throughputRps/,
  ],
  ['a higher objective', (p) => scaled(p.objective, 'value', 1.001), /objective\/value/],
  ['a bound below the value', (p) => scaled(p.objective, 'bound', 0.5), /objective\/bound/],
  [
    'a cut moved',
    (p) => firstCut(p).blocks?.splice(1, 1, firstCut(p).blocks?.[1] === 2 ? 1 : 2),
    /partitions/,
  ],
  ['a latency made up', (p) => first(p).latencyUsByBatch.splice(0, 1, 1), /latencyUsByBatch/],
  ['another batch', (p) => Object.assign(first(p), { batch: 7 }), /batch/],
  ['a virtual size that is not there', (p) => Object.assign(first(p), { virtual: 5 }), /virtual/],
  [
    'one virtual GPU less',
    (p) => Object.assign(first(p), { virtualGpus: first(p).virtualGpus - 1 }),
    /gpus|placement/,
  ],
  ['a virtual GPU not placed', (p) => p.placement.pop(), /placement/],
  ['a GPU that is not there', (p) => Object.assign(p.placement[0] as Placement, { gpu: 99 }), /placement\/0/],
  ['two pools on one GPU', twoOnOne, /placement/],
  ['a class count', (p) => scaled(Object.values(p.classes)[0] as ClassUse, 'count', 2), /classes/],
  ['another SLO', (p) => scaled(p.models[0] as PlannedModel, 'sloMs', 2), /sloMs/],
  ['less to transfer', (p) => scaled(firstCut(p), 'transferBytes', 0.5), /transferBytes/],
];

function twoOnOne({ placement }: Draft): void {
  const seat = placement[0] as Placement;
  const { server, gpu } = placement.findLast((other) => other.class === seat.class) as Placement;
  Object.assign(seat, { server, gpu });
}

describe('checkPlan()', () => {
  test("accepts the planner's plans", () => {
    for (let seed = 1; seed <= 10; seed++) {
      const { plan, problem } = goodPlan(seed);
      expect(checkPlan(plan, problem)).toEqual([]);
    }
  });

  test.each(SPOILS)('reports %s', (_, spoil, where) => {
    for (const seed of [1, 2, 4]) {
      const { plan, problem } = goodPlan(seed);
      const cut = plan.models.some((m) => m.pipelines.some((l) => l.partitions.length > 1));
      if (!cut) continue;
      const draft = structuredClone(plan);
      spoil(draft);
      const told = checkPlan(draft, problem).map(({ path, message }) => `${path} ${message}`);
      expect(told.join('\n')).toMatch(where);
    }
  });

  test('reports a pipeline that is too slow for the SLO', () => {
    const { plan, problem } = goodPlan(2);
    const models = problem.models.map((model) => ({
      ...model,
      sloUs: model.sloUs / 2,
      sloMarginUs: model.sloMarginUs / 2,
    }));
    const draft = structuredClone(plan);
    for (const model of draft.models) {
      scaled(model, 'sloMs', 0.5);
      scaled(model, 'sloMarginMs', 0.5);
    }
    expect(
      checkPlan(draft, { ...problem, models })
        .map(({ message }) => message)
        .join(),
    ).toMatch(/the SLO leaves/);
  });
});

describe('checkPlan() counts the time that batches take to fill', () => {
  /**
   * The faults of a plan whose batches take part of the time to fill that its SLO leaves. The plan itself was made for
   * batches that fill at once.
   */
  function filling(seed: number, part: number) {
    const { plan, problem } = goodPlan(seed);
    const rooms = plan.models.flatMap(({ pipelines }, m) => {
      const { sloUs, sloMarginUs } = problem.models[m] as ProblemModel;
      return pipelines.flatMap(({ batch, latencyUs }) =>
        batch > 1 ? [(sloUs - sloMarginUs - latencyUs) / (batch - 1)] : [],
      );
    });
    const perRequestUs = part * Math.min(...rooms);
    const batchFormation = { factor: 1, estimatedRps: 1e6 / perRequestUs };
    const models = problem.models.map((model) => ({ ...model, batchFormation }));
    const draft = structuredClone(plan) as Draft;
    for (const model of draft.models) Object.assign(model, { batchFormationUsPerRequest: perRequestUs });
    return checkPlan(draft, { ...problem, models }).map(({ message }) => message);
  }

  test('up to the last microsecond that the SLO leaves', () => {
    for (const seed of [1, 2, 4, 5]) {
      expect(filling(seed, 0.999999)).toEqual([]);
      expect(filling(seed, 1.000001).join()).toMatch(/µs with batch formation; the SLO leaves/);
    }
  });
});

describe('checkedOutcome()', () => {
  test('throws at a plan that the checker refuses', () => {
    const { problem, outcome, plan } = goodPlan(1);
    expect(checkedOutcome(outcome, problem)).toBe(outcome);
    const spoilt = structuredClone(plan) as Draft;
    scaled(spoilt.objective, 'value', 1.001);
    expect(() => checkedOutcome({ ...outcome, plan: spoilt }, problem)).toThrow(
      /does not pass its check.*objective\/value/,
    );
  });

  test('throws at what was found besides by others', () => {
    const { problem, outcome } = goodPlan(1);
    const others = [{ path: '/hold/bound', message: 'is 89, which the value 90 beats' }];
    expect(() => checkedOutcome(outcome, problem, others)).toThrow(
      '/hold/bound is 89, which the value 90 beats',
    );
    const { solver } = outcome;
    const none = { status: 'no-plan-in-time', limit: 'time', solver } as const;
    expect(checkedOutcome(none, problem, others)).toBe(none);
  });
});
