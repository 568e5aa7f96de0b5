import { describe, expect, test } from 'vitest';
import type { Placement, PlannedPartition, PlannedPipeline } from '../../../src/formats/index.js';
import type { PlanBody } from '../../../src/milp/index.js';
import { diffPlans } from '../../../src/plans/index.js';
import { streamOf } from '../../../src/random/index.js';
import { counted } from '../../milp/counted.js';

function partition(more: Partial<PlannedPartition> = {}): PlannedPartition {
  return {
    blocks: [0, 2],
    device: 'A',
    virtual: 1,
    virtualGpus: 2,
    gpus: 2,
    batch: 4,
    latencyUsByBatch: [1, 2, 3, 4],
    throughputRps: 10,
    transferBytes: 0,
    ...more,
  };
}

function pipeline(throughputRps: number, ...partitions: PlannedPartition[]): PlannedPipeline {
  return { throughputRps, batch: 4, latencyUs: 5, partitions };
}

interface Made {
  readonly name?: string;
  readonly sloMs?: number;
  readonly pipelines: PlannedPipeline[];
}

/** A plan of these models. Partition p of a model's first pipeline has the GPUs p·10, p·10 + 1, … of server S. */
function plan(models: readonly Made[], used: Record<string, number>, value = 7): PlanBody {
  return {
    kind: 'pooled-plan',
    version: '1.0',
    status: 'optimal',
    objective: { kind: 'throughput', value, bound: value, gap: 0 },
    cluster: { devices: {} },
    planner: {},
    models: models.map(({ name = 'm', sloMs = 20, pipelines }) => ({
      name,
      sloMs,
      sloMarginMs: 0,
      weight: 1,
      throughputRps: pipelines.reduce((sum, { throughputRps }) => sum + throughputRps, 0),
      blocks: 2,
      pipelines,
    })),
    classes: Object.fromEntries(Object.entries(used).map(([name, n]) => [name, { used: n, count: 9 }])),
    placement: models.flatMap(({ pipelines }, model) =>
      pipelines.flatMap(({ partitions }, p) =>
        partitions.flatMap(({ device, virtual, virtualGpus }, d) =>
          Array.from({ length: virtualGpus }, (_, i) => ({
            server: `S${model}${p}`,
            gpu: 10 * d + Math.floor(i / virtual),
            class: device,
            virtual,
            model,
            pipeline: p,
            partition: d,
          })),
        ),
      ),
    ),
  } as unknown as PlanBody;
}

const ONE = [{ pipelines: [pipeline(10, partition())] }];

