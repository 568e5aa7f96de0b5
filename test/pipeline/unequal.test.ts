import { describe, expect, it } from 'vitest';
import { pipelinePlanFaults, recountFaults } from '../../src/checks/index.js';
import type { PipelinePlan, PipelineStage } from '../../src/formats/index.js';
import { planGiven } from '../../src/pipeline/index.js';
import { diffPipelines, pipelineTopologyOf } from '../../src/plans/index.js';
import { type Asked, example, faultLines, planned, resolved } from './example.js';

/** unequal is the example with a stage `face` on both classes, of which T4 takes twice as long as L4. */
function unequal(face: Partial<PipelineStage> = { replicas: { L4: 1, T4: 2 } }): Asked {
  const asked = example();
  const [, , stage] = asked.spec.stages as [unknown, unknown, PipelineStage];
  const { device: _, replicas: __, ...rest } = stage;
  asked.spec.stages[2] = { ...rest, ...face };
  const { profile } = asked.files.profiles[2] as Asked['files']['profiles'][number];
  profile.devices.T4 = { blockLatencyUs: { '1': { '1': [6000], '4': [12_000] } } };
  return asked;
}

/** planFile is the plan of the example as a file has it. */
function planFile(asked = unequal()): PipelinePlan {
  const plan = planned(asked);
  return structuredClone({ ...plan, serving: { scheduler: 'pard' } }) as PipelinePlan;
}

describe('a stage with replicas of several classes', () => {
  it('is planned with those of the class that is named first, and the others beside them', () => {
    const { stages, ...plan } = planned(unequal());
    const l4Rps = 4e6 / 6000;
    const t4Rps = 4e6 / 12_000;
    expect(stages.find(({ name }) => name === 'face')).toMatchObject({
      device: 'L4',
      virtual: 1,
      replicas: 1,
      latencyUsByBatch: [3000, null, null, 6000],
      throughputRps: l4Rps,
      maxProvisioningRatio: (500 * 0.75) / (l4Rps + 2 * t4Rps),
      others: [
        {
          device: 'T4',
          virtual: 1,
          replicas: 2,
          latencyUsByBatch: [6000, null, null, 12_000],
          throughputRps: t4Rps,
        },
      ],
    });
    expect(plan.throughputRps).toBeCloseTo(Math.min(2000, (l4Rps + 2 * t4Rps) / 0.75), 9);
    expect(plan.hourlyCost).toBeCloseTo(3 * 0.5 + 3 * 0.25, 12);
    expect(plan.classes).toEqual({ L4: { used: 3, count: 4 }, T4: { used: 3 } });
    const held = plan.placement.filter(({ stages: on }) => on.includes('face'));
    expect(held.map((place) => place.class).sort()).toEqual(['L4', 'T4', 'T4']);
  });

  it('lengthens the longest path by its slowest class', () => {
    const { longestPath } = planned(unequal());
    expect(longestPath.stages).toEqual(['detect', 'face', 'merge']);
    expect(longestPath.latencyUs).toBe(2000 + 64 * 8 + 12_000 + 128 * 8 + 800);
    const asked = unequal();
    asked.spec.sloMs = 16;
    expect(planGiven(resolved(asked))).toMatchObject({ reasons: [{ code: 'slo-too-short' }] });
  });

  it('is planned as one of a single class where only one class has replicas, whatever the form', () => {
    const byCount = planned(unequal({ replicas: { T4: 0, L4: 1 } }));
    expect(JSON.stringify(byCount)).toBe(JSON.stringify(planned(unequal({ device: 'L4', replicas: 1 }))));
  });

  it('takes the class that is named first for the first one', () => {
    const [, , face] = planned(unequal({ replicas: { T4: 2, L4: 1 } })).stages;
    expect([face?.device, face?.others?.map(({ device }) => device)]).toEqual(['T4', ['L4']]);
  });

  it('has no plan where all classes together are too slow, too few or too small', () => {
    const reasonsOf = (change: (asked: Asked) => void) => {
      const asked = unequal();
      change(asked);
      const outcome = planGiven(resolved(asked));
      return outcome.status === 'feasible' ? [] : outcome.reasons.map(({ code, text }) => `${code}: ${text}`);
    };
    expect(
      reasonsOf((asked) => {
        asked.spec.rps = 1800;
      }),
    ).toEqual([
      'rate-too-high: 1 L4 and 2 T4 can serve face for at most 1778 requests/s, and the load has 1800; a plan keeps up with all requests, whatever share of them may be dropped',
    ]);
    expect(
      reasonsOf((asked) => {
        asked.spec.stages[2] = { ...(asked.spec.stages[2] as PipelineStage), replicas: { L4: 3, T4: 2 } };
      }),
    ).toEqual(['too-few-gpus: 5 L4 are needed and 4 are free; they are for detect (1), read (1), face (3)']);
    expect(
      reasonsOf((asked) => {
        asked.files.cluster.devices.T4 = { memoryGiB: 0.5 };
      }).filter((text) => text.includes('face')),
    ).toEqual(['weights-exceed-memory: the weights of face take 1 GiB of the 0.5 GiB of T4']);
  });

  it('is refused with every fault of its classes at once', () => {
    expect(faultLines(unequal({ replicas: { L4: 0, T4: 0 } }))).toEqual([
      '/stages/2/replicas: has no replica of any class; give at least one class a number above 0',
    ]);
    expect(
      faultLines(unequal({ replicas: { L4: 1, T4: 1 }, device: 'L4', devices: ['L4'], standby: 1 })),
    ).toEqual([
      '/stages/2/device: stands beside replicas that name their classes; leave it out',
      '/stages/2/devices: stands beside replicas that name their classes; leave it out',
      '/stages/2/standby: is 1; the replicas are of several classes, and standby devices are of one: leave it out, or name one class',
    ]);
    expect(faultLines(unequal({ replicas: { L4: 1, A100: 1 } }))).toEqual([
      '/stages/2/replicas/A100: is A100, which is no class of the cluster; it has L4, T4',
      '/stages/2/replicas/A100: is A100, which the profile embedder.json lacks; it has L4, T4',
    ]);
    const unmeasured = unequal();
    (unmeasured.files.profiles[2] as Asked['files']['profiles'][number]).profile.devices.T4 = {
      blockLatencyUs: { '1': { '1': [6000] } },
    };
    expect(faultLines(unmeasured)).toEqual([
      '/stages/2/batch: is 4, of which embedder.json has no latency on T4; it has those of 1',
    ]);
    const tuned = unequal();
    tuned.spec.tuner = 'by-rate';
    expect(faultLines(tuned)).toEqual([
      '/tuner: is by-rate, and face has replicas of several classes, which no tuner changes',
    ]);
    const shared = unequal();
    shared.spec.shared = [{ device: 'L4', stages: ['face', 'read'], replicas: 1 }];
    expect(faultLines(shared)).toContain(
      '/stages/2/replicas: is given by the shared devices of the stage; leave it out',
    );
    const planning = unequal();
    planning.spec.planner = { method: 'inferline' };
    expect(faultLines(planning).join('\n')).toContain(
      '/stages/2/replicas: has a number for each class, which is for planner.method given',
    );
  });
});

