import { beforeAll, describe, expect, test } from 'vitest';
import { randomProblem, type Shape } from '../../bench/refute/pooled/random-problem.js';
import { checkPlan } from '../../src/checks/index.js';
import type { DeviceClass, PooledSpec, PooledSpecModel, Profile } from '../../src/formats/index.js';
import { type HighsEngine, loadHighs } from '../../src/lp/index.js';
import { type PooledProblem, planPooled, resolvePooled } from '../../src/milp/index.js';
import { cases } from '../cases.js';

const SHAPE: Shape = { classes: 2, blocks: 2, batches: 2, virtual: [1, 2], models: 2, mostGpus: 4 };

let highs: HighsEngine;
beforeAll(async () => {
  highs = await loadHighs();
});

/** Values that a person may write into a spec: into its first class, its first model, its cluster. */
interface Absurd {
  readonly device?: Partial<DeviceClass>;
  readonly model?: Partial<PooledSpecModel>;
  readonly networkGbps?: number;
  readonly latencyFactor?: number;
}

function problemWith(absurd: Absurd, planner: PooledSpec['planner']): PooledProblem {
  const { cluster: plain, models: made } = randomProblem(1, SHAPE);
  const devices = { ...plain.devices, C0: { ...(plain.devices.C0 as DeviceClass), ...absurd.device } };
  const networkGbps = absurd.networkGbps ?? (plain.networkGbps as number);
  const cluster = { ...plain, devices, networkGbps };
  const models = made.map(({ spec }, m) => (m === 0 ? { ...spec, ...absurd.model } : spec));
  const profiles = made.map(({ profile, name }, m) => ({
    profile: m === 0 ? slower(profile, absurd.latencyFactor ?? 1) : profile,
    path: `${name}.json`,
  }));
  const spec: PooledSpec = { kind: 'pooled', cluster, models, planner: { sloMargin: 0.1, ...planner } };
  return resolvePooled(spec, { cluster, profiles, where: 'spec.yaml' });
}

function slower(profile: Profile, factor: number): Profile {
  const text = JSON.stringify(profile.devices, (_, value) =>
    Array.isArray(value) ? value.map((us) => us * factor) : value,
  );
  return { ...profile, devices: JSON.parse(text) };
}

const PLANNERS: readonly PooledSpec['planner'][] = [
  { objective: 'throughput', wholeGpusPer: 'pool' },
  { objective: 'throughput', wholeGpusPer: 'class', virtualPer: 'server' },
  { objective: 'cost', wholeGpusPer: 'position' },
  { objective: 'cost', wholeGpusPer: 'pool', virtualPer: 'server' },
];

describe('planPooled() answers absurd values with a plan that the checker accepts, or with infeasible:', () => {
  test.each<[string, Absurd]>([
    ['servers of 10³⁰⁰ GPUs', { device: { perServer: 1e300 } }],
    ['servers of 2⁵³ GPUs', { device: { perServer: 2 ** 53 } }],
    ['a weight of 10¹⁸', { model: { weight: 1e18 } }],
    ['a weight of 10⁻³⁰⁰', { model: { weight: 1e-299 } }],
    ['a rate of 10¹⁸', { model: { rps: 1e18 } }],
    ['a rate of 10⁻³⁰⁰', { model: { rps: 1e-300 } }],
    ['a price of 10³⁰⁰', { device: { hourlyCost: 1e300 } }],
    ['a price of 10⁻³⁰⁰', { device: { hourlyCost: 1e-300 } }],
    ['latencies of 10¹⁵ µs', { latencyFactor: 1e12 }],
    ['latencies of 10¹⁵ µs and an SLO as long', { latencyFactor: 1e12, model: { sloMs: 1e13 } }],
    ['an SLO of 10³⁰⁰ ms', { model: { sloMs: 1e300 } }],
    ['an SLO of 10⁻³⁰⁰ ms', { model: { sloMs: 1e-300 } }],
    ['a network of 10³⁰⁰ Gbit/s', { networkGbps: 1e300 }],
    ['a network of 10⁻³⁰⁰ Gbit/s', { networkGbps: 1e-300 }],
    ['memory of 10³⁰⁰ GiB', { device: { memoryGiB: 1e300 } }],
  ])('%s', (_, absurd) => {
    // The two middle entries differ in every field.
    for (const planner of cases(PLANNERS.slice(1, 3), PLANNERS)) {
      const problem = problemWith(absurd, planner);
      const outcome = planPooled(problem, { highs, work: cases(10, 50) });
      if (!('plan' in outcome)) expect(['infeasible', 'no-plan-in-time']).toContain(outcome.status);
      else expect({ planner, faults: checkPlan(outcome.plan, problem) }).toEqual({ planner, faults: [] });
    }
  });

  test('a million GPUs, in a plan of few entries', () => {
    const problem = problemWith({ device: { count: 1e6 } }, { objective: 'throughput' });
    const outcome = planPooled(problem, { highs, work: 50 });
    if (!('plan' in outcome)) throw new Error(outcome.status);
    expect(checkPlan(outcome.plan, problem)).toEqual([]);
    expect(outcome.plan.classes.C0!.used).toBeGreaterThan(0.99e6);
    expect(outcome.plan.placement.length).toBeLessThan(20_000);
  });
});

describe('resolvePooled() names the place of a value that no plan can be made with', () => {
  test.each<[string, Absurd, RegExp]>([
    ['too many GPUs', { device: { count: 2 ** 53 } }, /\/cluster\/devices\/C0\/count: 9007199254740992 GPUs/],
    [
      'a GPU in too many parts',
      { device: { virtual: [1, 2 ** 53] } },
      /\/cluster\/devices\/C0\/virtual: a GPU cannot be 9007199254740992 virtual ones/,
    ],
    ['a weight too small for its figures', { model: { weight: 5e-324 } }, /\/models\/0\/weight: 5e-324 is/],
  ])('%s', (_, absurd, message) => {
    expect(() => problemWith(absurd, {})).toThrow(message);
  });

  test('accepts the largest count and the smallest weight that it allows', () => {
    expect(problemWith({ device: { count: 1e9 } }, {}).cluster.devices.C0?.count).toBe(1e9);
    expect(() => problemWith({ device: { count: 1e9 + 1 } }, {})).toThrow(/count/);
    const sizes = (most: number) => () => problemWith({ device: { virtual: [1, most] } }, {});
    expect(sizes(1001)).toThrow(/cannot be 1001 virtual ones/);
    expect(sizes(1000)).not.toThrow(/virtual ones/);
    expect(problemWith({ model: { weight: 1e-299 } }, {}).models[0]?.weight).toBe(1e-299);
    expect(problemWith({ model: { weight: 0 } }, {}).models[0]?.weight).toBe(0);
  });
});
