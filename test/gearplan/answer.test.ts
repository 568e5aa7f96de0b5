import { describe, expect, it } from 'vitest';
import { allCascades } from '../../bench/refute/cascades/every-cascade.js';
import type { CascadeObjective, CascadeSpec } from '../../src/formats/index.js';
import { cascadeSpace } from '../../src/gearplan/frontier.js';
import {
  type FamilyAnswer,
  type GearProblem,
  planFamily,
  type ResolvedCascade,
  solveGears,
} from '../../src/gearplan/index.js';
import { fullPlacement } from '../../src/gearplan/placement.js';
import type { SimulateGears } from '../../src/gearplan/promise.js';
import { GearTrials } from '../../src/gearplan/trials.js';
import { FAMILY, FAMILY_SPEC, familyProfile } from '../cascade-specs.js';
import { describeInWholeRun, fewOf, inWholeRun, whole } from '../cases.js';
import { arrivalsOf, randomProblem } from './families.js';

const CLUSTER = { devices: { A: { count: 3, hourlyCost: 2 }, B: { count: 3, hourlyCost: 3 } } };

type Planned = Extract<FamilyAnswer, { readonly plan: object }>;

const ASKED = { objective: 'accuracy', accuracy: 0, arrivalsOf } as const;

interface Asked {
  readonly work?: number;
  readonly interrupted?: () => boolean;
  readonly objective: CascadeObjective;
  readonly accuracy: number;
  readonly problems: readonly GearProblem[];
  readonly simulate?: SimulateGears;
}

/** planned answers a question on classes A, B with a problem each. Their plans are not written from profiles. */
function planned({ objective, accuracy, problems, ...end }: Asked): FamilyAnswer {
  const classes = problems.map((problem, i) => ({
    device: 'AB'[i] as string,
    problem,
    order: problem.models.map((_, model) => model),
    unitCost: 2 + i,
  }));
  const resolved: ResolvedCascade = { objective, accuracy, classes, unable: [], notes: [] };
  const models = FAMILY.map((_, model) => {
    const profile = familyProfile(model);
    const [measured] = Object.values(profile.devices);
    return { path: '', profile: { ...profile, devices: { A: measured!, B: measured! } } };
  });
  const spec: CascadeSpec = { ...FAMILY_SPEC, slo: { latencyMs: 1e3, accuracy } };
  const records = { correct: [], certainty: [] } as never;
  const files = { cluster: CLUSTER, profiles: models, records };
  return planFamily({ ...end, spec, files, resolved, arrivalsOf, integer: () => 0 });
}

/** twoClasses is one problem on two classes, the second of which is faster or slower. */
function twoClasses(seed: number, factor: number): [GearProblem, GearProblem] {
  const problem = randomProblem(seed);
  const models = problem.models.map((model) => ({
    ...model,
    latencyNs: model.latencyNs.map((ns) => Math.round(ns * factor)),
  }));
  return [problem, { ...problem, models }];
}

/** idle is a problem on two like classes with a load that any cascade can serve. */
function idle(seed: number): GearProblem[] {
  return twoClasses(seed, 1).map((problem) => ({
    ...problem,
    ranges: problem.ranges.map(({ fromRps, toRps, share }) => ({
      fromRps: fromRps / 1e3,
      toRps: toRps / 1e3,
      share,
    })),
  }));
}

