import { describe, expect, it } from 'vitest';
import type { CascadeSpec } from '../../src/formats/index.js';
import { questionOf, solvedFamily, writtenPlan } from '../../src/gearplan/family-question.js';
import {
  type CascadeFiles,
  cascadeOf,
  cascadeSpace,
  explainFamily,
  frontierOf,
  type GearPlanBody,
  mostAccurate,
  planFamily,
  resolveCascade,
  type SimulateGears,
} from '../../src/gearplan/index.js';
import { gearsNotHeldReasons } from '../../src/gearplan/no-plan.js';
import type { ClassProblem } from '../../src/gearplan/resolve.js';
import type { GearMethod } from '../../src/gearplan/scope.js';
import { spaceOf } from '../../src/gearplan/search-space.js';
import { answerTo, clusterOf, evenly, FILES, profileOf, questionAbout, SPEC } from './two-models.js';

const all = { mostModels: 2, orders: 'any', thresholds: 'all' };

/** planOf is the plan of the two models, where there is one. */
function planOf(spec: Partial<CascadeSpec>, files: Partial<CascadeFiles> = {}) {
  const answer = answerTo(spec, files);
  if (!('plan' in answer)) throw new Error(JSON.stringify(answer));
  return answer.plan;
}

/** reasonsOf is why there is no plan. */
function reasonsOf(spec: Partial<CascadeSpec>, files: Partial<CascadeFiles> = {}) {
  const answer = answerTo(spec, files);
  if ('plan' in answer) throw new Error(JSON.stringify(answer.plan.objective));
  return answer;
}

