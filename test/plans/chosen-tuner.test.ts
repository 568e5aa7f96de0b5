import { describe, expect, it } from 'vitest';
import type { PipelinePlan, PlanTuner } from '../../src/formats/index.js';
import { ToldFaults } from '../../src/formats/index.js';
import { chosenTuner, type StagePlan } from '../../src/plans/index.js';
import { chosenScheduler } from '../../src/serving/index.js';
import { LoadMeter } from '../../src/serving/tuning/load-meter.js';
import { type TunedPlan, tunerOf, tunerSettings } from '../../src/serving/tuning/tuned-plan.js';
import { edge, pipelineOf } from '../pipeline-plans.js';
import { planOf } from '../serving/plans.js';

const envelope = [{ windowUs: 1000, requests: 3 }];

function planWith(more: Partial<PipelinePlan> = {}): PipelinePlan {
  const plan = pipelineOf(
    [
      { name: 'a', next: [edge('b', 0.5)], batch: 4 },
      { name: 'b', next: [edge('c')], batch: 2 },
      { name: 'c' },
    ],
    [['a'], ['a'], ['b', 'c']],
    { shared: [{ stages: ['b', 'c'], maxProvisioningRatio: 0.8 }], rps: 10, envelope, ...more },
  );
  const figures = [
    { scaleFactor: 1, throughputRps: 50, maxProvisioningRatio: 0.1 },
    { scaleFactor: 0.5, throughputRps: 20, maxProvisioningRatio: 0.3 },
    { scaleFactor: 0.5, throughputRps: 10, maxProvisioningRatio: 0.5 },
  ];
  plan.stages.forEach((stage, i) => {
    Object.assign(stage, figures[i]);
  });
  return plan;
}

function chosen(plan: StagePlan, tuner?: string, scheduler = 'fifo', policy: object = {}) {
  const told = new ToldFaults();
  const found = chosenScheduler({ scheduler }, told);
  if (found === undefined) throw told.error('test');
  return chosenTuner(plan, { ...found, policy: { ...found.policy, ...policy } }, { tuner });
}

const faultsOf = (...asked: Parameters<typeof chosen>): string[] =>
  chosen(...asked).faults.map(({ path, message }) => `${path}: ${message}`);

const serving = (tuner: PlanTuner) => ({ serving: { scheduler: 'fifo', tuner } });