describe('planFamily() on two classes', () => {
  for (const objective of fewOf(['accuracy', 'latency', 'devices', 'cost'] as const, 1))
    it(`${objective}: the plan is the better of the two, and its bound and proof hold for both`, () => {
      const seen = { optimal: 0, feasible: 0 };
      for (let seed = 1; seed <= whole(30, 60); seed++) {
        const problems = twoClasses(seed, 0.4 + (seed % 5) / 2.5);
        const accuracy = objective === 'accuracy' ? 0 : 0.5;
        const alone = problems.map((problem, i) =>
          solveGears({
            problem,
            objective,
            accuracy,
            arrivalsOf,
            ...(objective === 'cost' ? { unitCost: 2 + i } : {}),
          }),
        );
        const solutions = alone.flatMap((answer) => ('solution' in answer ? [answer] : []));
        const answer = planned({ objective, accuracy, problems });
        if (solutions.length === 0) {
          expect('plan' in answer).toBe(false);
          continue;
        }
        if (!('plan' in answer)) throw new Error(`seed ${seed}: ${answer.status}`);
        const sign = objective === 'accuracy' ? 1 : -1;
        const values = solutions.map(({ solution }) => sign * solution.value);
        const bounds = solutions.map(({ solution }) => sign * solution.bound);
        const { value, bound } = answer.plan.objective;
        expect(sign * value).toBe(Math.max(...values));
        expect(sign * bound).toBeGreaterThanOrEqual(Math.max(...bounds));
        const isProved = sign * bound <= sign * value + 1e-12;
        expect(answer.status).toBe(isProved ? 'optimal' : 'feasible');
        seen[answer.status]++;
      }
      expect(seen.optimal).toBeGreaterThan(0);
      expect(seen.feasible).toBeGreaterThan(0);
    });

  it('is proved best where the other class has no plan', () => {
    const [first, second] = idle(1) as [GearProblem, GearProblem];
    const problem = { ...first, latencyNs: 1e15 };
    const late = { ...second, latencyNs: 1 };
    expect(solveGears({ ...ASKED, problem })).toMatchObject({ status: 'optimal' });
    expect(solveGears({ ...ASKED, problem: late })).toMatchObject({ status: 'infeasible' });
    expect(planned({ ...ASKED, problems: [problem, late] })).toMatchObject({ status: 'optimal' });
  });

  it('is not proved best where the search on the other class was cut short, which may serve better', () => {
    const [first, second] = idle(1) as [GearProblem, GearProblem];
    const hasLess = { ...first, models: first.models.slice(0, 1), latencyNs: 1e15 };
    const hasMore = { ...second, latencyNs: 1e15 };
    const alone = [hasLess, hasMore].map((problem) => solveGears({ ...ASKED, problem }));
    const [less, more] = alone.map((answer) => ('solution' in answer ? answer.solution.value : Number.NaN));
    expect(alone[0]).toMatchObject({ status: 'optimal' });
    expect(more).toBeGreaterThan(less as number);
    let asked = 0;
    solveGears({ ...ASKED, problem: hasLess, interrupted: () => ++asked < 0 });
    const interrupted = () => --asked < 0;
    const { status, plan } = planned({ ...ASKED, problems: [hasLess, hasMore], interrupted }) as Planned;
    expect({ status, value: plan.objective.value }).toEqual({ status: 'feasible', value: less });
    expect(plan.objective.bound).toBeGreaterThanOrEqual(more as number);
  });
});

describe('planFamily() where the search leaves open whether there is a plan', () => {
  /** open gives the answer of gears, and that of trying every cascade, where gears leave it open. */
  function open(problem: GearProblem, accuracy: number) {
    const asked = { ...ASKED, problem, accuracy };
    const byGears = solveGears(asked);
    if (byGears.status !== 'undecided') return undefined;
    return { byGears, whole: solveGears({ ...asked, method: 'exhaustive' }) };
  }

  it('finds a plan that only trying every cascade finds', () => {
    // Of 4,000 random problems, this is the one in which a cascade holds by chance where a cheaper one did not.
    const problem = randomProblem(1805);
    const accuracy = 0.715;
    const { whole } = open(problem, accuracy)!;
    const { status, plan } = planned({ ...ASKED, accuracy, problems: [problem] }) as Planned;
    expect(status).toBe(whole.status);
    expect(plan.objective.value).toBe('solution' in whole && whole.solution.value);
    expect(plan.objective.value).toBeGreaterThan(accuracy);
  });

  inWholeRun('says why it found none after trying every cascade, on every class that was left open', () => {
    let seen = 0;
    for (let seed = 1; seed <= 150; seed++) {
      const problem = randomProblem(seed);
      const answer = solveGears({ ...ASKED, problem });
      if (!('solution' in answer)) continue;
      const { value, bound } = answer.solution;
      const accuracy = value + 0.25 * (bound - value);
      if (open(problem, accuracy)?.whole.status !== 'infeasible') continue;
      const told = { code: 'accuracy-too-high' };
      expect(planned({ ...ASKED, accuracy, problems: [problem, problem] })).toMatchObject({
        // Simulations say it, and prove nothing.
        status: 'undecided',
        reasons: [told, told],
      });
      seen++;
    }
    expect(seen).toBeGreaterThan(10);
  });

  it('tries no more than the work that is left, and nothing where a person ended the search', () => {
    const asked = { ...ASKED, accuracy: 0.715, problems: [randomProblem(1805)] };
    const { byGears, whole } = open(randomProblem(1805), 0.715)!;
    const { trials } = byGears as { trials: number };
    expect(planned(asked).trials).toBe(trials + ('solution' in whole ? whole.solution.trials : Number.NaN));
    expect(planned({ ...asked, work: trials })).toEqual({ status: 'undecided', trials });
    expect(planned({ ...asked, interrupted: () => true }).status).toBe('undecided');
  });
});