describe('A plan of two models', () => {
  it('has each figure that is counted by hand', () => {
    // The four samples that the first is not sure of go on: each takes 1 + 0.4 · 4 ms of the devices.
    expect(planOf({})).toMatchObject({
      name: 'cascade',
      method: 'gears',
      status: 'optimal',
      objective: { kind: 'accuracy', value: 1, bound: 1, gap: 0, scope: all },
      slo: { latencyMs: 100 },
      sloMs: 100,
      maxRps: 100,
      accuracy: 1,
      accuracyInterval: { high: 1, samples: 10 },
      requestAccuracy: 1,
      bestSingle: { model: 'b', accuracy: 0.9 },
      p95Ms: 5,
      hourlyCost: 6,
      certainty: 'top-2',
      switching: { intervalMs: 100, alpha: 8 },
      stages: [
        { name: 'a', model: 'net-0', device: 'A', virtual: 1, batch: 1, replicas: 2, accuracy: 0.6 },
        { name: 'b', model: 'net-1', latencyUsByBatch: [4000], weightBytes: 1e6, accuracy: 0.9 },
      ],
      gears: [
        {
          fromRps: 0,
          toRps: 100,
          share: 1,
          timeoutMs: 0,
          accuracy: 1,
          p95Ms: 5,
          cascade: [
            { stage: 'a', threshold: 0.9, visits: 1, minQueue: 1, loadShares: [0.5, 0.5] },
            { stage: 'b', visits: 0.4, minQueue: 1, loadShares: [0.5, 0.5] },
          ],
        },
      ],
      classes: { A: { used: 2, count: 2 } },
      placement: [
        { server: 'A-0', gpu: 0, class: 'A', stages: ['a', 'b'] },
        { server: 'A-1', gpu: 0, class: 'A', stages: ['a', 'b'] },
      ],
    });
    const plan = planOf({});
    expect(plan.gears[0]).not.toHaveProperty('limitedBy');
    expect(plan.gears[0]!.utilization).toBeCloseTo(0.13, 2);
    expect(plan.gears[0]!.cascade[1]).not.toHaveProperty('threshold');
    expect(plan).not.toHaveProperty('notes');
  });

  it('says what limits a range, and weighs ranges by their time and by their requests', () => {
    // One device has the time for 1 / 2.6 ms = 385 requests/s of the cascade, and for 1,000 of the first model.
    const plan = planOf({ load: { maxRps: 500, ranges: 2 } }, { cluster: clusterOf(1) });
    expect(plan.gears.map(({ accuracy }) => accuracy)).toEqual([1, 0.6]);
    expect(plan.accuracy).toBeCloseTo((2 * 1 + 0.6) / 3, 12);
    // Twice the time at 125 requests/s on average, and once at 375.
    expect(plan.requestAccuracy).toBeCloseTo((250 * 1 + 375 * 0.6) / 625, 12);
    expect(plan.gears[1]).toMatchObject({ limitedBy: { by: 'load', stage: 'b' }, p95Ms: 1 });
    expect(plan.p95Ms).toBe(Math.max(...plan.gears.map(({ p95Ms }) => p95Ms)));
  });

  it('leaves out models that no gear uses, and promises the latency that it found', () => {
    const plan = planOf({ slo: { accuracy: 0.9 }, name: 'named', certainty: 'entropy' });
    expect(plan).toMatchObject({
      name: 'named',
      certainty: 'entropy',
      objective: { kind: 'latency', value: 4, bound: 4 },
      stages: [{ name: 'b' }],
      placement: [{ stages: ['b'] }, { stages: ['b'] }],
      gears: [{ limitedBy: { accuracy: 1, by: 'latency', stage: 'b' } }],
    });
    expect(plan.sloMs).toBeGreaterThanOrEqual(4);
    expect(plan.sloMs).toBeLessThan(5);
  });

  it('costs what the devices cost that it needs', () => {
    // At 1,000 requests/s the cascade keeps 2.6 devices busy.
    const planner = { method: 'gears', objective: 'cost' } as const;
    const asked = { slo: { accuracy: 0.95 }, planner, load: { maxRps: 1000, ranges: 1 } };
    expect(planOf(asked, { cluster: clusterOf(5) })).toMatchObject({
      objective: { kind: 'cost', value: 9, bound: 9 },
      hourlyCost: 9,
      classes: { A: { used: 3 } },
    });
    const counted = { ...asked, planner: { method: 'gears', objective: 'devices' } as const };
    expect(planOf(counted, { cluster: clusterOf(5) }).objective).toMatchObject({ value: 3, bound: 3 });
  });

  it('has no gap where its bound is reached and not proved, and else one', () => {
    const question = questionAbout({});
    const [of] = question.resolved.classes as [ClassProblem];
    const answer = solvedFamily(question, of, questionOf(question, of));
    if (!('solution' in answer)) throw new Error(answer.status);
    const { solution } = answer;
    const objectiveBy = (status: 'optimal' | 'feasible', value: number) =>
      writtenPlan(question, of, { solution: { ...solution, value }, status }).objective;
    expect(objectiveBy('optimal', 1)).toMatchObject({ value: 1, bound: 1, gap: 0 });
    expect(objectiveBy('feasible', 1)).not.toHaveProperty('gap');
    expect(objectiveBy('feasible', 0.8)).toMatchObject({
      value: 0.8,
      bound: 1,
      gap: expect.closeTo(0.25, 9),
    });
  });

  it('puts devices on servers, and writes tensors and marks of models', () => {
    const inputs = [{ name: 'x', dtype: 'float32' as const, shape: [3] }];
    const outputs = [{ name: 'y', dtype: 'float32' as const, shape: [2] }];
    const profiles = FILES.profiles.map((one, model) => ({
      ...one,
      profile: profileOf(model, {
        model: { name: `net-${model}`, inputs, outputs },
      }),
    }));
    const plan = planOf({}, { profiles, cluster: clusterOf(2, { perServer: 2 }) });
    expect(plan.placement.map(({ server, gpu }) => [server, gpu])).toEqual([
      ['A-0', 0],
      ['A-0', 1],
    ]);
    expect(plan.stages[0]).toMatchObject({
      inputs: [{ name: 'x', from: ['request.x'] }],
      outputs,
      output: 'y',
      transferBytes: 12,
    });
  });

  it('gets better with one device more, as the outcome says', () => {
    const asked = [{ load: { maxRps: 500, ranges: 1 } }, { cluster: clusterOf(1) }] as const;
    const question = questionAbout(...asked);
    const plan = planOf(...asked);
    expect(plan.accuracy).toBe(0.6);
    expect(explainFamily(question, plan)).toMatchObject({
      oneMoreDevice: { devices: 2, accuracy: 1, accuracyInterval: { samples: 10 } },
    });
    const points = frontierOf(question, { ...plan, sloMs: 4 }).map(({ devices, latencyMs, accuracy }) => [
      devices,
      latencyMs,
      accuracy,
    ]);
    // The cascade takes up to 5 ms, and two devices have the time for it; one has it for the first model alone.
    expect(points.map(([devices, latencyMs]) => [devices, latencyMs])).toEqual(
      [1, 2].flatMap((devices) => [2, 3, 4, 6, 8].map((latencyMs) => [devices, latencyMs])),
    );
    expect(points.slice(0, 5).map((point) => point[2])).toEqual([0.6, 0.6, 0.6, 0.6, 0.6]);
    expect(points[5]![2]).toBe(0.6);
    expect(points[9]![2]).toBe(1);
  });
});

