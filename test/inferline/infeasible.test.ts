import { describe, expect, it } from 'vitest';
import type { PipelineSpec } from '../../src/formats/index.js';
import type { InfeasibleReason } from '../../src/inferline/infeasible.js';
import { planPipeline } from '../../src/inferline/planner.js';
import type { PlanningProblem, Sample } from '../../src/inferline/problem.js';
import { infeasible } from '../../src/inferline/reasons.js';
import type { OpenProblem } from '../../src/pipeline/index.js';
import { readStageGraph } from '../../src/plans/index.js';
import { cases, inWholeRun, WHOLE, whole } from '../cases.js';
import { plainEstimator } from './plain-estimator.js';
import { randomProblem } from './random-problem.js';

const CASES = cases(whole(15, 80), 500);
const REQUESTS = 40;

const planned = (problem: PlanningProblem, ...samples: readonly Sample[]) =>
  planPipeline({ problem, samples, estimatorOf: plainEstimator }, 'exact');

/** withSlos stretches or replaces the SLOs of a problem. */
const withSlos = (problem: PlanningProblem, sloNs: readonly number[]): PlanningProblem => ({
  ...problem,
  objectives: problem.objectives.map((objective, k) => ({ ...objective, sloNs: sloNs[k] as number })),
});

describe('planPipeline of what cannot be', () => {
  inWholeRun('names the least SLO that can be met, which a plan meets at the cost that is named', () => {
    let infeasible = 0;
    for (let seed = 0; seed < CASES; seed++) {
      const drawn = { mostStages: 3, requests: REQUESTS, draws: 1 + (seed % 3) };
      const { problem, samples } = randomProblem(seed, drawn);
      const outcome = planned(problem, ...samples);
      if (outcome.status !== 'infeasible') continue;
      infeasible++;
      // Nothing limits replicas here, so that only the SLO can be at fault.
      expect(outcome.reasons.map(({ code }) => code)).toContain('slo-too-short');
      const least = outcome.least?.sloNs as readonly number[];
      const met = planned(withSlos(problem, least), ...samples);
      expect(met.status, `seed ${seed}`).toBe('feasible');
      if (met.status === 'feasible')
        expect(met.hourlyCost).toBeLessThanOrEqual((outcome.least?.hourlyCost as number) + 1e-9);
      for (const [k, sloNs] of least.entries()) {
        if (sloNs === problem.objectives[k]?.sloNs) continue;
        const shorter = least.with(k, sloNs - 1);
        expect(planned(withSlos(problem, shorter), ...samples).status, `seed ${seed}`).toBe('infeasible');
      }
    }
    expect(infeasible).toBeGreaterThan(CASES / 10);
  });

  inWholeRun(
    'names stages for which there are too few replicas: with more of their classes it is another reason',
    () => {
      const seen = {
        'slo-too-short': 0,
        'no-combination': 0,
        'limits-together': 0,
        'too-few-replicas': 0,
        'too-few-devices': 0,
        'cannot-keep-up': 0,
        'too-few-servers': 0,
        needed: 0,
      };
      for (let seed = 0; seed < 2 * CASES; seed++) {
        const drawn = { mostStages: 3, requests: REQUESTS, limits: true, keepsUp: seed % 3 === 0 };
        const { problem, sample } = randomProblem(seed, drawn);
        const outcome = planned(problem, sample);
        if (outcome.status !== 'infeasible') continue;
        for (const reason of outcome.reasons) {
          seen[reason.code]++;
          if (reason.code === 'slo-too-short') continue;
          if (reason.code === 'limits-together' && reason.needed !== undefined) {
            const { classes, stages } = reason.needed;
            seen.needed++;
            const more = Object.fromEntries(classes.map(({ device, needed }) => [device, needed]));
            const counts = { ...problem.counts, ...more };
            expect(planned({ ...problem, counts }, sample).status, `seed ${seed} with more`).toBe('feasible');
            for (const { device, needed, count } of classes) {
              expect(needed).toBeGreaterThan(count);
              const own = stages.filter((stage) => stage.device === device);
              expect(own.reduce((sum, { replicas }) => sum + replicas, 0)).toBe(needed);
            }
          }
          if (reason.code === 'too-few-replicas')
            for (const { device, needed } of reason.least) {
              const counts = { ...problem.counts, [device]: needed - 1 };
              expect(planned({ ...problem, counts }, sample).status, `seed ${seed} with fewer`).toBe(
                'infeasible',
              );
            }
          const unlimited = {
            ...problem,
            counts: {},
            stages: problem.stages.map(({ candidates }) => ({ candidates })),
          };
          expect(planned(unlimited, sample).status, `seed ${seed} ${reason.code}`).toBe(
            reason.code === 'no-combination' ? 'infeasible' : 'feasible',
          );
        }
      }
      if (WHOLE) expect(seen['too-few-replicas'], JSON.stringify(seen)).toBeGreaterThan(CASES / 40);
      expect(seen.needed, JSON.stringify(seen)).toBeGreaterThan(0);
    },
  );

  it('names a stage that does not keep up with the mean rate, though the sample ends before that shows', () => {
    const latencyNs = Float64Array.of(15.6e6);
    const candidate = { device: 'gpu', batches: [1], latencyNs, hourlyCost: 1 };
    const short = {
      graph: readStageGraph({ stages: [{ name: 's' }] }).graph,
      stages: [{ candidates: [candidate] }],
      objectives: [{ attainment: 1, sloNs: 1e9 }],
    };
    // Twenty requests at 80/s are served by one device at 64/s, the last one a twentieth of a second late.
    const sample = { atNs: Float64Array.from({ length: 20 }, (_, i) => 12.5e6 * i), verdicts: [undefined] };
    const replicas = (problem: PlanningProblem) => {
      const outcome = planned(problem, sample);
      return outcome.status === 'feasible' ? [...outcome.configuration.replicas] : outcome;
    };
    expect(replicas({ ...short, counts: {} })).toEqual([1]);
    const load = { rps: 80, visits: [1] };
    expect(replicas({ ...short, counts: {}, load })).toEqual([2]);
    expect(replicas({ ...short, counts: { gpu: 2 }, load: { rps: 128.2, visits: [1] } })).toEqual([2]);
    const scarce = replicas({ ...short, counts: { gpu: 1 }, load });
    expect(scarce).toMatchObject({
      status: 'infeasible',
      reasons: [{ code: 'cannot-keep-up', stage: 's', classes: ['gpu'], share: expect.closeTo(0.8013, 4) }],
    });
    // No SLO is told, as none would do.
    expect(scarce).not.toHaveProperty('least');
    const fixed = { ...short, stages: [{ candidates: [candidate], replicas: 1 }], counts: {}, load };
    expect(replicas(fixed)).toMatchObject({ reasons: [{ code: 'cannot-keep-up', classes: [] }] });
  });

  inWholeRun('never calls infeasible what has a plan, wherever the search is stopped', () => {
    const seen = { undecided: 0, stopped: 0, finished: 0 };
    for (let seed = 0; seed < CASES; seed++) {
      const { problem, sample } = randomProblem(seed, { mostStages: 3, requests: REQUESTS, limits: true });
      const whole = planned(problem, sample);
      if (whole.status !== 'feasible') continue;
      for (const mostEstimates of [1, 3, 10, 30]) {
        const outcome = planPipeline(
          { problem, samples: [sample], estimatorOf: plainEstimator, mostEstimates },
          'exact',
        );
        expect(outcome.status, `seed ${seed}`).not.toBe('infeasible');
        if (outcome.status === 'infeasible') continue;
        expect(outcome.lowerBound, `seed ${seed}`).toBeLessThanOrEqual(whole.hourlyCost + 1e-9);
        if (outcome.status === 'undecided') seen.undecided++;
        else seen[outcome.finished ? 'finished' : 'stopped']++;
      }
    }
    expect(Math.min(seen.undecided, seen.stopped, seen.finished), JSON.stringify(seen)).toBeGreaterThan(
      whole(0, 3),
    );
  });
});