describe('diffPlans()', () => {
  test('finds nothing between equal plans', () => {
    expect(diffPlans(plan(ONE, { A: 2 }), plan(ONE, { A: 2 }))).toEqual({
      objective: { kind: 'throughput', before: 7, after: 7 },
      models: [
        {
          name: 'm',
          throughputRps: { before: 10, after: 10 },
          sloMs: { before: 20, after: 20 },
          pipelines: [],
        },
      ],
      classes: [],
      gpusMoved: 0,
      same: true,
    });
  });

  test('compares the rates that plans hold, where one or both promise any', () => {
    const holding = (heldRps?: number) => {
      const made = plan(ONE, { A: 2 });
      const models = made.models.map((model) => ({
        ...model,
        ...(heldRps === undefined ? {} : { heldRps }),
      }));
      return { ...made, models };
    };
    const of = (a?: number, b?: number) => {
      const { models, same } = diffPlans(holding(a), holding(b));
      return [models[0]?.heldRps, same];
    };
    expect(of(8, 9)).toEqual([{ before: 8, after: 9 }, false]);
    expect(of(8, 8 + 1e-12)).toEqual([{ before: 8, after: 8 + 1e-12 }, true]);
    expect(of(8)).toEqual([{ before: 8 }, false]);
    expect(of(undefined, 0)).toEqual([{ after: 0 }, false]);
    expect(of()).toEqual([undefined, true]);
  });

  test('ignores rounding of 10⁻⁹, in proportion to a figure', () => {
    const near = [{ pipelines: [pipeline(10 + 9e-9, partition())] }];
    expect(diffPlans(plan(ONE, { A: 2 }), plan(near, { A: 2 })).same).toBe(true);
    const off = [{ pipelines: [pipeline(10 + 2e-8, partition())] }];
    expect(diffPlans(plan(ONE, { A: 2 }), plan(off, { A: 2 }))).toMatchObject({
      same: false,
      models: [{ pipelines: [{ pipeline: 'blocks 0–1 on A batch 4' }] }],
    });
    const small = (rps: number) => plan([{ pipelines: [pipeline(rps, partition())] }], { A: 2 });
    expect(diffPlans(small(1e-3), small(1e-3 + 0.9e-9)).same).toBe(true);
    expect(diffPlans(small(1e-3), small(1e-3 + 1.1e-9)).same).toBe(false);
  });

  test('adds up pipelines of one description, however a plan splits them', () => {
    const one = partition({ gpus: 1, virtualGpus: 1 });
    const split = plan([{ pipelines: [pipeline(4, one), pipeline(6, one)] }], { A: 2 });
    expect(diffPlans(plan(ONE, { A: 2 }), split).models[0]?.pipelines).toEqual([]);
    const less = plan([{ pipelines: [pipeline(3, one), pipeline(6, one)] }], { A: 2 });
    expect(diffPlans(split, less).models[0]?.pipelines).toEqual([
      {
        pipeline: 'blocks 0–1 on A batch 4',
        throughputRps: { before: 10, after: 9 },
        gpus: { before: 2, after: 2 },
      },
    ]);
  });

  test('reports the rates and GPUs of pipelines that were added, removed or changed', () => {
    const halves = pipeline(
      6,
      partition({ blocks: [0, 1], device: 'B', virtual: 2, virtualGpus: 3, gpus: 1.5, batch: 1 }),
      partition({ blocks: [1, 2], gpus: 1, virtualGpus: 1 }),
    );
    const before = plan([{ pipelines: [pipeline(10, partition())] }], { A: 2 });
    const after = plan([{ pipelines: [pipeline(9, partition({ gpus: 3, virtualGpus: 3 })), halves] }], {
      A: 4,
      B: 2,
    });
    const diff = diffPlans(before, after);
    expect(diff.models[0]?.throughputRps).toEqual({ before: 10, after: 15 });
    expect(diff.models[0]?.pipelines).toEqual([
      {
        pipeline: 'blocks 0–1 on A batch 4',
        throughputRps: { before: 10, after: 9 },
        gpus: { before: 2, after: 3 },
      },
      {
        pipeline: 'blocks 0–0 on B 1/2 batch 1 → blocks 1–1 on A batch 4',
        throughputRps: { before: 0, after: 6 },
        gpus: { before: 0, after: 2.5 },
      },
    ]);
    expect(diff.classes).toEqual([
      { name: 'A', used: { before: 2, after: 4 } },
      { name: 'B', used: { before: 0, after: 2 } },
    ]);
    // The first pipeline has one GPU more. The second has two GPUs of B and one of A.
    expect(diff.gpusMoved).toBe(4);
    expect(diff.same).toBe(false);
    expect(diffPlans(after, before).gpusMoved).toBe(4);
  });

  test('compares a model that one plan lacks with nothing', () => {
    const more = [...ONE, { name: 'n', pipelines: [pipeline(3, partition())] }];
    const diff = diffPlans(plan(more, { A: 4 }), plan(ONE, { A: 2 }));
    expect(diff.models[1]).toEqual({
      name: 'n',
      throughputRps: { before: 3, after: 0 },
      sloMs: { before: 20, after: 0 },
      pipelines: [
        {
          pipeline: 'blocks 0–1 on A batch 4',
          throughputRps: { before: 3, after: 0 },
          gpus: { before: 2, after: 0 },
        },
      ],
    });
    expect(diff).toMatchObject({ gpusMoved: 2, same: false });
  });

  test('compares a model that only the later plan has with nothing', () => {
    const more = [...ONE, { name: 'n', pipelines: [pipeline(3, partition())] }];
    const [, added] = diffPlans(plan(ONE, { A: 2 }), plan(more, { A: 4 })).models;
    expect(added).toMatchObject({
      name: 'n',
      throughputRps: { before: 0, after: 3 },
      sloMs: { before: 0, after: 20 },
      pipelines: [{ throughputRps: { before: 0, after: 3 }, gpus: { before: 0, after: 2 } }],
    });
  });

  test('reports another SLO, another class in use, and GPUs that serve something else', () => {
    const slo = [{ ...ONE[0]!, sloMs: 21 }];
    expect(diffPlans(plan(ONE, { A: 2 }), plan(slo, { A: 2 })).same).toBe(false);
    expect(diffPlans(plan(ONE, { A: 2 }), plan(ONE, { A: 2, B: 1 })).same).toBe(false);
    const here = plan(ONE, { A: 2 });
    const there = { ...here, placement: here.placement.map((seat) => ({ ...seat, server: 'T' })) };
    expect(diffPlans(here, there)).toMatchObject({ same: false, gpusMoved: 4, models: [{ pipelines: [] }] });
  });

  test('takes pipelines in another order for the same', () => {
    const two = [pipeline(10, partition()), pipeline(4, partition({ batch: 1, gpus: 1, virtualGpus: 1 }))];
    const here = plan([{ pipelines: two }], { A: 3 });
    const there = {
      ...here,
      models: here.models.map((model) => ({ ...model, pipelines: [...model.pipelines].reverse() })),
      placement: here.placement.map((seat) => ({ ...seat, pipeline: 1 - seat.pipeline })).reverse(),
    };
    expect(diffPlans(here, there).same).toBe(true);
  });

  test("names pipelines by layers where a plan is by layers, and the objective's kind where it differs", () => {
    const { blocks: _, ...rest } = partition();
    const layered = [{ pipelines: [pipeline(1, { ...rest, layers: [0, 9] })] }];
    const dear = plan(layered, { A: 2 }, 3);
    const diff = diffPlans(plan(ONE, { A: 2 }), {
      ...dear,
      objective: { ...dear.objective, kind: 'cost' },
    });
    expect(diff.objective).toEqual({ kind: 'cost', kindBefore: 'throughput', before: 7, after: 3 });
    expect(diff.models[0]?.pipelines.map(({ pipeline: name }) => name)).toEqual([
      'blocks 0–1 on A batch 4',
      'layers 0–8 on A batch 4',
    ]);
  });
});

