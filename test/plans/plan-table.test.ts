import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import type { GearPlan, PipelinePlan, PooledPlan } from '../../src/formats/index.js';
import {
  applicationsOf,
  PLANS,
  planOf,
  planTopologyOf,
  STAGE_PLAN_KINDS,
  type StagePlan,
} from '../../src/plans/index.js';
import { uniformAt } from '../../src/random/index.js';
import { gearPlan } from '../gear-plans.js';
import { leavesOf } from '../leaves.js';
import { edge, pipelineOf } from '../pipeline-plans.js';

const EXAMPLES: Record<string, string> = {
  pooled: '../../examples/pooled/expected-plan.json',
  pipeline: '../../examples/pipeline/expected-plan.json',
};

const GEARS: GearPlan = gearPlan({
  latencyUs: [
    [2_000, 3_000],
    [5_000, 6_000, 7_000],
  ],
  held: [[0], [0, 1], [1]],
  gears: [
    { toRps: 40, steps: [{ model: 0, threshold: 0.4 }, { model: 1 }] },
    { toRps: 100, steps: [{ model: 0 }] },
  ],
});

const read = async (name: string) =>
  JSON.parse(await readFile(new URL(EXAMPLES[name] as string, import.meta.url), 'utf8')) as StagePlan;

let pooled: PooledPlan;
let pipeline: PipelinePlan;
let all: readonly StagePlan[];
beforeAll(async () => {
  pooled = (await read('pooled')) as PooledPlan;
  pipeline = (await read('pipeline')) as PipelinePlan;
  all = [pooled, pipeline, GEARS];
});

describe('PLANS', () => {
  it('has an entry for each kind of plan that files have, and planOf() gives that of a plan', () => {
    expect([...STAGE_PLAN_KINDS].sort()).toEqual(['gear-plan', 'pipeline-plan', 'pooled-plan']);
    for (const plan of all) expect(planOf(plan)).toBe(PLANS[plan.kind]);
  });

  it('lists the applications that the topology has as models, with their SLOs and rates', () => {
    for (const plan of all) {
      const { models } = planTopologyOf(plan);
      expect(
        applicationsOf(plan).map(({ name, sloMs, throughputRps }) => [
          name,
          Math.round(1e6 * sloMs),
          throughputRps,
        ]),
      ).toEqual(models.map(({ name, sloNs, throughputRps }) => [name, sloNs, throughputRps]));
    }
    expect(applicationsOf({ ...pipeline, rps: 7 })[0]?.heldRps).toBe(7);
    const { rps: _, ...without } = pipeline;
    expect(applicationsOf(without)[0]).not.toHaveProperty('heldRps');
  });

  it('lists the parts in the order of the pools of the topology, which are made otherwise', () => {
    for (const plan of all) {
      const { models, pools } = planTopologyOf(plan);
      const parts = planOf(plan).parts(plan);
      expect(
        parts.map(({ application, name, pipeline: route, partition, stage, device, virtual, batch }) => ({
          application,
          name,
          route,
          partition,
          stage,
          device,
          virtual,
          batch,
        })),
      ).toEqual(
        pools.map(({ model, pipeline: route, partition, stage, deviceClass, virtual, batch }) => ({
          application: model,
          name: models[model]?.name,
          route,
          partition,
          stage,
          device: deviceClass,
          virtual,
          batch,
        })),
      );
      parts.forEach(({ latencyUsByBatch }, i) => {
        expect(latencyUsByBatch).toHaveLength(pools[i]!.batch);
        latencyUsByBatch.forEach((us, b) => {
          if (us !== null) expect(pools[i]!.latencyNs[b]).toBe(Math.max(1, Math.round(1e3 * us)));
        });
      });
    }
  });

  it('gives each part of a pooled plan its range of blocks or layers, which together are the model', () => {
    const byRoute = new Map<string, (readonly [number, number])[]>();
    for (const { name, pipeline: route, blocks } of planOf(pooled).parts(pooled))
      byRoute.set(`${name}/${route}`, [...(byRoute.get(`${name}/${route}`) ?? []), blocks!]);
    expect(byRoute.size).toBe(pooled.models.flatMap(({ pipelines }) => pipelines).length);
    for (const [route, ranges] of byRoute) {
      const model = pooled.models.find(({ name }) => route.startsWith(`${name}/`))!;
      expect([0, ...ranges.map(([, end]) => end)]).toEqual([...ranges.map(([from]) => from), model.blocks]);
    }
    const layered = structuredClone(pooled);
    const [part] = layered.models[0]!.pipelines[0]!.partitions;
    delete part!.blocks;
    part!.layers = [0, 9];
    const [told] = planOf(layered).parts(layered);
    expect(told?.layers).toEqual([0, 9]);
    expect(told).not.toHaveProperty('blocks');
    for (const plan of [pipeline, GEARS])
      for (const one of planOf(plan).parts(plan)) expect(one).not.toHaveProperty('blocks');
  });

  it('lists one profile for each that the plan names among its inputs, and leads from each part to its own', () => {
    for (const plan of [pooled, pipeline]) {
      const named = (plan.inputs ?? []).filter(({ role }) => role === 'profile');
      const profiled = planOf(plan).profiled(plan);
      expect(profiled).toHaveLength(named.length);
      for (const { model, profile } of planOf(plan).parts(plan))
        expect(typeof profile === 'number' ? profiled[profile] : profile).toBe(model);
    }
    expect(STAGE_PLAN_KINDS.map((kind) => PLANS[kind].profiledWhat)).toEqual(['models', 'stages', 'stages']);
  });

  it('reports the quantile of stages that are not planned with medians', () => {
    const late = structuredClone(pipeline);
    late.stages[1]!.latencyQuantile = 'p95';
    expect(
      planOf(late)
        .parts(late)
        .map(({ latencyQuantile }) => latencyQuantile),
    ).toEqual(late.stages.map((_, i) => (i === 1 ? 'p95' : undefined)));
  });

  it('changes the SLOs that requests are held to, and nothing else', () => {
    for (const plan of all) {
      const changed = planOf(plan).withSlos(plan, (sloMs) => sloMs / 2);
      const before = new Map(leavesOf(plan).map(({ path, value }) => [path, value]));
      const differing = leavesOf(changed).filter(({ path, value }) => before.get(path) !== value);
      expect(differing.length).toBe(applicationsOf(plan).length);
      for (const { path, value } of differing) {
        expect(path).toMatch(/^(\/models\/\d+)?\/sloMs$/);
        expect(value).toBe((before.get(path) as number) / 2);
      }
      const [was, is] = [plan, changed].map((one) => planTopologyOf(one).models.map(({ sloNs }) => sloNs));
      expect(is).toEqual(was!.map((ns) => ns / 2));
    }
  });

  it('finds no contradictions in examples, and the same for whoever asks', () => {
    for (const plan of all) expect(planOf(plan).contradictions(plan)).toEqual([]);
    expect(all.filter((plan) => planOf(plan).isReadDespiteFaults)).toEqual([pooled]);
  });
});