describe('planFamily() where a model surpasses another by a batch that seldom forms', () => {
  const drawn = randomProblem(1);
  const correct = (right: number) => Uint8Array.from({ length: 40 }, (_, i) => (i < right ? 1 : 0));
  const model = (i: number, ms: readonly number[], right: number) => ({
    ...(drawn.models[0] as GearProblem['models'][number]),
    name: FAMILY[i] as string,
    latencyNs: Float64Array.from(ms, (one) => 1e6 * one),
    memoryBytes: 1,
    correct: correct(right),
    certainty: new Float64Array(40).fill(1),
  });
  /** The first is right more often, and takes less for a sample alone; its larger batches take very long. */
  const models = [model(0, [6.4, 38, 55, 71], 29), model(1, [8.6, 14.5, 20.5, 26.4], 26)];
  const problem: GearProblem = {
    models,
    devices: 3,
    memoryBytes: 10,
    latencyNs: 64e6,
    quantile: 0.95,
    thresholds: 3,
    ranges: [{ fromRps: 0, toRps: 320, share: 1 }],
  };

  it('has the surpassed model serve where nothing else does', () => {
    expect(solveGears({ ...ASKED, problem })).toMatchObject({ reason: { tried: 1 } });
    const { plan, trials } = planned({ ...ASKED, problems: [problem] }) as Planned;
    expect(plan.gears.map(({ cascade }) => cascade.map(({ stage }) => stage))).toEqual([[FAMILY[1]]]);
    expect(plan.accuracy).toBe(26 / 40);
    const first = solveGears({ ...ASKED, problem }) as { trials: number };
    expect(planned({ ...ASKED, problems: [problem], work: trials }).status).not.toBe('undecided');
    expect(planned({ ...ASKED, problems: [problem], work: first.trials }).status).toBe('undecided');
  });

  it('does not try it where a plan is there, a bound proves that none is, or the search was interrupted', () => {
    const easy = { ...problem, ranges: [{ fromRps: 0, toRps: 1, share: 1 }] };
    expect((planned({ ...ASKED, problems: [easy] }) as Planned).plan.accuracy).toBe(29 / 40);
    const hard = { ...problem, latencyNs: 1e6 };
    expect(planned({ ...ASKED, problems: [hard] }).status).toBe('infeasible');
    expect(planned({ ...ASKED, problems: [problem], interrupted: () => true }).status).toBe('undecided');
  });
});

