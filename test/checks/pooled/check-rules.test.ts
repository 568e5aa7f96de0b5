import { beforeAll, describe, expect, test } from 'vitest';
import { randomProblem, type Shape } from '../../../bench/refute/pooled/random-problem.js';
import { checkPlan } from '../../../src/checks/index.js';
import type {
  DeviceClass,
  PlannedModel,
  PlannedPartition,
  PlannedPipeline,
  PooledSpec,
} from '../../../src/formats/index.js';
import { type HighsEngine, loadHighs } from '../../../src/lp/index.js';
import { type PlanBody, type PooledProblem, type ProblemModel, planPooled } from '../../../src/milp/index.js';

const SHAPE: Shape = { classes: 2, blocks: 3, batches: 2, virtual: [1, 2], models: 1, mostGpus: 6 };

let highs: HighsEngine;
beforeAll(async () => {
  highs = await loadHighs();
});

type Draft = { -readonly [K in keyof PlanBody]: PlanBody[K] };

interface Planned {
  readonly problem: PooledProblem;
  readonly plan: Draft;
}

function planned(
  planner: PooledSpec['planner'],
  change: (problem: PooledProblem) => PooledProblem = (problem) => problem,
  seed = 3,
): Planned {
  const problem = change(randomProblem(seed, SHAPE, { maxPartitions: 2, ...planner }));
  const outcome = planPooled(problem, { highs, work: 50 });
  if (!('plan' in outcome)) throw new Error(outcome.status);
  expect(checkPlan(outcome.plan, problem)).toEqual([]);
  return { problem, plan: structuredClone(outcome.plan) as Draft };
}

function withModel(problem: PooledProblem, change: Partial<ProblemModel>): PooledProblem {
  return { ...problem, models: problem.models.map((model) => ({ ...model, ...change })) };
}

function withDevices(problem: PooledProblem, change: Partial<DeviceClass>): PooledProblem {
  const devices = Object.entries(problem.cluster.devices).map(([name, one]) => [name, { ...one, ...change }]);
  return { ...problem, cluster: { ...problem.cluster, devices: Object.fromEntries(devices) } };
}

function told(plan: PlanBody, problem: PooledProblem): string {
  return checkPlan(plan, problem)
    .map(({ path, message }) => `${path} ${message}`)
    .join('\n');
}

function firstModel({ models }: Draft): PlannedModel {
  return models[0] as PlannedModel;
}

function firstPipeline(plan: Draft): PlannedPipeline {
  return firstModel(plan).pipelines[0] as PlannedPipeline;
}

function firstPartition(plan: Draft): PlannedPartition {
  return firstPipeline(plan).partitions[0] as PlannedPartition;
}

describe('checkPlan() of prices', () => {
  for (const [objective, key] of [
    ['cost', 'hourlyCost'],
    ['power', 'powerWatts'],
  ] as const)
    test(`sums the ${objective} of the GPUs in use`, () => {
      const { plan, problem } = planned({ objective });
      const sum = Object.entries(plan.classes).reduce(
        (total, [name, { used }]) => total + used * (problem.cluster.devices[name]?.[key] as number),
        0,
      );
      expect(plan.objective.value).toBeCloseTo(sum, 9);
      Object.assign(plan, { objective: { ...plan.objective, value: sum * 1.01, bound: sum * 1.01 } });
      expect(told(plan, problem)).toMatch(/^\/objective\/value is .*, recomputed/);
    });

  test('requires the rate, to within a part in 10⁹', () => {
    const { plan, problem } = planned({ objective: 'cost' });
    const served = firstModel(plan).throughputRps;
    const asked = (rps: number) => {
      Object.assign(firstModel(plan), { rps });
      return told(plan, withModel(problem, { rps }));
    };
    expect(asked(served * (1 + 1e-10))).toBe('');
    expect(asked(served * (1 + 1e-8))).toMatch(
      /^\/models\/0\/throughputRps serves .* requests\/s of the .* asked for/,
    );
    expect(told(plan, withModel(problem, { rps: served }))).toMatch(/^\/models\/0\/rps is .*; the spec has/);
  });

  test('refuses a bound that the plan beats, a gap that does not follow from the bound, and a status that contradicts the gap', () => {
    const { plan, problem } = planned({ objective: 'cost' });
    const { value } = plan.objective;
    const withObjective = (objective: object, status = plan.status) =>
      told({ ...plan, status, objective: { ...plan.objective, ...objective } }, problem);
    expect(withObjective({ bound: value / 2, gap: 1 }, 'feasible')).toBe('');
    expect(withObjective({ bound: value / 2, gap: 1 }, 'optimal')).toBe(
      '/status is optimal, and the gap is 1',
    );
    // Either may be the one that was edited.
    expect(withObjective({ bound: value / 2, gap: 0.9 }, 'feasible')).toMatch(
      /^\/objective\/bound is .*; value and gap give .*\/objective\/gap is 0.9; value and bound give 1$/s,
    );
    expect(withObjective({ bound: value * 1.001 })).toMatch(
      /\/objective\/bound is .*which the value .* beats/,
    );
    expect(withObjective({ bound: Number.NaN })).toMatch(
      /\/objective\/bound is NaN, which the value .* beats/,
    );
    expect(withObjective({ bound: 0, gap: 7 }, 'feasible')).toMatch(/\/objective\/gap is 7; without a ratio/);
    expect(withObjective({ bound: 0, gap: Number.MAX_VALUE }, 'feasible')).toBe('');
    expect(withObjective({ kind: 'power' })).toMatch(/\/objective\/kind is power; the spec has cost/);
  });
});

