import { describe, expect, it } from 'vitest';
import { gearPlanFaults } from '../../../src/checks/index.js';
import type { GearPlan } from '../../../src/formats/index.js';
import { shareOf } from '../../../src/metrics/index.js';
import { gearPlan } from '../../gear-plans.js';

/** intervalOf is where a share of so many samples lies. */
function intervalOf(accuracy: number, samples: number) {
  const { low, high } = shareOf(accuracy * samples, samples);
  return { low, high, samples };
}

const PLAN = gearPlan({
  latencyUs: [[1000], [3000]],
  held: [[0], [0, 1]],
  gears: [
    { toRps: 10, steps: [{ model: 0, threshold: 0.5 }, { model: 1 }] },
    { toRps: 20, steps: [{ model: 0 }] },
  ],
});

function faultsOf(change: (plan: GearPlan) => void): string[] {
  const plan = structuredClone(PLAN);
  change(plan);
  return gearPlanFaults(plan).map(({ path, message }) => `${path} ${message}`);
}

describe('A gear plan', () => {
  it('has no fault as it is made', () => {
    expect(faultsOf(() => {})).toEqual([]);
  });

  it('is faulted for a best single model that is none, has another accuracy than its stage, or is missing', () => {
    const interval = { low: 0.4, high: 0.6, samples: 100 };
    const counted = (plan: GearPlan) => {
      for (const one of [plan, ...plan.gears, ...plan.stages])
        Object.assign(one, { accuracyInterval: intervalOf(one.accuracy, interval.samples) });
    };
    const { accuracy } = PLAN.stages[1]!;
    const told = (bestSingle: GearPlan['bestSingle'], version = '1.5') =>
      faultsOf((plan) => {
        counted(plan);
        Object.assign(plan, { bestSingle, version });
      }).filter((fault) => fault.startsWith('/bestSingle'));
    expect(told({ model: 'm1', accuracy })).toEqual([]);
    expect(told({ model: 'elsewhere', accuracy: 0.97 })).toEqual([]);
    expect(told({ model: 'elsewhere', accuracy: 0.975 })).toEqual([
      '/bestSingle/accuracy is 0.975, which is no whole number of 100 samples',
    ]);
    expect(told({ model: 'm1', accuracy: 0.97 })).toEqual([
      `/bestSingle/accuracy is 0.97; the stages give ${accuracy}`,
    ]);
    expect(told({ model: 'elsewhere', accuracy: 0.01 })).toEqual([
      `/bestSingle/accuracy is 0.01; m0 has ${PLAN.stages[0]!.accuracy}`,
    ]);
    expect(told(undefined)).toEqual(['/bestSingle is missing: the plan was made from records']);
    expect(told(undefined, '1.4')).toEqual([]);
  });

  it('is faulted for all that contradicts itself at once', () => {
    expect(
      faultsOf((plan) => {
        plan.stages[1]!.name = 'm0';
        plan.placement[1]!.stages = ['m0', 'm9'];
        plan.gears[0]!.cascade[1]!.threshold = 0.5;
        plan.gears[1]!.fromRps = 12;
        plan.gears[1]!.toRps = 12;
        plan.gears[1]!.cascade[0]!.stage = 'm7';
        plan.gears[0]!.cascade[0]!.loadShares = [0.5, 0.25, 0.25];
      }),
    ).toEqual([
      '/maxRps is 20; the last gear is for loads up to 12',
      '/stages/1/replicas is 1; 2 devices hold it',
      '/stages/1/name m0 is the name of another stage too',
      '/placement/1/stages/1 names m9, which the plan does not have',
      '/gears/0/cascade/0/loadShares are 3; 2 devices hold m0',
      '/gears/0/cascade/1/stage names m1, which the plan does not have',
      '/gears/0/cascade/1/threshold is of the last step, which has none',
      '/gears/1/fromRps is 12; the gear before ends at 10',
      '/gears/1/toRps is 12, which is not above 12',
      '/gears/1/cascade/0/stage names m7, which the plan does not have',
    ]);
  });

  it('needs devices for each model, thresholds before the last step, and each model once', () => {
    expect(
      faultsOf((plan) => {
        plan.placement[1]!.stages = ['m0'];
        plan.gears[0]!.cascade.reverse();
      }),
    ).toEqual([
      '/stages/1 is held by no device',
      '/gears/0/cascade/0/threshold is missing',
      '/gears/0/cascade/1/threshold is of the last step, which has none',
    ]);
    expect(
      faultsOf((plan) => {
        plan.gears[0]!.cascade[1]!.stage = 'm0';
        plan.gears[0]!.cascade[1]!.loadShares = [];
      }),
    ).toEqual(['/gears/0/cascade/1/stage m0 comes a second time']);
  });

  it('is faulted for an SLO, a highest load and replicas that are not those of its gears and devices', () => {
    const edits: [(plan: GearPlan) => void, string][] = [
      [(plan) => (plan.sloMs *= 2), `/sloMs is ${2 * PLAN.sloMs}; slo.latencyMs is ${PLAN.sloMs}`],
      [(plan) => (plan.maxRps = 9999), '/maxRps is 9999; the last gear is for loads up to 20'],
      [(plan) => (plan.stages[1]!.replicas = 3), '/stages/1/replicas is 3; 1 devices hold it'],
      [(plan) => (plan.stages[1]!.device = 'T4'), '/stages/1/device is T4, which is no class of the cluster'],
      [(plan) => (plan.stages[1]!.batch = 2), '/stages/1/latencyUsByBatch has no latency at its batch 2'],
      [
        (plan) => (plan.stages[1]!.latencyUsByBatch = [null]),
        '/stages/1/latencyUsByBatch has no latency at its batch 1',
      ],
      [(plan) => (plan.status = 'feasible'), '/status is feasible, and the gap of 0 says that it is optimal'],
    ];
    for (const [edit, told] of edits) expect(faultsOf(edit)).toEqual([told]);
    // Where no latency is promised, the plan's own is what its gears reach.
    const free = (plan: GearPlan) => {
      plan.slo = { accuracy: 0.5 };
      plan.sloMs = 7;
    };
    expect(faultsOf(free)).toEqual([]);
  });
});