describe('planFamily() says what would mend a spec without a plan', () => {
  /** reasonsOf gives the reasons why there is no plan; none where there is one. */
  const reasonsOf = (problem: GearProblem, accuracy = 0) => {
    const answer = planned({ ...ASKED, accuracy, problems: [problem] });
    return 'reasons' in answer ? (answer.reasons ?? []) : [];
  };

  inWholeRun('with latencies and numbers of devices that do, as they are written', () => {
    const seen = { latency: 0, devices: 0 };
    for (let seed = 1; seed <= whole(30, 60); seed++) {
      const drawn = randomProblem(seed);
      const problem = { ...drawn, latencyNs: drawn.latencyNs / 3 };
      for (const { text } of reasonsOf(problem)) {
        const latencyMs = /a latency of ([\d.e+-]+) ms would do/.exec(text)?.[1];
        const devices = /(\d+) A would do/.exec(text)?.[1];
        if (latencyMs !== undefined) {
          seen.latency++;
          const longer = { ...problem, latencyNs: Number(latencyMs) * 1e6 };
          expect(solveGears({ ...ASKED, problem: longer }).status, `seed ${seed}`).toMatch(
            /optimal|^feasible/,
          );
        }
        if (devices !== undefined) {
          seen.devices++;
          const more = { ...problem, devices: Number(devices) };
          expect(solveGears({ ...ASKED, problem: more }).status, `seed ${seed}`).toMatch(/optimal|^feasible/);
        }
      }
    }
    expect(seen.latency).toBeGreaterThan(whole(5, 10));
    expect(seen.devices).toBeGreaterThan(whole(5, 10));
  });

  it('and where too little is right, in which range most of that is lost, or that no cascade does better', () => {
    const seen = { lost: 0, best: 0 };
    for (let seed = 1; seed <= whole(30, 60); seed++) {
      const problem = randomProblem(seed);
      const frontier = cascadeSpace(problem).cascades;
      const best = frontier[0]!.accuracy;
      const [beyond] = reasonsOf(problem, (best + 1) / 2);
      if (beyond?.code === 'accuracy-too-high') {
        seen.best++;
        expect(beyond.text).toContain('neither more devices nor a longer latency mends that');
        expect(beyond).not.toHaveProperty('stages');
      }
      const [reason] = reasonsOf(problem, best);
      if (reason?.code !== 'accuracy-too-high' || reason.rps === undefined) continue;
      seen.lost++;
      const range = problem.ranges.findIndex(({ toRps }) => toRps === reason.rps);
      expect(range).toBeGreaterThanOrEqual(0);
      expect(problem.models.map(({ name }) => name)).toContain(reason.stages![0]);
      const bytes = problem.models.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0);
      if (bytes <= problem.memoryBytes) {
        // The best cascade of all does not serve that range, though every device holds all models.
        const placement = fullPlacement(problem.models.length, problem.devices);
        const tried = new GearTrials(problem, arrivalsOf).try(range, frontier[0]!, placement);
        expect('error' in tried, `seed ${seed}`).toBe(true);
      }
      const most = Number(/more accurate than ([\d.]+),/.exec(reason.text)?.[1]);
      expect(most).toBeLessThan(best);
    }
    expect(seen.best).toBeGreaterThan(20);
    expect(seen.lost).toBeGreaterThan(10);
  });
});

describe('solveGears() with one cascade for all loads', () => {
  const methods = ['static', 'dynba'] as const;

  it('says of the next more accurate cascade why it does not serve all loads', () => {
    const seen = { load: 0, latency: 0 };
    for (let seed = 1; seed <= whole(30, 60); seed++)
      for (const method of methods) {
        const problem = randomProblem(seed);
        const answer = solveGears({ ...ASKED, problem, method });
        if (!('solution' in answer)) continue;
        const { cascades, gears, unchanging } = answer.solution.choice;
        const next = cascades[gears[0]!.index - 1];
        expect(unchanging, `seed ${seed}`).toBeDefined();
        if (unchanging?.fault === undefined || next === undefined) continue;
        const { by, range, model } = unchanging.fault;
        seen[by]++;
        // It uses the model that is named, whose work or whose time is too much in that range on the best placement there is.
        expect(next.models, `seed ${seed}`).toContain(model);
        const tried = new GearTrials(problem, arrivalsOf);
        const full = fullPlacement(problem.models.length, problem.devices);
        const bytes = problem.models.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0);
        if (bytes <= problem.memoryBytes)
          expect(tried.try(range, next, full), `seed ${seed}`).toMatchObject({ error: { by, model } });
      }
    expect(seen.load).toBeGreaterThan(whole(2, 5));
    expect(seen.latency).toBeGreaterThan(whole(2, 5));
  });

  it('says why the cascade of least work has no plan, where none has', () => {
    let seen = 0;
    for (let seed = 1; seed <= 40; seed++)
      for (const method of methods) {
        const drawn = randomProblem(seed);
        const problem = { ...drawn, latencyNs: 1 };
        const frontier = cascadeSpace(method === 'dynba' ? { ...problem, thresholds: 0 } : problem).cascades;
        const cheapest = frontier.reduce((a, b) => (b.workNs < a.workNs ? b : a));
        const answer = solveGears({ ...ASKED, problem, method });
        if (answer.status !== 'infeasible' || answer.reason.code !== 'range') continue;
        seen++;
        expect(cheapest.models, `seed ${seed}`).toContain(answer.reason.fault.model);
      }
    expect(seen).toBeGreaterThan(10);
  });
});