describe('A plan of two models that is simulated', () => {
  const REQUESTS = 8000;

  /** simulated answers requests in 1 ms but those that a plan has late at its highest rate. */
  function simulated(lateShare: (plan: GearPlanBody) => number): SimulateGears {
    return (plan) =>
      ({ rps }) => {
        const late = rps === plan.gears.at(-1)!.toRps ? lateShare(plan) * REQUESTS : 0;
        return {
          latenciesNs: Float64Array.from({ length: REQUESTS }, (_, i) => (i < late ? 1e9 : 1e6)),
          gears: new Int32Array(REQUESTS),
          inForce: [0],
          busiest: 0.25,
        };
      };
  }
  const answered = (spec: Partial<CascadeSpec>, lateShare: (plan: GearPlanBody) => number) =>
    planFamily({ ...questionAbout(spec), simulate: simulated(lateShare) });
  const headroomOf = ({ gears }: GearPlanBody) => gears[0]?.headroom ?? 0;

  it('has the figures of its simulations where it holds its latency at once', () => {
    const answer = answered({}, () => 0.01);
    expect(answer).toMatchObject({
      status: 'optimal',
      plan: {
        objective: { kind: 'accuracy', value: 1, bound: 1, gap: 0 },
        gears: [{ accuracy: 1, p95Ms: 1, utilization: 0.25 }],
        promise: { latencyMs: 100, quantile: 0.95 },
      },
    });
    if (!('plan' in answer)) throw new Error(answer.status);
    expect(answer.plan.gears[0]).not.toHaveProperty('headroom');
    expect(answer.trials).toBe((answerTo({}) as typeof answer).trials);
  });

  it('plans a range for more load, by steps, until it holds its latency', () => {
    const answer = answered({}, (plan) => (headroomOf(plan) < 0.02 ? 0.2 : 0.01));
    expect(answer).toMatchObject({ status: 'optimal', plan: { gears: [{ headroom: 0.02, accuracy: 1 }] } });
  });

  it('takes a cheaper cascade where there is no time for more load, and is not proved best then', () => {
    // Two devices have the time for 769 requests/s of the cascade, and for 2,000 of the first model.
    const load = { maxRps: 760, ranges: 1 };
    const answer = answered({ load }, (plan) => (headroomOf(plan) < 0.02 ? 0.2 : 0.01));
    expect(answer).toMatchObject({
      status: 'feasible',
      plan: { accuracy: 0.6, objective: { value: 0.6, bound: 1 } },
    });
  });

  it('takes more devices, or a longer latency, where that is what is searched', () => {
    const lateOnTwo = (plan: GearPlanBody) => (plan.placement.length < 2 ? 0.2 : 0.01);
    const planner = { method: 'gears', objective: 'cost' } as const;
    const slo = { latencyMs: 100, accuracy: 0.95 };
    expect(answered({ slo, planner }, lateOnTwo)).toMatchObject({
      status: 'feasible',
      plan: { objective: { value: 6, bound: 3 }, classes: { A: { used: 2 } } },
    });
    const late = answered({ slo: { accuracy: 0.9 } }, ({ sloMs }) => (sloMs < 5 ? 0.2 : 0.01));
    if (!('plan' in late)) throw new Error(late.status);
    expect(late).toMatchObject({ status: 'feasible', plan: { objective: { kind: 'latency', bound: 4 } } });
    expect(late.plan.objective.value).toBe(late.plan.sloMs);
    expect(late.plan.sloMs).toBeGreaterThanOrEqual(5);
    expect(late.plan.sloMs).toBeLessThan(5 * 1.04);
  });

  it('is refused, with the rate that it does not hold, where none holds it', () => {
    const answer = answered({}, () => 0.2);
    expect(answer).toMatchObject({
      status: 'undecided',
      reasons: [{ code: 'not-held', rps: 100, text: expect.stringMatching(/answers 80 % within 100 ms/) }],
    });
  });
});