describe('checkPlan() of rules', () => {
  test('requires minimum shares, and lets a pipeline serve less than it could because of them', () => {
    const { plan, problem } = planned({}, (random) => withModel(random, { minShare: { C1: 0.3 } }));
    const only = (name: string) =>
      firstModel(plan)
        .pipelines.filter(({ partitions }) => partitions.some(({ device }) => device === name))
        .reduce((sum, { throughputRps }) => sum + throughputRps, 0);
    const share = only('C1') / firstModel(plan).throughputRps;
    expect(told(plan, withModel(problem, { minShare: { C1: share * (1 - 1e-10) } }))).toBe('');
    if (share < 1)
      expect(told(plan, withModel(problem, { minShare: { C1: share * (1 + 1e-8) } }))).toMatch(
        /^\/models\/0 C1 takes part in .* less than/,
      );
    // A pipeline that serves more than its slowest partition is a fault under every rule.
    Object.assign(firstPipeline(plan), { throughputRps: firstPipeline(plan).throughputRps * 1.1 });
    expect(told(plan, problem)).toMatch(/\/models\/0\/pipelines\/0\/throughputRps is/);
  });

  test('lets no pipeline serve less than it could where no share is asked for', () => {
    const { plan, problem } = planned({});
    Object.assign(firstPipeline(plan), { throughputRps: firstPipeline(plan).throughputRps * 0.9 });
    expect(told(plan, problem)).toMatch(/\/models\/0\/pipelines\/0\/throughputRps is/);
  });

  test('requires one batch size in a pipeline, unless batches are free', () => {
    const { plan, problem } = planned({ unifiedBatch: false }, undefined, 8);
    const mixed = firstModel(plan).pipelines.some(({ batch, partitions }) =>
      partitions.some((one) => one.batch !== batch),
    );
    const unified = { ...problem, planner: { ...problem.planner, unifiedBatch: true } };
    if (mixed) expect(told(plan, unified)).toMatch(/\/pipelines\/\d+ has batches .*, not one/);
    else expect(told(plan, unified)).toBe('');
    Object.assign(firstPipeline(plan), { batch: 7 });
    expect(told(plan, problem)).toMatch(/\/models\/0\/pipelines\/0\/batch is 7/);
  });

  test.each([1, 2])('counts weights against the memory of a virtual GPU of size 1/%i', (size) => {
    const { plan, problem } = planned({}, (whole) => withDevices(whole, { virtual: [size] }));
    const weighty = problem.models.map((model) => ({
      ...model,
      profile: {
        ...model.profile,
        blocks: model.profile.blocks.map((block) => ({ ...block, weightBytes: 2 ** 30 })),
      },
    }));
    // The most memory that a partition needs of its GPU, in GiB: its share times the virtual size.
    const need = Math.max(
      ...firstModel(plan).pipelines.flatMap(({ partitions }) =>
        partitions.map(({ blocks, virtual }) => ((blocks?.[1] ?? 0) - (blocks?.[0] ?? 0)) * virtual),
      ),
    );
    const memory = (memoryGiB: number) => {
      const changed = withDevices({ ...problem, models: weighty }, { memoryGiB });
      return told({ ...plan, cluster: changed.cluster }, changed);
    };
    expect(memory(need * (1 + 1e-12))).toBe('');
    expect(memory(need * (1 - 1e-6))).toMatch(/weighs .* bytes; its virtual GPU has/);
  });

  test('accepts only classes that the model may use, at most maxPartitions partitions, and cuts in order', () => {
    const { plan, problem } = planned({});
    const { device } = firstPartition(plan);
    const classes = problem.models[0]?.classes.filter((name) => name !== device) ?? [];
    expect(told(plan, withModel(problem, { classes }))).toMatch(
      new RegExp(`/models/0/pipelines/0/partitions/0/device is on ${device}, which m0 may not use`),
    );
    const cut = firstModel(plan).pipelines.findIndex(({ partitions }) => partitions.length === 2);
    if (cut >= 0) {
      const one = { ...problem, planner: { ...problem.planner, maxPartitions: 1 } };
      expect(told(plan, one)).toMatch(`/models/0/pipelines/${cut} has 2 partitions, more than 1`);
    }
    Object.assign(firstPartition(plan), { blocks: [1, 3] });
    expect(told(plan, problem)).toMatch(
      /\/pipelines\/0\/partitions\/0 spans \[1,3\]; it must begin at 0 and not be empty/,
    );
    Object.assign(firstPartition(plan), { blocks: [0, 0] });
    expect(told(plan, problem)).toMatch(/partitions\/0 spans \[0,0\]/);
  });

  test('reports a batch formation time that is not that of the spec', () => {
    const { plan, problem } = planned({ batchFormation: { factor: 1, estimatedRps: 5000 } });
    Object.assign(firstModel(plan), { batchFormationUsPerRequest: 100 });
    expect(told(plan, problem)).toMatch(/\/models\/0\/batchFormationUsPerRequest is 100, recomputed 200/);
  });

  test('leaves a model of weight 0 out of the least throughput/weight', () => {
    const random = randomProblem(3, { ...SHAPE, models: 2 }, { maxPartitions: 2 });
    const models = random.models.map((model, m) => ({ ...model, weight: m }));
    const problem = { ...random, models };
    const outcome = planPooled(problem, { highs, work: 50 });
    if (!('plan' in outcome)) throw new Error(outcome.status);
    expect(told(outcome.plan, problem)).toBe('');
  });

  test('counts transfers as free where no link is known', () => {
    const { networkGbps: _, ...cluster } = randomProblem(3, SHAPE).cluster;
    const { plan, problem } = planned({}, (random) => ({ ...random, cluster }));
    expect(told(plan, problem)).toBe('');
  });
});