describe('world()', () => {
  const draw = (purpose: string) => uniformAt(7, purpose);
  const chosen = pipelineOf(
    [{ name: 'a', next: [edge('b', 0.25), edge('c', 0.75)] }, { name: 'b' }, { name: 'c' }],
    [['a'], ['b'], ['c']],
    { exclusive: [['b', 'c']], cluster: { devices: { cpu: {} }, activationDelayMs: 1.5 } },
  );

  it('draws the verdicts of a pipeline by its probabilities, and says how long a device takes to come up', () => {
    const { fates, activationDelayNs, pipeline: uncertain, cascade } = planOf(chosen).world(chosen);
    expect(activationDelayNs).toBe(1_500_000);
    expect(uncertain).toBe(chosen);
    expect(cascade).toBeUndefined();
    const verdictOf = fates!(draw);
    const verdicts = Array.from({ length: 4_000 }, (_, order) => verdictOf(order, 0, 0));
    expect(new Set(verdicts)).toEqual(new Set([1, 2]));
    expect(verdicts.filter((verdict) => verdict === 1).length / 4_000).toBeCloseTo(0.25, 1);
    expect(verdictOf(3, 0, 1)).toBe(0);
  });

  it('knows of no verdict where none decides, and no delay unless it is given', () => {
    const chain = pipelineOf([{ name: 'a', next: [edge('b')] }, { name: 'b' }], [['a'], ['b']]);
    const world = planOf(chain).world(chain);
    expect(world.pipeline).toBeUndefined();
    expect(world.activationDelayNs).toBe(0);
  });

  it('hands on the cascades of a gear plan, and has nothing of a pooled plan', () => {
    expect(planOf(GEARS).world(GEARS)).toEqual({ cascade: GEARS });
    expect(planOf(pooled).world(pooled)).toEqual({});
  });
});

describe('tuned()', () => {
  it('is there for pipelines only, whose replicas a tuner changes', () => {
    expect(STAGE_PLAN_KINDS.filter((kind) => PLANS[kind].tuned !== undefined)).toEqual(['pipeline-plan']);
  });
});

describe('load()', () => {
  it('is what confirmed a promise, or what a pipeline was planned for', () => {
    const of = (plan: StagePlan) => planOf(plan).load(plan);
    const { load: _, ...without } = pipeline;
    expect([of(without), of(GEARS)]).toEqual([undefined, undefined]);
    const drawn = { arrivals: 'poisson', rps: 3 } as const;
    expect(of({ ...without, load: drawn })).toEqual({ kind: 'drawn', load: drawn });
    const load = { trace: 'a.csv', from: '5s' };
    expect(of({ ...without, load })).toEqual({ kind: 'trace', load });
    const { hold: __, ...unheld } = pooled;
    expect(of(unheld)).toBeUndefined();
    const runs = { seeds: [1], arrivals: 'poisson' as const, durationS: 3, confidence: 0.95 };
    const hold = { value: 1, bound: 1, trials: 1, runs, models: [] };
    expect(of({ ...unheld, hold })).toEqual({ kind: 'held', runs });
  });
});

