import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import type { PipelinePlan } from '../../../src/artifacts/index.js';
import { pipelineFieldChanges } from '../../../src/plans/pipeline/diff.js';

const EXAMPLE = new URL('../../../examples/pipeline/expected-plan.json', import.meta.url);

let plan: PipelinePlan;
beforeAll(async () => {
  plan = JSON.parse(await readFile(EXAMPLE, 'utf8')) as PipelinePlan;
});

describe('pipelineFieldChanges()', () => {
  const changed = (change: (copy: PipelinePlan) => unknown, from = plan): string[] => {
    const copy = structuredClone(from);
    change(copy);
    return pipelineFieldChanges(from, copy).map(({ path }) => path);
  };

  it.each<[string, (copy: PipelinePlan) => unknown]>([
    ['/serving/scheduler', (copy) => Object.assign(copy.serving!, { scheduler: 'fifo' })],
    ['/cluster/networkGbps', (copy) => Object.assign(copy.cluster, { networkGbps: 99 })],
    ['/share', (copy) => Object.assign(copy, { share: undefined })],
    ['/shared', (copy) => Object.assign(copy, { shared: undefined })],
    ['/envelope', (copy) => Object.assign(copy, { envelope: undefined })],
    [
      '/stages/face/latencyUsByBatch/0',
      ({ stages }) => {
        stages.find(({ name }) => name === 'face')!.latencyUsByBatch[0] = 1;
      },
    ],
  ])('tells a change of %s', (path, change) => {
    const whole = { ...plan, share: {}, shared: {}, envelope: {} } as unknown as PipelinePlan;
    expect(changed(change, whole)).toEqual([path]);
  });

  it('tells a load, but not the path of a trace, and no stage that only one plan has', () => {
    const drawn = (rps: number) => ({ load: { arrivals: 'poisson', rps, duration: '2s' } }) as object;
    expect(changed((copy) => Object.assign(copy, drawn(7)), { ...plan, ...drawn(8) })).toEqual(['/load/rps']);
    const trace = { ...plan, load: { trace: 'a.csv' } } as PipelinePlan;
    expect(changed((copy) => Object.assign(copy, { load: { trace: 'b.csv' } }), trace)).toEqual([]);
    expect(changed(({ stages }) => stages.pop())).toEqual([]);
  });
});
