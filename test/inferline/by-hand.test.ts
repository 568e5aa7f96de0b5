import { describe, expect, it } from 'vitest';
import { attainmentsOf, ownLatencies } from '../../src/inferline/attainments.js';
import { missedObjectives, unheldText } from '../../src/inferline/confirmed.js';
import { explainPipeline } from '../../src/inferline/explain.js';
import { estimatorOf, type PlanningProblem, planPipeline } from '../../src/inferline/index.js';
import type { InfeasibleReason } from '../../src/inferline/infeasible.js';
import { keepingUp, replicaRps } from '../../src/inferline/keeping-up.js';
import { infeasible, openReason, percentText } from '../../src/inferline/reasons.js';
import { readStageGraph } from '../../src/plans/index.js';

const MS = 1e6;
const ms = (...values: number[]) => Float64Array.from(values, (value) => value * MS);

/** A stage takes 10 ms on a CPU, and 2 ms on a GPU or 3 ms for two rows together. */
const problemOf = (gpuCost: number, change: Partial<PlanningProblem> = {}): PlanningProblem => ({
  graph: readStageGraph({ stages: [{ name: 's' }] }).graph,
  stages: [
    {
      candidates: [
        { device: 'cpu', batches: [1], latencyNs: ms(10), hourlyCost: 1 },
        { device: 'gpu', batches: [1, 2], latencyNs: ms(2, 3), hourlyCost: gpuCost },
      ],
    },
  ],
  objectives: [{ attainment: 1, sloNs: 12 * MS }],
  counts: {},
  ...change,
});

const CONFIGURED = { candidate: Int32Array.of(0), batch: Int32Array.of(1), replicas: Int32Array.of(1) };

/** A request comes every 4 ms. */
const sample = {
  atNs: Float64Array.from({ length: 50 }, (_, i) => 4 * MS * (i + 1)),
  verdicts: [undefined],
};
const inputOf = (problem: PlanningProblem) => ({ problem, samples: [sample], estimatorOf });

describe('A plan of one stage', () => {
  for (const method of ['inferline', 'exact'] as const)
    it(`is the cheapest that is in time, by ${method}`, () => {
      // Three CPUs keep up with a request every 4 ms, and one GPU does.
      expect(planPipeline(inputOf(problemOf(2.5)), method)).toMatchObject({
        status: 'feasible',
        hourlyCost: 2.5,
        configuration: { candidate: Int32Array.of(1), replicas: Int32Array.of(1) },
      });
      const many = planPipeline(inputOf(problemOf(3.5)), method);
      if (many.status !== 'feasible') throw new Error(many.status);
      expect(many.hourlyCost).toBeGreaterThanOrEqual(many.lowerBound);
      expect(many.hourlyCost).toBe(method === 'exact' ? 3 : many.greedyCost);
      expect(many.lowerBound).toBeGreaterThan(0);
      expect(many.lowerBound).toBeLessThanOrEqual(3);
    });

  it('is explained by what each change of it would bring', () => {
    const input = inputOf(problemOf(3.5));
    const three = { candidate: Int32Array.of(0), batch: Int32Array.of(1), replicas: Int32Array.of(3) };
    const { path, stages } = explainPipeline(input, three, [
      {
        action: 'remove-replica' as never,
        stage: 0,
        from: { candidate: 0, batch: 1, replicas: 4 },
        to: { candidate: 0, batch: 1, replicas: 3 },
        hourlyCost: 3,
      },
    ]);
    expect(path).toEqual([
      {
        action: 'remove-replica',
        stage: 's',
        from: { device: 'cpu', batch: 1, replicas: 4 },
        to: { device: 'cpu', batch: 1, replicas: 3 },
        hourlyCost: 3,
      },
    ]);
    const [told] = stages;
    expect(told).toMatchObject({ stage: 's', oneMore: [1] });
    // Two CPUs fall behind by 1 ms with each request: the first four, in pairs, take up to 12 ms.
    expect(told!.oneLess![0]).toBeCloseTo(4 / 50, 12);
    expect(told).not.toHaveProperty('oneLessRps');
    expect(told!.classes).toEqual([
      { device: 'cpu', option: { device: 'cpu', batch: 1, replicas: 3 }, extraCost: 0 },
      { device: 'gpu', option: { device: 'gpu', batch: 1, replicas: 1 }, extraCost: 0.5 },
    ]);
    const single = { ...three, replicas: Int32Array.of(1), candidate: Int32Array.of(1) };
    expect(explainPipeline(input, single, []).stages[0]).not.toHaveProperty('oneLess');
    const limited = inputOf(problemOf(3.5, { counts: { gpu: 0 } }));
    expect(explainPipeline(limited, three, []).stages[0]!.classes[1]).toEqual({ device: 'gpu' });
    const asked = problemOf(3.5, { load: { rps: 250, visits: [1] } });
    expect(explainPipeline(inputOf(asked), three, []).stages[0]).toMatchObject({ oneLessRps: 200 });
  });

  it('is none, with the reason, where the SLO is too short or devices are too few', () => {
    const of = (change: Partial<PlanningProblem>) => planPipeline(inputOf(problemOf(2.5, change)), 'exact');
    expect(of({ objectives: [{ attainment: 1, sloNs: 1.5 * MS }] })).toMatchObject({
      status: 'infeasible',
      reasons: [{ code: 'slo-too-short', stages: ['s'], longestPathNs: 2 * MS, leastSloNs: 2 * MS }],
      least: { sloNs: [2 * MS], hourlyCost: 2.5 },
    });
    expect(of({ counts: { cpu: 2, gpu: 0 } })).toMatchObject({
      status: 'infeasible',
      reasons: [
        {
          code: 'too-few-replicas',
          stage: 's',
          classes: ['cpu', 'gpu'],
          least: [
            { device: 'cpu', needed: 3, count: 2 },
            { device: 'gpu', needed: 1, count: 0 },
          ],
        },
      ],
    });
    // The sample asks for 250 requests/s, and the load for 1,000: one GPU serves two thirds of that.
    expect(of({ counts: { cpu: 3, gpu: 1 }, load: { rps: 1000, visits: [1] } })).toMatchObject({
      reasons: [{ code: 'cannot-keep-up', stage: 's', share: expect.closeTo(2 / 3, 9) }],
    });
  });
});