describe('chosenTuner()', () => {
  it('leaves a plan without a tuner as it is', () => {
    for (const plan of [planWith(), planWith(serving({ kind: 'none' }))]) {
      const found = chosen(plan);
      expect(found.plan).toBe(plan);
      expect(found.scheduler.tuner).toBeUndefined();
    }
    expect(chosen(planWith(serving({ kind: 'inferline' })), 'none').scheduler.tuner).toBeUndefined();
  });

  it("takes the plan's tuner with its settings, and the one asked for without them unless it is the same", () => {
    const plan = planWith(serving({ kind: 'inferline', stabilityS: 7 }));
    const settingsOf = (asked?: string) => chosen(plan, asked).scheduler.tuner?.settings;
    expect(settingsOf()).toEqual({ kind: 'inferline', stabilityS: 7, lookBackS: 30, windowS: 5 });
    expect(settingsOf('inferline')).toEqual(settingsOf());
    expect(settingsOf('ds2')).toEqual({ kind: 'ds2', intervalS: 10, warmUpIntervals: 1 });
    expect(settingsOf('by-rate')).toEqual({ kind: 'by-rate', intervalS: 5, utilisation: 0.8, keepS: 30 });
  });

  it('informs the tuner of each set of devices: its work, slack, and how many devices there are', () => {
    const { scheduler, plan } = chosen(
      planWith({ cluster: { devices: { cpu: {} }, activationDelayMs: 20 } }),
      'hpa',
    );
    expect(scheduler.tuner).toMatchObject({ envelope, gpus: {}, activationDelayNs: 2e7 });
    expect(scheduler.tuner?.sets).toEqual([
      {
        pools: [1, 2],
        deviceClass: 'cpu',
        virtual: 1,
        replicas: 1,
        most: 16,
        workS: 0.5 / 20 + 0.5 / 10,
        visits: 1,
        batch: 2,
        provisioning: 0.8,
      },
      {
        pools: [0],
        deviceClass: 'cpu',
        virtual: 1,
        replicas: 2,
        most: 16,
        workS: 1 / 50,
        visits: 1,
        batch: 4,
        provisioning: 0.1,
      },
    ]);
    expect((plan as PipelinePlan).placement).toHaveLength(32);
  });

  it('counts no device for more than all of its time, whatever a plan says that it needs', () => {
    const asked = { serving: { scheduler: 'fifo', tuner: { kind: 'inferline' as const } } };
    const busy = planWith({ ...asked, shared: [{ stages: ['b', 'c'], maxProvisioningRatio: 1.6 }] });
    busy.stages[0]!.maxProvisioningRatio = 4;
    const tuned = chosen(busy).scheduler.tuner as TunedPlan;
    expect(tuned.sets.map(({ provisioning }) => provisioning)).toEqual([1, 1]);
    // In a second, 300 requests take 22.5 s of device time in the one set, and 6 in the other.
    const atNs = Array.from({ length: 900 }, (_, i) => (i * 1e9) / 300);
    const sets = tuned.sets.map((set) => ({ ...set, most: 100 }));
    const load = {
      envelope: [{ windowUs: 1e6, requests: 10 }],
      ahead: { windowS: 1, requests: [300, 300, 300] },
    };
    for (const kind of ['inferline', 'oracle'] as const) {
      const settings = tunerSettings({ kind }) as TunedPlan['settings'];
      const tuner = tunerOf({ ...tuned, ...load, sets, settings });
      for (const at of atNs) if (tuner.arrived(at) || tuner.nextAt <= at) tuner.decide(at, new LoadMeter(2));
      expect(tuner.wanted[0], kind).toBeGreaterThanOrEqual(23);
      expect(tuner.wanted[1], kind).toBeGreaterThanOrEqual(6);
    }
  });

  it('limits the GPUs in use to those that exist of a class', () => {
    const plan = planWith({ classes: { cpu: { used: 3, count: 5 } } });
    expect(chosen(plan, 'hpa').scheduler.tuner?.gpus).toEqual({ cpu: 5 });
  });

  it('refuses unknown tuners, plans of other kinds, and what cannot be scaled', () => {
    expect(faultsOf(planWith(), 'magic')).toEqual([
      '`tuner`: is magic; valid values are none, inferline, coarse, ds2, hpa, kpa, by-rate, oracle',
    ]);
    expect(faultsOf(planWith(), 'hpaa')).toEqual([expect.stringContaining('; did you mean hpa?')]);
    const pooled = planOf([
      { sloMs: 9, pipelines: [{ throughputRps: 1, parts: [{ batch: 1, latencyUs: () => 5 }] }] },
    ]);
    expect(faultsOf(pooled, 'hpa')).toEqual([
      '`tuner`: changes the replicas of pipelines, and this plan is no pipeline',
    ]);
    expect(chosen(pooled, 'none').faults).toEqual([]);
    expect(faultsOf(planWith(), 'hpa', 'reservation')).toEqual([
      '`tuner`: changes the replicas, and the scheduler reservation needs devices that stay',
    ]);
    expect(faultsOf(planWith(), 'hpa', 'fifo', { scaling: { schedule: [] } })).toEqual([
      '`tuner`: stands beside a schedule of devices in the policy; leave one of them out',
    ]);
  });

  it('refuses plans whose stages have replicas of several classes, by their names', () => {
    const unequal = (names: readonly string[]) => {
      const plan = planWith(serving({ kind: 'inferline' }));
      const others = [{ device: 'gpu', virtual: 1, replicas: 1, latencyUsByBatch: [1] }] as never;
      const stages = plan.stages.map((stage) => (names.includes(stage.name) ? { ...stage, others } : stage));
      return faultsOf({ ...plan, stages }).filter((one) => one.includes('several classes'));
    };
    expect(unequal(['a'])).toEqual([
      expect.stringContaining('is inferline, and a has replicas of several classes, which no tuner changes'),
    ]);
    expect(unequal(['a', 'b'])).toEqual([
      expect.stringContaining('and a, b have replicas of several classes'),
    ]);
    expect(unequal([])).toEqual([]);
  });

  it('refuses plans whose stages have no throughput or no slack', () => {
    const still = planWith();
    still.stages[1]!.throughputRps = 0;
    expect(faultsOf(still, 'ds2')).toEqual(['`tuner`: is ds2, and b has a throughput of 0']);
    const idle = planWith();
    idle.shared![0]!.maxProvisioningRatio = 0;
    const said = 'which keeps the slack of a load, and a maxProvisioningRatio of the plan is 0';
    expect(faultsOf(idle, 'inferline')).toEqual([`\`tuner\`: is inferline, ${said}`]);
    expect(faultsOf(idle, 'hpa')).toEqual([]);
  });

  it('refuses tuners that follow the load of a plan that was made for none', () => {
    const bare = planWith(serving({ kind: 'inferline' }));
    delete bare.envelope;
    const lacks = (kind: string) =>
      `is ${kind}, which keeps the slack of a load, and the plan has none: solve it with a load in its spec`;
    expect(faultsOf(bare)).toEqual([`/serving/tuner: ${lacks('inferline')}`]);
    expect(faultsOf(bare, 'oracle')).toEqual([]);
    delete bare.rps;
    expect(faultsOf(bare, 'oracle')).toEqual([`\`tuner\`: ${lacks('oracle')}`]);
    expect(faultsOf(bare, 'kpa')).toEqual([]);
  });
});