describe('served()', () => {
  const [x, y, z] = ['x', 'y', 'z'].map((name) => ({ name, dtype: 'float32' as const, shape: [1, 4] }));

  it('names what clients send and get: of a pipeline as a whole, of each model of a pooled plan', () => {
    const plan = pipelineOf([{ name: 'a', next: [edge('b')] }, { name: 'b' }], [['a'], ['b']]);
    Object.assign(plan.stages[0]!, { inputs: [{ ...x!, from: ['request.x'] }], outputs: [y] });
    Object.assign(plan.stages[1]!, { inputs: [{ ...y!, from: ['a.y'] }], outputs: [z] });
    expect(planOf(plan).served(plan)).toEqual([{ name: 'app', inputs: [x], outputs: [z] }]);
    const named = {
      ...pooled,
      models: pooled.models.map((one) => ({ ...one, inputs: [x!], outputs: [y!] })),
    };
    expect(planOf(named).served(named)).toEqual(
      pooled.models.map(({ name }) => ({ name, inputs: [x], outputs: [y] })),
    );
    const [first] = pooled.models;
    const { inputs: _, outputs: __, ...bare } = first!;
    const unknown = { ...pooled, models: [bare] };
    expect(planOf(unknown).served(unknown)).toEqual([{ name: bare.name }]);
  });

  it('is of a cascade what each of its models takes and gives', () => {
    const plan = structuredClone(GEARS);
    for (const stage of plan.stages)
      Object.assign(stage, { inputs: [{ ...x!, from: ['request.x'] }], outputs: [y] });
    expect(planOf(plan).served(plan)).toEqual([{ name: 'cascade', inputs: [x], outputs: [y] }]);
  });
});

describe('diff()', () => {
  it('says that a plan is the same as itself, and which further field another has', () => {
    for (const plan of all) {
      const { told, fields } = planOf(plan).diff(plan, plan);
      expect([told.same, told.gpusMoved, fields]).toEqual([true, 0, []]);
      const other = { ...plan, cluster: { ...plan.cluster, networkGbps: 99 } } as StagePlan;
      expect(
        planOf(plan)
          .diff(plan, other)
          .fields.map(({ path }) => path),
      ).toEqual(['/cluster/networkGbps']);
    }
  });
});

describe('unlikeSent()', () => {
  const noted = (plan: StagePlan, verdicts: boolean, isKnown: boolean) => {
    const samples = { areGiven: true, recorded: 9, ...(isKnown ? { sent: 9 } : {}) };
    return planOf(plan).unlikeSent(plan, { verdicts, samples }).length;
  };

  it('reports edges that are drawn where a condition decides, and samples that are not known', () => {
    const when = { output: 'y', index: 0, atLeast: 0.5 };
    const drawn = pipelineOf([{ name: 'a', next: [{ ...edge('b', 0.5), when }] }, { name: 'b' }], []);
    expect([noted(drawn, false, false), noted(drawn, true, false)]).toEqual([1, 0]);
    expect([noted(GEARS, false, false), noted(GEARS, false, true)]).toEqual([1, 0]);
    expect(noted(pooled, false, false)).toBe(0);
  });

  it('says that the accuracy of the samples that were sent is compared with the records of others', () => {
    const said = (sent: number, areGiven: boolean) =>
      planOf(GEARS)
        .unlikeSent(GEARS, { verdicts: false, samples: { sent, recorded: 1000, areGiven } })
        .join();
    expect(said(200, false)).toContain(
      'those by the records of 1000 samples that the plan was made from, and the live ones those of the 200 labelled samples that the load sent: these are other samples',
    );
    expect(said(200, true)).toContain('those by the records of 1000 samples, and the live ones');
    expect(said(1000, false)).toContain('only where these are the same samples');
    expect(said(1000, true)).toBe('');
  });
});

describe('title() and models()', () => {
  it('names a plan by its kind and its models or stages', () => {
    const names = (plan: StagePlan) =>
      planOf(plan)
        .models(plan)
        .map(({ name }) => name);
    expect(planOf(pooled).title(pooled)).toBe(
      `pooled plan of ${pooled.models.map(({ name }) => name).join(', ')}`,
    );
    const baseline = { ...pooled, baseline: 'dart-r' as const };
    expect(planOf(baseline).title(baseline)).toMatch(/^plan of the baseline dart-r of /);
    expect(planOf(pipeline).title(pipeline)).toBe(`pipeline plan of ${names(pipeline).join(', ')}`);
    expect(planOf(GEARS).title(GEARS)).toBe('gear plan of m0, m1');
    expect(names(pooled)).toEqual(applicationsOf(pooled).map(({ name }) => name));
    for (const plan of [pipeline, GEARS])
      expect(names(plan)).toEqual(planTopologyOf(plan).pools.map(({ stage }) => stage));
  });
});