describe('The replicas that keep up with a load', () => {
  it('are as many as its rate needs in full batches, one at least', () => {
    const gpu = problemOf(1).stages[0]!.candidates[1]!;
    expect(replicaRps({ candidate: gpu, batch: 1 })).toBe(500);
    expect(replicaRps({ candidate: gpu, batch: 2 })).toBeCloseTo(666.667, 3);
    const least = (rps: number, visits = 1) =>
      keepingUp({ load: { rps, visits: [visits] } }, { stage: 0, candidate: gpu, batch: 1 });
    expect([least(0), least(499), least(500), least(501), least(1500), least(3000, 0.5)]).toEqual([
      1, 1, 1, 2, 3, 3,
    ]);
    expect(keepingUp({}, { stage: 0, candidate: gpu, batch: 1 })).toBe(1);
  });
});

describe('The share of requests in time', () => {
  it('is counted for each objective, of all requests or of one application', () => {
    const applications = Uint8Array.of(0, 1, 1, 0);
    const objectives = [
      { attainment: 1, sloNs: 2 },
      { attainment: 1, sloNs: 2, application: 1 },
      { attainment: 1, sloNs: 9, application: 2 },
    ];
    const latencyNs = Float64Array.of(1, 2, 3, 4);
    expect(attainmentsOf(latencyNs, objectives, applications)).toEqual([0.5, 0.5, 1]);
    expect(attainmentsOf(latencyNs, [objectives[1]!], Uint8Array.of(1, 1, 1, 0))).toEqual([2 / 3]);
    expect(attainmentsOf(latencyNs, objectives, undefined)).toEqual([0.5, 0.5, 1]);
    expect(attainmentsOf(new Float64Array(0), objectives.slice(0, 1), undefined)).toEqual([1]);
    expect([...ownLatencies(latencyNs, { applications }, 1)]).toEqual([2, 3]);
    expect(ownLatencies(latencyNs, { applications }, undefined)).toBe(latencyNs);
    expect(ownLatencies(latencyNs, {}, 1)).toBe(latencyNs);
  });
});

