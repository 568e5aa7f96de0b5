import { describe, expect, it } from 'vitest';
import { busiestPart } from '../../src/inferline/greedy.js';
import { estimatorOf, type PlanningProblem, planPipeline } from '../../src/inferline/index.js';
import { readStageGraph } from '../../src/plans/index.js';
import { streamOf } from '../../src/random/index.js';
import { cases, describeInWholeRun, fewOf, whole } from '../cases.js';
import { randomProblem } from './random-problem.js';

const CASES = cases(whole(20, 150), 1000);

const candidate = (device: string, hourlyCost: number, [fixed, row]: readonly [number, number]) => ({
  device,
  hourlyCost,
  batches: [1, 2, 4],
  latencyNs: Float64Array.from({ length: 4 }, (_, n) => 1e6 * (fixed + row * (n + 1))),
});

/** A fast classifier, and a slow one for a quarter of all requests. */
const cascade: PlanningProblem = {
  graph: readStageGraph({
    stages: [{ name: 'fast', next: [{ to: 'slow', probability: 0.25 }] }, { name: 'slow' }],
  }).graph,
  stages: [
    {
      candidates: [
        candidate('cpu', 0.05, [4, 45]),
        candidate('k80', 0.63, [8, 2]),
        candidate('v100', 2.53, [4, 0.5]),
      ],
    },
    { candidates: [candidate('k80', 0.63, [35, 18.7]), candidate('v100', 2.53, [9, 2.6])] },
  ],
  objectives: [{ attainment: 0.99, sloNs: 150e6 }],
  counts: {},
};

/** poisson draws arrivals, every fourth of which goes on. */
function poisson(rps: number, requests: number) {
  const random = streamOf(1, 'greedy');
  let now = 0;
  const atNs = Float64Array.from(
    { length: requests },
    () => (now += Math.ceil((random.exponential() * 1e9) / rps)),
  );
  return { atNs, verdicts: [Int32Array.from(atNs, () => (random.uniform() < 0.25 ? 1 : 0)), undefined] };
}

/** bursty draws arrivals that are sixteen times as irregular as those of Poisson. */
function bursty(rps: number, requests: number, seed: number) {
  const random = streamOf(seed, 'bursty');
  let now = 0;
  const atNs = Float64Array.from(
    { length: requests },
    () => (now += Math.ceil((random.gamma(1 / 16) * 16e9) / rps)),
  );
  return { atNs, verdicts: [Int32Array.from(atNs, () => (random.uniform() < 0.25 ? 1 : 0)), undefined] };
}

const planned = (
  problem: PlanningProblem,
  sample: ReturnType<typeof poisson> | readonly ReturnType<typeof poisson>[],
  method: 'inferline' | 'exact',
) => {
  const outcome = planPipeline({ problem, samples: [sample].flat(), estimatorOf }, method);
  if (outcome.status !== 'feasible') throw new Error(outcome.status);
  return outcome;
};