describe('infeasible()', () => {
  const spec = { kind: 'pipeline', cluster: 'c.yaml', stages: [], sloMs: 100 } as unknown as PipelineSpec;
  const said = (reason: InfeasibleReason) => {
    const { reasons } = infeasible({ reasons: [reason] }, { spec } as OpenProblem) as {
      readonly reasons: readonly unknown[];
    };
    return reasons[0];
  };

  it('says how many devices would do where counts are too small together, and for which stages', () => {
    const needed = {
      classes: [{ device: 'L4', needed: 9, count: 6 }],
      stages: [
        { stage: 'detect', device: 'L4', replicas: 4 },
        { stage: 'face', device: 'L4', replicas: 5 },
      ],
    };
    const reason = { code: 'limits-together', classes: ['L4'], fixedStages: [] } as const;
    expect(said({ ...reason, needed })).toEqual({
      code: 'too-few-gpus',
      stages: ['detect', 'face'],
      available: { L4: 6 },
      missing: { L4: 3 },
      text: 'the devices of L4 are together too few: 9 L4 would do, and 6 L4 are free; they are for detect (4), face (5)',
    });
    expect(said(reason)).toMatchObject({ text: 'the devices of L4 are together too few' });
    const least = [
      { stage: 'detect', least: [{ device: 'L4', needed: 3, count: 6 }] },
      { stage: 'face', least: [{ device: 'L4', needed: 4, count: 6 }] },
    ];
    expect(said({ ...reason, least })).toMatchObject({
      stages: ['detect', 'face'],
      text: 'the devices of L4 are together too few: of these, at least are needed by detect 3 L4, by face 4 L4',
    });
  });

  it('says how many replicas a stage needs at least on each class', () => {
    const least = [
      { device: 'L4', needed: 7, count: 3 },
      { device: 'T4', needed: 12, count: 2 },
    ];
    const reason = { code: 'too-few-replicas', stage: 'detect', classes: ['L4', 'T4'] } as const;
    expect(said({ ...reason, least })).toEqual({
      code: 'too-few-gpus',
      stages: ['detect'],
      text: 'detect needs more replicas than there are, of L4, T4, whatever the others have: at least 7 L4 or 12 T4, and there are 3 L4 and 2 T4',
    });
    expect(said({ ...reason, classes: ['L4'], least: least.slice(0, 1) })).toMatchObject({
      available: { L4: 3 },
      missing: { L4: 4 },
    });
  });
});