describe('a plan of a stage with replicas of several classes', () => {
  it('is found wrong wherever one figure of the others is edited', () => {
    const plan = planFile();
    expect([...pipelinePlanFaults(plan), ...recountFaults(plan)]).toEqual([]);
    const edited = (key: string, value: unknown): string[] => {
      const changed = planFile();
      const other = changed.stages.find(({ name }) => name === 'face')?.others?.[0] as object;
      Object.assign(other, { [key]: value });
      return [...pipelinePlanFaults(changed), ...recountFaults(changed)].map(({ path }) => path);
    };
    for (const [key, value] of Object.entries({
      device: 'L4',
      virtual: 2,
      replicas: 3,
      throughputRps: 4e6 / 12_001,
      latencyUsByBatch: [6000, null, null, 12_001],
    }))
      expect([key, edited(key, value).length > 0]).toEqual([key, true]);
    expect(edited('replicas', 3)).toContain('/stages/2/others/0/replicas');
    expect(edited('throughputRps', 1)).toEqual(['/stages/2/others/0/throughputRps']);
    expect(edited('latencyUsByBatch', [6000])).toContain('/stages/2/others/0/latencyUsByBatch');
    expect(edited('device', 'L4')).toContain('/stages/2/others/0/device');
    expect(edited('device', 'A100')).toContain('/stages/2/others/0/device');
  });

  it('is found wrong without the others, or with devices that stand by or are shared', () => {
    const faultsOf = (change: (plan: PipelinePlan) => void): string[] => {
      const plan = planFile();
      change(plan);
      return [...pipelinePlanFaults(plan), ...recountFaults(plan)].map(({ path }) => path);
    };
    expect(
      faultsOf((plan) => {
        delete (plan.stages[2] as PipelinePlan['stages'][number]).others;
      }),
    ).toContain('/stages/2/device');
    expect(
      faultsOf((plan) => {
        (plan.stages[2] as PipelinePlan['stages'][number]).standby = 1;
      }),
    ).toContain('/stages/2/standby');
    expect(
      faultsOf((plan) => {
        plan.shared = [{ stages: ['face'] }];
      }),
    ).toContain('/stages/2');
  });

  it('becomes a pool whose devices name their class, and whose latency is the mean by share of throughput', () => {
    const { pools, devices } = pipelineTopologyOf(planFile());
    const face = pools[2]!;
    expect(face.classes?.map(({ deviceClass, latencyNs }) => [deviceClass, [...latencyNs]])).toEqual([
      ['L4', [3e6, 6e6, 6e6, 6e6]],
      ['T4', [6e6, 12e6, 12e6, 12e6]],
    ]);
    // One L4 serves as much as two T4.
    expect([...face.latencyNs]).toEqual([4.5e6, 9e6, 9e6, 9e6]);
    expect(face.devices.map((device) => devices[device]?.poolClass)).toEqual([0, 1, 1]);
    expect(face.devices.map((device) => devices[device]?.deviceClass)).toEqual(['L4', 'T4', 'T4']);
    expect(pools.filter(({ classes }) => classes !== undefined)).toHaveLength(1);
  });

  it('differs from one with other replicas of any class', () => {
    const more = planFile(unequal({ replicas: { L4: 1, T4: 3 } }));
    const { stages, same } = diffPipelines(planFile(), more);
    expect(same).toBe(false);
    expect(stages?.map(({ name, devices }) => [name, devices])).toEqual([
      ['face', { before: 'L4 + 2 T4', after: 'L4 + 3 T4' }],
    ]);
    expect(diffPipelines(planFile(), planFile()).same).toBe(true);
  });
});