describe('An interruption, whenever it comes,', () => {
  /** asIfLight is a problem with so few requests and so much time that the best cascade serves it. */
  function asIfLight(problem: GearProblem): GearProblem {
    return {
      ...problem,
      latencyNs: 1e12,
      devices: 2,
      memoryBytes: 100,
      ranges: [{ fromRps: 0, toRps: 1e-3, share: 1 }],
    };
  }

  function interruptedAfter(checks: number): () => boolean {
    let left = checks;
    return () => left-- <= 0;
  }

  it('never makes an accuracy that a cascade has out of reach', () => {
    let undecided = 0;
    for (const seed of [1, 2, 3, 4, 5, 6]) {
      const problem = asIfLight(randomProblem(seed));
      const accuracy = Math.max(...allCascades(problem.models, problem).map((one) => one.accuracy));
      for (let checks = 0; checks < 40; checks++) {
        // The models are others each time, so that nothing is remembered.
        const asked = { ...problem, models: [...problem.models] };
        const interrupted = interruptedAfter(checks);
        const answer = solveGears({ ...ASKED, problem: asked, accuracy: accuracy - 1e-9, interrupted });
        expect(answer.status, `seed ${seed}, ${checks} checks`).not.toBe('infeasible');
        if (answer.status === 'undecided') undecided += 1;
        if (answer.status === 'optimal') expect(answer.solution.value).toBeCloseTo(accuracy, 9);
      }
    }
    expect(undecided).toBeGreaterThan(20);
  });

  inWholeRun('leaves no proof that is about more cascades than were counted for each class', () => {
    let cut = 0;
    for (const seed of whole([1, 2], [1, 2, 3, 4])) {
      const [one, other] = twoClasses(seed, 0.5).map(asIfLight) as [GearProblem, GearProblem];
      // The second class cannot serve by its cheapest models alone what the first one serves.
      const accuracy = Math.max(...allCascades(other.models, other).map((each) => each.accuracy));
      const worse = { ...one, ranges: [{ fromRps: 0, toRps: 1e-3, share: 1 }] };
      const models = worse.models.map((model) => ({ ...model, correct: model.correct.map(() => 0) }));
      for (let checks = 0; checks < 60; checks++) {
        const problems = [
          { ...worse, models },
          { ...other, models: [...other.models] },
        ];
        const interrupted = interruptedAfter(checks);
        const answer = planned({ objective: 'accuracy', accuracy: 0, problems, interrupted });
        if (!('plan' in answer)) continue;
        const { value, bound, scope } = answer.plan.objective;
        const isWhole = scope?.mostModels === Math.min(4, other.models.length);
        if (isWhole) expect(bound, `seed ${seed}, ${checks} checks`).toBeGreaterThanOrEqual(accuracy - 1e-9);
        else cut += 1;
        if (answer.status === 'optimal') expect(value).toBeCloseTo(accuracy, 9);
      }
    }
    expect(cut).toBeGreaterThan(0);
  });
});

describe('an accuracy that is promised', () => {
  it('is reached by a cascade that is right so often, though its sum over the ranges comes out below', () => {
    const model = { name: 'm', latencyNs: Float64Array.of(1e6), memoryBytes: 1 };
    const correct = Uint8Array.of(1, 1, 1, 0, 1, 0, 1);
    const ranges = [10, 20, 30].map((toRps) => ({ fromRps: toRps - 10, toRps, share: 1 / 3 }));
    const asked = ranges.reduce((sum, { share }) => sum + share * (5 / 7), 0);
    const problem: GearProblem = {
      models: [{ ...model, correct, certainty: new Float64Array(7) }],
      devices: 1,
      memoryBytes: 2,
      ranges,
      latencyNs: 1e9,
      quantile: 0.9,
      thresholds: 4,
    };
    expect(asked).toBeLessThan(5 / 7);
    const answer = solveGears({ problem, objective: 'devices', accuracy: 5 / 7, arrivalsOf });
    expect(answer).toMatchObject({ status: 'optimal', solution: { value: 1 } });
    expect(solveGears({ problem, objective: 'devices', accuracy: 5 / 7 + 1e-9, arrivalsOf }).status).toBe(
      'infeasible',
    );
  });
});