describeInWholeRun('planPipeline() by the method inferline', () => {
  it('puts a stage on a dearer class where another saves more by the time that it leaves', () => {
    const sample = poisson(150, 9000);
    const { configuration, hourlyCost } = planned(cascade, sample, 'inferline');
    expect([...configuration.candidate]).toEqual([1, 0]);
    // Each stage alone is cheaper on another class: nine CPUs cost less than a K80, and leave no time for slow K80s.
    const onCpu = {
      ...cascade,
      stages: cascade.stages.with(0, { candidates: [cascade.stages[0]!.candidates[0]!] }),
    };
    expect(planned(onCpu, sample, 'exact').hourlyCost).toBeGreaterThan(hourlyCost);
    expect(planned(cascade, sample, 'exact').hourlyCost).toBeCloseTo(hourlyCost, 9);
  });

  it('is seldom dearer than the proved least cost, and never cheaper', () => {
    let [dearer, total] = [0, 0];
    for (let seed = 0; seed < CASES; seed++) {
      const { problem, sample } = randomProblem(seed, {
        mostStages: 3,
        requests: 60,
        limits: seed % 2 === 1,
      });
      const exact = planPipeline({ problem, samples: [sample], estimatorOf }, 'exact');
      const greedy = planPipeline({ problem, samples: [sample], estimatorOf }, 'inferline');
      expect(greedy.status).toBe(exact.status);
      if (exact.status !== 'feasible' || greedy.status !== 'feasible') continue;
      expect(greedy.hourlyCost).toBeGreaterThanOrEqual(exact.hourlyCost - 1e-9);
      expect(greedy.lowerBound).toBeLessThanOrEqual(exact.hourlyCost + 1e-9);
      total++;
      if (greedy.hourlyCost > exact.hourlyCost + 1e-9) dearer++;
    }
    expect(total).toBeGreaterThan(CASES / 2);
    expect(dearer / total, String(dearer)).toBeLessThan(0.1);
  });

  it('takes the faster of two actions that save as much, so that others can save more', () => {
    const prices = [
      [1, 1, 1],
      [1, 1, 2],
      [1, 2, 2],
      [0.5, 1, 2],
    ];
    const dearer: number[] = [];
    let total = 0;
    for (let seed = 0; seed < cases(60, 400); seed++) {
      const { problem, sample } = randomProblem(seed, { mostStages: 4, requests: 60 });
      const priceOf = (device: string) =>
        prices[seed % prices.length]?.[['cpu', 'k80', 'v100'].indexOf(device)] as number;
      const stages = problem.stages.map(({ candidates }) => ({
        candidates: candidates.map((one) => ({ ...one, hourlyCost: priceOf(one.device) })),
      }));
      const input = { problem: { ...problem, stages }, samples: [sample], estimatorOf };
      const exact = planPipeline(input, 'exact');
      const greedy = planPipeline(input, 'inferline');
      if (exact.status !== 'feasible' || greedy.status !== 'feasible') continue;
      total++;
      if (greedy.hourlyCost > exact.hourlyCost + 1e-9) dearer.push(seed);
    }
    // The first of two such actions, whichever it is, is dearer in 12 of 359 cases, and the faster one in 4.
    expect(dearer.length / total, String(dearer)).toBeLessThan(0.02);
  });

  it('meets the objective on all of a long sample, by the plan of its busiest part', () => {
    const sample = poisson(150, 61_000);
    const whole = planned(cascade, sample, 'inferline');
    const { attainments } = estimatorOf(cascade, sample).estimate(whole.configuration);
    expect(attainments[0]).toBeGreaterThanOrEqual(0.99);
    expect(whole.hourlyCost).toBeLessThanOrEqual(2.52);
  });
});

describe('planPipeline() by the method inferline for several samples', () => {
  it.each(fewOf([20, 21], 1))(
    'puts back what all samples needed more than the busiest one (draws %i)',
    (draws) => {
      const samples = Array.from({ length: 8 }, (_, draw) => bursty(150, 3000, 1000 * draws + draw));
      const { hourlyCost } = planned(cascade, samples, 'inferline');
      // Where no detour followed over all samples, a V100 was left over: 6.21 and 6.31 an hour.
      expect(hourlyCost).toBeCloseTo(planned(cascade, samples, 'exact').hourlyCost, 9);
    },
  );
});

describe('busiestPart()', () => {
  it('is the requests in a row that come in the shortest time, with their verdicts', () => {
    const atNs = Float64Array.of(0, 10, 20, 25, 26, 40, 41, 43, 60);
    const verdicts = [Int32Array.from(atNs, (_, i) => i), undefined];
    expect(busiestPart([{ atNs, verdicts }], 3)).toEqual({
      atNs: Float64Array.of(40, 41, 43),
      verdicts: [Int32Array.of(5, 6, 7), undefined],
    });
  });

  it('is of the busiest sample, and a whole sample that has fewer', () => {
    const sample = (...atNs: number[]) => ({ atNs: Float64Array.from(atNs), verdicts: [undefined] });
    const [idle, short, empty] = [sample(0, 10, 20, 30), sample(50, 60, 61), sample()];
    expect(busiestPart([idle, empty, short], 4)).toEqual(short);
    expect(busiestPart([short, idle], 2)).toEqual(sample(60, 61));
    expect(busiestPart([empty], 2)).toEqual(empty);
  });
});