describe('The reasons of a pipeline without a plan', () => {
  const spec = { sloMs: 20, attainment: 0.95, stages: [] } as never;
  const several = {
    sloMs: 20,
    attainment: 0.99,
    objectives: [{ sloMs: 10, attainment: 0.5 }],
    stages: [],
  } as never;
  const told = (reason: InfeasibleReason, asked = spec) => {
    const answer = infeasible({ reasons: [reason] }, { spec: asked, rps: 100 } as never);
    if (answer.status !== 'infeasible') throw new Error(answer.status);
    return answer.reasons[0]!;
  };

  it('say the SLO that would do, and by how much the asked one is too short', () => {
    const objective = { attainment: 0.95, sloNs: 20 * MS };
    const reason = {
      code: 'slo-too-short',
      stages: ['a', 'b'],
      longestPathNs: 25 * MS,
      leastSloNs: 24 * MS,
      objective,
    } as const;
    expect(told(reason)).toEqual({
      code: 'slo-too-short',
      stages: ['a', 'b'],
      sloMs: 20,
      latencyMs: 24,
      overMs: 4,
      text: 'even if no request ever waited, the SLO would have to be about 24 ms, and it is 20 ms: the longest path, a -> b, takes 25 ms on the fastest classes',
    });
    expect(told(reason, several).text).toContain('the SLO of 95 % of the requests would have to be');
  });

  it('say which devices are too few, and how many are missing', () => {
    const least = [{ device: 'cpu', needed: 3, count: 2 }];
    expect(told({ code: 'too-few-replicas', stage: 's', classes: ['cpu'], least })).toEqual({
      code: 'too-few-gpus',
      stages: ['s'],
      available: { cpu: 2 },
      missing: { cpu: 1 },
      text: 's needs more replicas than there are, of cpu, whatever the others have: at least 3 cpu, and there are 2 cpu',
    });
    const two = [...least, { device: 'gpu', needed: 1, count: 0 }];
    const both = told({ code: 'too-few-replicas', stage: 's', classes: [], least: two });
    expect(both).not.toHaveProperty('missing');
    expect(both.text).toMatch(
      /, as the spec fixes them, .*: at least 3 cpu or 1 gpu, and there are 2 cpu and 0 gpu$/,
    );
    expect(told({ code: 'too-few-replicas', stage: 's', classes: [], least: [] }).text).toMatch(
      /the others have$/,
    );
    expect(told({ code: 'too-few-devices', device: 'gpu', needed: 5, count: 2 })).toEqual({
      code: 'too-few-gpus',
      class: 'gpu',
      available: { gpu: 2 },
      missing: { gpu: 3 },
      text: '5 gpu are needed and 2 are free',
    });
  });

  it('say what keeps a stage from keeping up', () => {
    const reason = { code: 'cannot-keep-up', stage: 's', share: 0.5 } as const;
    expect(told({ ...reason, classes: ['cpu', 'gpu'] })).toMatchObject({
      code: 'rate-too-high',
      stages: ['s'],
      rps: 100,
      servedRps: 50,
      text: expect.stringMatching(/^the cpu, gpu that there are can serve s for at most 50 .* has 100;/),
    });
    expect(told({ ...reason, classes: [] }).text).toMatch(/^the replicas that the spec fixes can/);
    expect(told({ code: 'too-few-servers', classes: ['cpu', 'gpu'] })).toMatchObject({
      code: 'rate-too-high',
      text: expect.stringContaining('the uplinks of the servers of cpu, gpu have too little time'),
    });
    const objectives = [{ attainment: 1, sloNs: MS }];
    expect(told({ code: 'no-combination', objectives })).toMatchObject({
      code: 'slo-too-short',
      sloMs: 20,
      text: expect.stringContaining('for the SLO of 20 ms, though'),
    });
    expect(told({ code: 'no-combination', objectives }, several).text).toContain('SLOs of 20 ms and 10 ms');
  });

  it('say which limits are too few together, and what would do', () => {
    const limits = { code: 'limits-together', classes: ['cpu', 'gpu'], fixedStages: ['f'] } as const;
    expect(told(limits)).toEqual({
      code: 'too-few-gpus',
      stages: ['f'],
      text: 'the devices of cpu, gpu and the replicas fixed for f are together too few',
    });
    const least = [
      {
        stage: 'a',
        least: [
          { device: 'cpu', needed: 2, count: 1 },
          { device: 'gpu', needed: 1, count: 1 },
        ],
      },
      { stage: 'b', least: [{ device: 'cpu', needed: 4, count: 1 }] },
    ];
    expect(told({ ...limits, fixedStages: [], least })).toEqual({
      code: 'too-few-gpus',
      stages: ['a', 'b'],
      text: 'the devices of cpu, gpu are together too few: of these, at least are needed by a 2 cpu or 1 gpu, by b 4 cpu',
    });
    const needed = {
      classes: [
        { device: 'cpu', needed: 6, count: 4 },
        { device: 'gpu', needed: 1, count: 0 },
      ],
      stages: [
        { stage: 'a', device: 'cpu', replicas: 6 },
        { stage: 'f', device: 'gpu', replicas: 1 },
      ],
    };
    expect(told({ ...limits, classes: [], needed } as never)).toEqual({
      code: 'too-few-gpus',
      stages: ['f', 'a'],
      available: { cpu: 4, gpu: 0 },
      missing: { cpu: 2, gpu: 1 },
      text: 'the replicas fixed for f are together too few: 6 cpu and 1 gpu would do, and 4 cpu and 0 gpu are free; they are for a (6 cpu), f (1 gpu)',
    });
    const one = { classes: needed.classes.slice(0, 1), stages: needed.stages.slice(0, 1) };
    expect(told({ ...limits, needed: one } as never).text).toMatch(/; they are for a \(6\)$/);
  });

  it('name SLOs that can be met with their cost, where some were found', () => {
    const reason = { code: 'too-few-devices', device: 'gpu', needed: 5, count: 2 } as const;
    const least = { sloNs: [12.34567 * MS], hourlyCost: 3.45678, configuration: CONFIGURED };
    expect(infeasible({ reasons: [reason], least, estimates: 7 }, { spec } as never)).toMatchObject({
      isProved: true,
      estimates: 7,
      smallestFeasibleSlosMs: [12.34567],
      reasons: [{ text: expect.stringMatching(/free; an SLO of 12.35 ms can be met, at 3.457 per hour$/) }],
    });
    const both = { sloNs: [30 * MS, 15 * MS], hourlyCost: 3, configuration: CONFIGURED };
    expect(infeasible({ reasons: [reason], least: both }, { spec: several } as never)).toMatchObject({
      estimates: 0,
      reasons: [{ text: expect.stringContaining('; SLOs of 30 ms (99 %), 15 ms (50 %) can be met') }],
    });
    expect(infeasible({ reasons: [] }, { spec } as never)).not.toHaveProperty('smallestFeasibleSlosMs');
    expect([percentText(0.99999), percentText(0.123456789)]).toEqual(['99.999 %', '12.3457 %']);
  });

  it('are no proof where the search came to its end over idle links, or a scheduler holds none', () => {
    expect(openReason(several)).toMatchObject({
      code: 'other',
      text: expect.stringMatching(/^no plan was found that answers within 20 ms and 10 ms even/),
    });
    expect(unheldText({ ...(several as object), serving: { scheduler: 'edf' } } as never)).toMatch(
      /within 20 ms and 10 ms in order of arrival, and none that edf holds/,
    );
  });
});

describe('The objectives that a plan misses', () => {
  it('are those of which its sample has less in time, of all requests or by application', () => {
    const plan = { sample: { leastAttainment: 0.9 }, sloMs: 20, attainment: 0.95 };
    const objectives = [
      { sloMs: 10, attainment: 0.5, sampleAttainment: 0.5 },
      { sloMs: 5, attainment: 0.5, sampleAttainment: 0.4 },
    ];
    expect(missedObjectives({ ...plan, objectives } as never)).toEqual([
      { sloMs: 20, attainment: 0.95, sampleAttainment: 0.9, whose: 'the sample' },
      { sloMs: 5, attainment: 0.5, sampleAttainment: 0.4, whose: 'the sample' },
    ]);
    expect(missedObjectives({ ...plan, attainment: 0.9 } as never)).toEqual([]);
    const applications = [
      { name: 'a', sloMs: 9, sample: { leastAttainment: 0.95 } },
      { name: 'b', sloMs: 8, sample: { leastAttainment: 0.94 } },
    ];
    expect(missedObjectives({ ...plan, applications } as never)).toEqual([
      { sloMs: 8, attainment: 0.95, sampleAttainment: 0.94, whose: 'b' },
    ]);
  });
});
