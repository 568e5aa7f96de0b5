import { describe, expect, it } from 'vitest';
import { planFaults } from '../../../src/checks/index.js';
import type { PooledPlan } from '../../../src/formats/index.js';
import { planOf } from '../../serving/plans.js';

/** plan has one pipeline of two partitions, each of 2 ms at batch 4 on one GPU. */
function plan(): PooledPlan {
  const part = { batch: 4, latencyUs: () => 2000 };
  return planOf([{ sloMs: 100, pipelines: [{ throughputRps: 2000, parts: [part, part] }] }]);
}

function told(change: (plan: PooledPlan) => void): string {
  const changed = plan();
  change(changed);
  return planFaults(changed)
    .map(({ path, message }) => `${path} ${message}`)
    .join('\n');
}

describe('planFaults()', () => {
  it('finds none in a plan whose figures agree', () => {
    expect(planFaults(plan())).toEqual([]);
  });

  it('finds a class that the cluster lacks', () => {
    expect(told(({ cluster }) => Object.assign(cluster, { devices: { other: { count: 9 } } }))).toMatch(
      /pipelines\/0\/partitions\/1 is on \S+, which the plan's cluster lacks/,
    );
  });

  it('finds GPUs that its virtual GPUs do not add up to, and a status that the gap does not allow', () => {
    expect(
      told(({ models: [model] }) => Object.assign(model!.pipelines[0]!.partitions[1]!, { gpus: 1.5 })),
    ).toBe('/models/0/pipelines/0/partitions/1/gpus is 1.5; 1 virtual GPUs of 1/1 each are 1');
    expect(told((changed) => Object.assign(changed, { status: 'feasible' }))).toMatch(
      /^\/status is feasible/,
    );
  });

  it('finds rates that do not add up, or that no device reaches in the times stated', () => {
    expect(told(({ models }) => Object.assign(models[0]!, { throughputRps: 1e18 }))).toMatch(
      /^\/models\/0 \S+ has 1000000000000000000 requests\/s, its pipelines together 2000$/,
    );
    const faster = told(({ models: [model] }) => {
      Object.assign(model!.pipelines[0]!, { throughputRps: 2001 });
      Object.assign(model!, { throughputRps: 2001 });
    });
    expect(faster).toBe('/models/0/pipelines/0 has 2001 requests/s, its slowest partition 2000');
    expect(
      told(({ models }) => Object.assign(models[0]!.pipelines[0]!.partitions[1]!, { throughputRps: 2001 })),
    ).toMatch(/partitions\/1 has 2001 requests\/s; 1 virtual GPUs do 2000 in the times stated/);
  });

  it('finds a pipeline that takes less than its partitions, or longer than its SLO', () => {
    expect(told(({ models }) => Object.assign(models[0]!.pipelines[0]!, { latencyUs: 3999 }))).toMatch(
      /takes 3999 µs, its partitions alone 4000 µs/,
    );
    expect(told(({ models }) => Object.assign(models[0]!, { sloMs: 3.9 }))).toMatch(/the SLO is 3.9 ms/);
  });
});