describeInWholeRun('planFamily() where no plan holds its latency in simulation', () => {
  /** inTime simulates nothing: of a run, so many requests are in time, by its seed. */
  const inTime =
    (share: (seed: number) => number): SimulateGears =>
    () =>
    (_, seed) => ({
      latenciesNs: Float64Array.from({ length: 2000 }, (_, i) =>
        i < 2000 * share(seed) ? 0 : Number.POSITIVE_INFINITY,
      ),
      gears: new Int32Array(2000),
      inForce: [0],
      busiest: 0.5,
    });

  /** reasonsOf gives what is told of random problems that have a plan, none of which holds. */
  function reasonsOf(simulate: (quantile: number) => SimulateGears) {
    return Array.from({ length: whole(20, 40) }, (_, seed) => randomProblem(seed)).flatMap((problem) => {
      if (!('solution' in solveGears({ ...ASKED, problem }))) return [];
      const answer = planned({ ...ASKED, problems: [problem], simulate: simulate(problem.quantile) });
      expect(answer).toMatchObject({ status: 'undecided', reasons: [{ code: 'not-held', class: 'A' }] });
      const { reasons: [reason] = [] } = answer as { reasons?: { text: string; rps: number }[] };
      const rates = problem.ranges.map(({ toRps }) => toRps);
      expect(reason!.rps).toBeLessThanOrEqual(Math.max(...rates));
      return [{ text: reason!.text, promised: 100 * problem.quantile }];
    });
  }

  it('reports what the last plan answers, and more than that as what is promised', () => {
    const told = reasonsOf((quantile) => inTime(() => Math.floor(2000 * quantile - 1) / 2000));
    expect(told.length).toBeGreaterThan(whole(4, 10));
    for (const { text, promised } of told) {
      const [, answers, asked] = /answers ([\d.]+) % within .*, and ([\d.]+) % are promised$/.exec(text)!;
      expect(Number(asked)).toBe(promised);
      expect(Number(answers)).toBeCloseTo(Math.floor(20 * promised - 1) / 20, 1);
      expect(Number(answers)).toBeLessThan(promised);
    }
  });

  inWholeRun('does not set a mean above what is promised against it', () => {
    const told = reasonsOf((quantile) => inTime((seed) => (seed % 2 === 0 ? 1 : 2 * quantile - 0.999)));
    expect(told.length).toBeGreaterThan(whole(4, 10));
    for (const { text, promised } of told) {
      const [, answers, asked] =
        /answers ([\d.]+) % .*, which is too little to be sure of the ([\d.]+) % that are promised$/.exec(
          text,
        )!;
      expect(Number(asked)).toBe(promised);
      expect(Number(answers)).toBeGreaterThanOrEqual(promised);
    }
  });
});

describe('The accuracy over all requests', () => {
  it('weighs each gear by the requests of its range, whose loads are equally likely', () => {
    let differs = 0;
    for (let seed = 1; seed <= 40; seed++) {
      const problem = randomProblem(seed);
      const answer = planned({ objective: 'accuracy', accuracy: 0, problems: [problem] });
      if (!('plan' in answer)) continue;
      const { gears, requestAccuracy, accuracy } = answer.plan;
      // Loads of each range are taken one by one, in the middles of equal parts.
      const loads = gears.flatMap(({ fromRps, toRps, share, accuracy: right }) =>
        Array.from({ length: 100 }, (_, k) => ({
          requests: share * (fromRps + ((toRps - fromRps) * (k + 0.5)) / 100),
          right,
        })),
      );
      const all = loads.reduce((sum, { requests }) => sum + requests, 0);
      const right = loads.reduce((sum, load) => sum + load.requests * load.right, 0);
      expect(requestAccuracy, `seed ${seed}`).toBeCloseTo(right / all, 9);
      if (Math.abs(requestAccuracy - accuracy) > 1e-3) differs += 1;
    }
    expect(differs).toBeGreaterThan(3);
  });
});