describe('Two models under other methods', () => {
  const load = { maxRps: 500, ranges: 2 };
  const [one, files] = [{ load }, { cluster: clusterOf(1) }];
  const by = (method: string) =>
    planOf({ ...one, planner: { method } as NonNullable<CascadeSpec['planner']> }, files);
  const cascadesOf = (plan: GearPlanBody) =>
    plan.gears.map(({ cascade }) => cascade.map(({ stage }) => stage).join());

  it('have cascades by each range, one for all ranges, or single models', () => {
    expect(cascadesOf(by('gears'))).toEqual(['a,b', 'a']);
    expect(cascadesOf(by('exhaustive'))).toEqual(['a,b', 'a']);
    expect(cascadesOf(by('static'))).toEqual(['a', 'a']);
    expect(cascadesOf(by('dynba'))).toEqual(['a', 'a']);
    // One device has the time for 250 requests/s of the second model.
    expect(cascadesOf(by('ms+')).at(-1)).toBe('a');
    expect(by('static').gears[0]!.limitedBy).toMatchObject({ by: 'load', stage: 'b' });
  });
});

describe('Two models without a plan', () => {
  it('name how many devices would do where the load is too high', () => {
    const { reasons } = reasonsOf({ load: { maxRps: 1500, ranges: 1 } }, { cluster: clusterOf(1) });
    expect(reasons).toEqual([
      {
        code: 'rate-too-high',
        class: 'A',
        available: { A: 1 },
        missing: { A: 1 },
        scope: all,
        stages: ['a'],
        rps: 1500,
        text: expect.stringMatching(/^from 0 to 1500 requests\/s, 1 A .* most of all for a; 2 A would do$/),
      },
    ]);
  });

  it('name the latency that would do where it is too short', () => {
    const answer = reasonsOf({ slo: { latencyMs: 0.5 } });
    expect(answer).toMatchObject({ status: 'infeasible', feasibleLatencyMs: 1, trials: 0 });
    expect(answer.reasons).toEqual([
      {
        code: 'slo-too-short',
        class: 'A',
        available: { A: 2 },
        scope: all,
        stages: ['a'],
        rps: 100,
        sloMs: 0.5,
        text: expect.stringMatching(/within 0.5 ms on 2 A, .* a takes .*; a latency of 1 ms would do$/),
      },
    ]);
  });

  it('name where the accuracy is lost, or that no cascade has it', () => {
    const late = reasonsOf({ slo: { latencyMs: 3, accuracy: 0.9 } });
    expect(late).toMatchObject({ feasibleLatencyMs: 4 });
    expect(late.reasons).toMatchObject([
      {
        code: 'accuracy-too-high',
        stages: ['b'],
        rps: 100,
        text: expect.stringMatching(
          /more accurate than 0.6, .*0 to 100 requests\/s, where b takes too long .* a latency of 4 ms would do$/,
        ),
      },
    ]);
    const load = { maxRps: 700, ranges: 2 };
    const busy = reasonsOf({ slo: { latencyMs: 100, accuracy: 0.9 }, load }, { cluster: clusterOf(1) });
    expect(busy.reasons).toMatchObject([
      {
        missing: { A: 1 },
        stages: ['b'],
        rps: 700,
        text: expect.stringMatching(
          /than 0.8667, .*from 350 to 700 requests\/s, where b has no time .*; 2 A would do$/,
        ),
      },
    ]);
    const certainty = [new Float64Array(10).fill(0.5), new Float64Array(10).fill(0.5)];
    const unsure = reasonsOf(
      { slo: { latencyMs: 100, accuracy: 0.95 } },
      { records: { ...FILES.records, certainty } },
    );
    expect(unsure.reasons).toMatchObject([
      { text: expect.stringMatching(/are right about 0.9 of the records at most, and .* 0.95 is promised/) },
    ]);
    expect(unsure.reasons![0]).not.toHaveProperty('stages');
  });

  it('name which rate a plan did not hold', () => {
    const question = questionAbout({});
    const [of] = question.resolved.classes;
    const told = (mean: number) =>
      gearsNotHeldReasons(question, [
        { of: of!, answer: { status: 'undecided', trials: 1, notHeld: { rps: 50, mean } } as never },
        { of: of!, answer: { status: 'undecided', trials: 1 } },
      ]);
    expect(told(0.9)).toEqual([
      {
        code: 'not-held',
        class: 'A',
        rps: 50,
        attainment: 0.95,
        text: expect.stringMatching(
          /on 2 A .* answers 90 % within 100 ms at 50 requests\/s, and 95 % are promised$/,
        ),
      },
    ]);
    expect(told(0.951)[0]!.text).toMatch(/answers 95.1 % .*, which is too little to be sure of the 95 %/);
  });
});

