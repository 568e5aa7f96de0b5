import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import type { PlannedPipeline, PooledPlan } from '../../../src/formats/index.js';
import { pooledFieldChanges } from '../../../src/plans/pooled/diff-fields.js';

const EXAMPLE = new URL('../../../examples/pooled/expected-plan.json', import.meta.url);

let plan: PooledPlan;
beforeAll(async () => {
  plan = JSON.parse(await readFile(EXAMPLE, 'utf8')) as PooledPlan;
});

describe('pooledFieldChanges()', () => {
  const changed = (change: (copy: PooledPlan) => void): string[] => {
    const copy = structuredClone(plan);
    change(copy);
    return pooledFieldChanges(plan, copy).map(({ path }) => path);
  };

  it.each<[string, (copy: PooledPlan) => unknown]>([
    ['/serving/scheduler', (copy) => Object.assign(copy.serving!, { scheduler: 'fifo' })],
    ['/planner/maxPartitions', (copy) => Object.assign(copy.planner, { maxPartitions: 9 })],
    ['/cluster/networkGbps', (copy) => Object.assign(copy.cluster, { networkGbps: 99 })],
    ['/hold', (copy) => Object.assign(copy, { hold: {} })],
    ['/models/segmenter/weight', ({ models }) => Object.assign(models[1]!, { weight: 7 })],
    ['/models/segmenter/rps', ({ models }) => Object.assign(models[1]!, { rps: 7 })],
    ['/models/segmenter/sloMarginMs', ({ models }) => Object.assign(models[1]!, { sloMarginMs: 7 })],
    ['/models/segmenter/boundary', ({ models }) => Object.assign(models[1]!, { boundary: 'float16' })],
  ])('shows a change of %s', (path, change) => {
    expect(changed(change)).toEqual([path]);
  });

  it('takes pipelines that agree in all but their rates and GPUs for one', () => {
    const split = (copy: PooledPlan, share = 0.25) => {
      const [first] = copy.models[0]!.pipelines;
      const part = (of: number): PlannedPipeline => ({
        ...first!,
        throughputRps: of * first!.throughputRps,
        partitions: first!.partitions.map((one) => ({
          ...one,
          throughputRps: of * one.throughputRps,
          virtualGpus: of * one.virtualGpus,
          gpus: of * one.gpus,
        })),
      });
      copy.models[0]!.pipelines.splice(0, 1, part(share), part(0.75));
    };
    expect(changed(split)).toEqual([]);
    const differing = changed((copy) => split(copy, 0.5)).map((path) => path.split('/').at(-1));
    expect([...new Set(differing)].toSorted()).toEqual(['gpus', 'throughputRps', 'virtualGpus']);
  });

  it('reports changed latencies, and not rates, notes and inputs', () => {
    const [path, ...more] = changed(({ models }) => {
      models[0]!.pipelines[0]!.partitions[0]!.latencyUsByBatch[0] = 1;
    });
    expect(path).toMatch(/^\/models\/detector\/pipelines\/[^/]+\/partitions\/0\/latencyUsByBatch\/0$/);
    expect(more).toEqual([]);
    expect(
      changed((copy) => {
        Object.assign(copy, { notes: ['another'], inputs: [] });
        copy.models[0]!.throughputRps = 1;
      }),
    ).toEqual([]);
  });
});
