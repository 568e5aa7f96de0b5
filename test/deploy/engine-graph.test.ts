import { describe, expect, it } from 'vitest';
import { type EngineGraph, engineGraphOf, engineName } from '../../src/deploy/engine-graph.js';
import type { GearPlan, PipelinePlan, PooledPlan } from '../../src/formats/index.js';
import { stageName } from '../../src/formats/index.js';
import { planTopologyOf } from '../../src/plans/index.js';
import { EXAMPLES, exampleBundle } from './example-bundle.js';

async function graphOf(example: (typeof EXAMPLES)[number]): Promise<EngineGraph> {
  const { plan, manifest } = await exampleBundle(example);
  return engineGraphOf(plan, manifest);
}

const sum = (values: readonly number[]): number => values.reduce((all, one) => all + one, 0);

describe('engineGraphOf()', () => {
  it.each(EXAMPLES)('has each device of the plan of %s that is up, once', async (example) => {
    const { plan, manifest } = await exampleBundle(example);
    const { groups } = engineGraphOf(plan, manifest);
    const placed = plan.placement as readonly {
      class: string;
      virtual: number;
      count?: number;
      standby?: true;
    }[];
    const byClass = new Map<string, number>();
    for (const { class: name, virtual, count = 1, standby } of placed)
      if (standby !== true)
        byClass.set(`${name}/${virtual}`, (byClass.get(`${name}/${virtual}`) ?? 0) + count);
    for (const { deviceClass, virtual, replicas } of groups)
      byClass.set(`${deviceClass}/${virtual}`, (byClass.get(`${deviceClass}/${virtual}`) ?? 0) - replicas);
    expect([...byClass.values()].every((left) => left === 0)).toBe(true);
    expect(groups.length).toBeGreaterThan(0);
  });

  it.each(EXAMPLES)(
    'gives names of letters, digits and _ that are all different, for %s',
    async (example) => {
      const { stages, groups } = await graphOf(example);
      for (const list of [stages, groups]) {
        const names = list.map(({ name }) => name);
        expect(new Set(names).size).toBe(names.length);
        expect(names.every((name) => /^[A-Za-z][A-Za-z0-9_]*$/.test(name))).toBe(true);
      }
    },
  );

  it.each(EXAMPLES)(
    'divides the tasks of each stage of %s among its groups, and the requests among routes',
    async (example) => {
      const { models, stages, groups } = await graphOf(example);
      for (const { routes } of models) expect(sum(routes.map(({ share }) => share))).toBeCloseTo(1, 9);
      stages.forEach((_, stage) => {
        const held = groups.flatMap((group) => group.stages.filter((one) => one.stage === stage));
        expect(sum(held.map(({ share }) => share))).toBeCloseTo(1, 9);
      });
    },
  );

  it('leads along the partitions of a pooled plan, by the rates of its pipelines', async () => {
    const { plan, manifest } = await exampleBundle('pooled');
    const { models, stages } = engineGraphOf(plan, manifest);
    const pooled = plan as PooledPlan;
    pooled.models.forEach(({ name, pipelines, throughputRps }, m) => {
      expect(models[m]?.routes.map(({ share }) => share)).toEqual(
        pipelines.map((one) => expect.closeTo(one.throughputRps / throughputRps, 6)),
      );
      pipelines.forEach(({ partitions }, p) => {
        let at: number | undefined = models[m]?.routes[p]?.entry;
        for (const [k, { batch, latencyUsByBatch }] of partitions.entries()) {
          const stage = stages[at as number];
          expect(stage?.name).toBe(`${engineName(name)}_p${p}_s${k}`);
          expect(stage?.batch).toBe(batch);
          const later = sum(partitions.slice(k + 1).map((one) => one.latencyUsByBatch[0] as number));
          expect(stage?.leastMs).toBeCloseTo(((latencyUsByBatch[0] as number) + later) / 1000, 3);
          let rows = batch;
          const fullLater = partitions.slice(k + 1).map((one) => {
            rows = Math.min(rows, one.batch);
            return one.latencyUsByBatch[rows - 1] as number;
          });
          expect(stage?.fullRestMs).toBeCloseTo(sum(fullLater) / 1000, 3);
          at = stage?.next[0]?.to;
        }
        expect(at).toBeUndefined();
      });
    });
  });

  it('has the edges of a pipeline, the longest way on from each stage, and the bit of each choice', async () => {
    const { plan, manifest } = await exampleBundle('pipeline');
    const { stages } = engineGraphOf(plan, manifest);
    const topology = planTopologyOf(plan, { transfers: 'none' });
    const planned = (plan as PipelinePlan).stages;
    const longest = (name: string): number => {
      const { latencyUsByBatch, next, others = [] } = planned.find((stage) => stage.name === name)!;
      const own = Math.min(
        ...[{ latencyUsByBatch }, ...others].map((one) => one.latencyUsByBatch[0] as number),
      );
      return own + Math.max(0, ...next.map(({ to }) => longest(to)));
    };
    const fullRest = (name: string, rows: number): number => {
      const { next } = planned.find((stage) => stage.name === name)!;
      const ways = next.map(({ to }) => {
        const fits = Math.min(rows, stages.find(({ part }) => stageName(part.stage) === to)!.batch);
        const pool = topology.pools.find((one) => stageName(one.stage) === to)!;
        return pool.latencyNs[fits - 1]! / 1e6 + fullRest(to, fits);
      });
      return Math.max(0, ...ways);
    };
    planned.forEach(({ name, next }, i) => {
      expect(stages[i]?.fullRestMs).toBeCloseTo(fullRest(name, stages[i]!.batch), 3);
      expect(stages[i]?.next.map(({ to }) => stageName(stages[to]!.part.stage))).toEqual(
        next.map(({ to }) => to),
      );
      expect(stages[i]?.leastMs).toBeCloseTo(longest(name) / 1000, 3);
      let bit = 0;
      expect(stages[i]?.next.map((one) => one.bit)).toEqual(
        next.map((edge) => (edge.probability === undefined && edge.when === undefined ? undefined : bit++)),
      );
    });
  });

  it('has the gears of a cascade, with the shares of devices summed by group', async () => {
    const { plan, manifest } = await exampleBundle('cascade');
    const { gears, groups, stages } = engineGraphOf(plan, manifest);
    const planned = plan as GearPlan;
    expect(gears?.gears.map(({ toRps }) => toRps)).toEqual(planned.gears.map(({ toRps }) => toRps));
    planned.gears.forEach(({ cascade }, g) => {
      const steps = gears?.gears[g]?.steps ?? [];
      expect(steps.map(({ stage, below }) => [stageName(stages[stage]!.part.stage), below])).toEqual(
        cascade.map(({ stage, threshold }, k) => [stage, k === cascade.length - 1 ? undefined : threshold]),
      );
      for (const { stage, shares } of steps) {
        expect(sum(shares.map(({ share }) => share))).toBeCloseTo(1, 6);
        for (const { group } of shares)
          expect(groups[group]?.stages.some((held) => held.stage === stage)).toBe(true);
      }
    });
  });

  it('leaves out devices on standby', async () => {
    const { plan, manifest } = await exampleBundle('pipeline');
    const before = engineGraphOf(plan, manifest).groups;
    const [first, ...rest] = (plan as PipelinePlan).placement;
    const less = { ...plan, placement: [{ ...first!, standby: true as const }, ...rest] } as PipelinePlan;
    const after = engineGraphOf(less, manifest).groups;
    const count = (groups: EngineGraph['groups']) => sum(groups.map(({ replicas }) => replicas));
    expect(count(after)).toBe(count(before) - (first?.count ?? 1));
  });
});