describe('diffPlans() of rows of GPUs', () => {
  test('counts the same moved GPUs as a look at every GPU, also where servers have other sizes', () => {
    const { uniform } = streamOf(3, 'diff');
    const parts = [partition(), partition({ blocks: [1, 2] }), partition({ device: 'B' })];
    const random = (perServer: number): PlanBody => {
      const body = plan([{ pipelines: [pipeline(10, ...parts)] }], {});
      const placement = Array.from({ length: 12 }, (_, number): Placement[] => {
        const partition = Math.floor(uniform() * 4);
        const server = `A-${Math.floor(number / perServer)}`;
        const at = { server, gpu: number % perServer, class: 'A', virtual: 1 };
        return partition === 3 ? [] : [{ ...at, model: 0, pipeline: 0, partition }];
      }).flat();
      return { ...body, placement, cluster: { devices: { A: { count: 12, perServer } } } };
    };
    const dutyOf = ({ placement }: PlanBody, gpu: string) =>
      placement.find((place) => `${place.server}/${place.gpu}` === gpu)?.partition;
    for (let round = 0; round < 100; round++) {
      const [before, after] = [random(3), random(uniform() < 0.5 ? 3 : 4)];
      const gpus = new Set([...before.placement, ...after.placement].map((p) => `${p.server}/${p.gpu}`));
      const moved = [...gpus].filter((gpu) => dutyOf(before, gpu) !== dutyOf(after, gpu)).length;
      const rows = [before, after].map((body) => {
        const placement = counted(body.placement, body.cluster.devices.A!.perServer!);
        return { ...body, placement };
      }) as [PlanBody, PlanBody];
      expect(diffPlans(before, after).gpusMoved).toBe(moved);
      expect(diffPlans(...rows).gpusMoved).toBe(moved);
    }
  });
});