describe('Classes of a spec of two models', () => {
  /** resolved is the spec's classes, or its faults by their places. */
  function resolved(files: Partial<CascadeFiles>, spec: Partial<CascadeSpec> = {}) {
    const found = resolveCascade({ ...SPEC, ...spec }, { ...FILES, ...files });
    if ('faults' in found) return found.faults.map(({ path, message }) => `${path} ${message}`);
    const { classes, unable, notes } = found.resolved;
    return { classes: classes.map(({ device, order }) => ({ device, order })), unable, notes };
  }
  const accuracy = { slo: { accuracy: 0.9 } } as const;

  it('have their models in the order of the least time for a sample', () => {
    expect(resolved({})).toEqual({ classes: [{ device: 'A', order: [0, 1] }], unable: [], notes: [] });
    const { profiles } = FILES;
    expect(resolved({ profiles: profiles.toReversed() })).toMatchObject({ classes: [{ order: [1, 0] }] });
    // Equally cheap models stay in their order.
    expect(resolved({ profiles: [profiles[0]!, profiles[0]!] })).toMatchObject({
      classes: [{ order: [0, 1] }],
    });
  });

  it('are compared by what is searched, and the bound of a plan is that of all of them', () => {
    /** B takes half of the time of A, or twice of it, and has another price. */
    const both = (factor: number, hourlyCost: number, counts: readonly [number, number] = [5, 5]) => {
      const profiles = FILES.profiles.map(({ path, profile }, i) => {
        const us = (factor * profile.devices.A!.blockLatencyUs[1]![1]![0]!) as number;
        const devices = { ...profile.devices, B: { blockLatencyUs: { 1: { 1: [us] } } } };
        return { path, profile: profileOf(i, { devices }) };
      });
      const [a, b] = counts;
      return {
        profiles,
        cluster: { devices: { A: { count: a, hourlyCost: 3 }, B: { count: b, hourlyCost } } },
      };
    };
    const load = { maxRps: 1000, ranges: 1 };
    const asked = (objective: 'cost' | 'devices') => ({
      slo: { accuracy: 0.95 },
      load,
      planner: { method: 'gears', objective } as const,
    });
    // The cascade keeps 2.6 devices of A busy, and half or twice as many of B.
    const costs = (factor: number, hourlyCost: number) => {
      const { objective, stages } = planOf(asked('cost'), both(factor, hourlyCost, [9, 9]));
      return [stages[0]!.device, objective.value, objective.bound];
    };
    expect(costs(0.5, 4)).toEqual(['B', 8, 8]);
    expect(costs(0.5, 5)).toEqual(['A', 9, 9]);
    expect(costs(2, 1)).toEqual(['B', 6, 6]);
    const devices = (factor: number) => {
      const { objective, stages } = planOf(asked('devices'), both(factor, 3, [9, 9]));
      return [stages[0]!.device, objective.value, objective.bound];
    };
    expect([devices(0.5), devices(2)]).toEqual([
      ['B', 2, 2],
      ['A', 3, 3],
    ]);
    // One device of A keeps up with neither cascade nor the second model, and B with all.
    const accurate = planOf({ load }, both(0.5, 3, [1, 5]));
    expect(accurate).toMatchObject({ status: 'optimal', accuracy: 1, objective: { value: 1, bound: 1 } });
    expect(accurate.stages[0]!.device).toBe('B');
    const first = planOf({ load }, both(2, 3, [5, 1]));
    expect([first.stages[0]!.device, first.accuracy]).toEqual(['A', 1]);
    const quick = planOf({ slo: { accuracy: 0.9 } }, both(0.5, 3));
    expect([quick.stages[0]!.device, quick.objective.value]).toEqual(['B', 2]);
  });

  it('are left out where models were not profiled, do not fit, or no device is free', () => {
    const devices = (more: object) => ({ cluster: { devices: { ...clusterOf(2).devices, ...more } } });
    expect(resolved(devices({ B: { count: 1 } }))).toMatchObject({
      classes: [{ device: 'A' }],
      unable: [],
      notes: [expect.stringMatching(/B is left out: a, b were not profiled on it$/)],
    });
    expect(resolved({ cluster: clusterOf(2, { memoryGiB: 0.0005 }) })).toMatchObject({
      classes: [],
      unable: [
        {
          code: 'weights-exceed-memory',
          class: 'A',
          text: 'A: a, b take more memory than it has, and plans without are not looked for',
        },
      ],
    });
    expect(resolved({ cluster: clusterOf(2, { taken: 2 }) })).toMatchObject({
      unable: [{ code: 'too-few-gpus' }],
      notes: [expect.stringMatching(/none of its devices is free$/)],
    });
    expect(resolved({ cluster: clusterOf(0) })).toMatchObject({
      unable: [{ code: 'too-few-gpus' }],
      notes: [],
    });
    const profiles = FILES.profiles.map(({ path }, model) => ({
      path,
      profile: profileOf(model, { blocks: [{ cutBytes: 0 }] as never }),
    }));
    expect(resolved({ profiles, cluster: clusterOf(2, { memoryGiB: 16 }) })).toEqual([
      expect.stringMatching(
        /^\/cluster has no class .* memory a, b take, and it has 16 GiB: give memoryGiB$/,
      ),
    ]);
    const known = SPEC.models.map((model) => ({ ...model, memoryGiB: 16 }));
    expect(resolved({ profiles, cluster: clusterOf(2, { memoryGiB: 16 }) }, { models: known })).toMatchObject(
      {
        classes: [{ device: 'A' }],
      },
    );
    expect(resolved({ cluster: clusterOf(2, { memoryGiB: 15.9 }) }, { models: known })).toMatchObject({
      classes: [],
    });
  });

  it('need a count or a price where the objective needs it', () => {
    const uncounted = { cluster: { devices: { A: {} } } };
    expect(resolved(uncounted)).toEqual(['/cluster/devices/A/count is needed: the objective is accuracy']);
    expect(resolved(uncounted, accuracy)).toEqual([
      '/cluster/devices/A/count is needed: the objective is latency',
    ]);
    const planner = (objective: 'cost' | 'devices') => ({
      ...accuracy,
      planner: { method: 'gears', objective } as const,
    });
    expect(resolved(uncounted, planner('cost'))).toEqual([
      '/cluster/devices/A/hourlyCost is needed: the objective is cost',
    ]);
    expect(resolved(uncounted, planner('devices'))).toMatchObject({ classes: [{ device: 'A' }] });
    expect(resolved({ cluster: clusterOf(4096) })).toMatchObject({ classes: [{ device: 'A' }] });
    expect(resolved({ cluster: clusterOf(4097) })).toEqual([
      expect.stringMatching(/^\/cluster\/devices\/A\/count leaves 4097 free; .* at most 4096/),
    ]);
  });

  it('need a distribution of loads that is within the highest load and has shares', () => {
    const faultsOf = (points: readonly [rps: number, share: number][]) =>
      resolved({ distribution: points.map(([rps, share]) => ({ rps, share })) });
    expect(faultsOf([[100, 1]])).toMatchObject({ notes: [] });
    expect(
      faultsOf([
        [50, 1],
        [100.5, 2],
        [200, 0],
      ]),
    ).toEqual(['/load/distribution has a load of 100.5 requests/s, above maxRps 100']);
    expect(
      faultsOf([
        [200, 0],
        [50, 1],
      ]),
    ).toMatchObject({ notes: [] });
    expect(faultsOf([[50, 0]])).toEqual(['/load/distribution has no share above 0']);
    expect(
      faultsOf([
        [50, 1e308],
        [60, 1e308],
      ]),
    ).toEqual(['/load/distribution has shares whose sum is too large for a number']);
  });
});

describe('The search among two models', () => {
  const problemOf = (spec: Partial<CascadeSpec>, cluster = clusterOf(1)) =>
    questionAbout(spec, { cluster }).resolved.classes[0]!.problem;
  const load = { maxRps: 500, ranges: 2 };
  const tools = { arrivalsOf: evenly };

  it('finds by the loop what it finds on all placements, and by chance what is drawn', () => {
    const problem = problemOf({ load });
    const chosen = (method: GearMethod, more: object = {}) => {
      const outcome = mostAccurate(problem, { ...tools, method, ...more });
      if (!('choice' in outcome)) throw new Error(outcome.status);
      const { cascades, gears } = outcome.choice;
      return gears.map(({ index }) => cascades[index]!.accuracy);
    };
    expect(chosen('loop')).toEqual([1, 0.6]);
    expect(chosen('gears')).toEqual([1, 0.6]);
    // The last of what may be drawn is always drawn.
    const last = chosen('random', { integer: (below: number) => below - 1 });
    expect(last).toHaveLength(2);
    expect(Math.max(...last)).toBeLessThanOrEqual(1);
  });

  it('says by the loop too that a load is too high or a latency too short', () => {
    const faultOf = (spec: Partial<CascadeSpec>) => {
      const outcome = mostAccurate(problemOf(spec), { ...tools, method: 'loop' });
      return 'fault' in outcome ? outcome.fault : outcome.status;
    };
    expect(faultOf({ load: { maxRps: 1500, ranges: 1 } })).toMatchObject({ by: 'load', model: 0, range: 0 });
    expect(faultOf({ slo: { latencyMs: 0.5 } })).toMatchObject({ by: 'latency', range: 0 });
  });

  it('ends where it is interrupted, and says which cascades were counted', () => {
    const problem = problemOf({ load });
    expect(mostAccurate(problem, { ...tools, interrupted: () => true })).toMatchObject({
      status: 'undecided',
    });
    const models = problem.models.map((model) => ({ ...model }));
    expect(cascadeSpace({ ...problem, models }, () => true)).toMatchObject({
      isCut: true,
      isWhole: false,
      scope: { mostModels: 1 },
    });
  });

  it('counts each sample of a cascade that its models are sure or unsure of', () => {
    const { models } = problemOf({});
    expect(cascadeOf(models, { models: [0, 1], thresholds: [0.9] }, 0.95)).toMatchObject({
      accuracy: 1,
      visits: [1, 0.4],
      workNs: 2.6e6,
      floorNs: 5e6,
    });
    // The second is as sure of all samples as is asked for, and nothing goes on.
    expect(cascadeOf(models, { models: [1, 0], thresholds: [0.5] }, 0.95)).toMatchObject({
      accuracy: 0.9,
      visits: [1, 0],
      floorNs: 4e6,
    });
    expect(cascadeOf(models, { models: [0, 1], thresholds: [0.9] }, 0.6).floorNs).toBe(1e6);
  });

  it('has single models that others surpass only where they are asked for', () => {
    const { models, ...problem } = problemOf({});
    const slow = { ...models[0]!, name: 'slow', latencyNs: models[0]!.latencyNs.map((ns) => 2 * ns) };
    const asked = { ...problem, models: [models[0]!, slow] };
    expect(spaceOf(asked, {})).toBe(cascadeSpace(asked));
    expect(spaceOf(asked, {}).cascades.map((one) => one.models)).toEqual([[0]]);
    expect(spaceOf(asked, { surpassed: true }).cascades.map((one) => one.models)).toEqual([[0], [1]]);
  });

  it('names the cheapest of several models that are right equally often', () => {
    const alike = { ...FILES.records, correct: [FILES.records.correct[1]!, FILES.records.correct[1]!] };
    expect(planOf({}, { records: alike }).bestSingle).toEqual({ model: 'a', accuracy: 0.9 });
  });
});
