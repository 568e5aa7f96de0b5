import { describe, expect, it } from 'vitest';
import { peakRps, planCoarsely } from '../../src/inferline/coarse.js';
import type { PlanningProblem, Sample, StageCandidate } from '../../src/inferline/problem.js';
import { readStageGraph } from '../../src/plans/index.js';
import { streamOf } from '../../src/random/index.js';

const MS = 1e6;

/** candidate takes `firstMs` for a row and `rowMs` more for each further one. */
function candidate(
  device: string,
  [firstMs, rowMs]: readonly [number, number],
  sizes = [1, 2, 4, 8],
): StageCandidate {
  const latencyNs = Float64Array.from(
    { length: sizes.at(-1) as number },
    (_, i) => MS * (firstMs + i * rowMs),
  );
  return { device, batches: sizes, latencyNs, hourlyCost: 1 };
}

/** Half of all requests go from `detect` on to `read`. */
function pipeline(more: Partial<PlanningProblem> = {}): PlanningProblem {
  const { graph } = readStageGraph({
    stages: [{ name: 'detect', next: [{ to: 'read', probability: 0.5 }] }, { name: 'read' }],
  });
  return {
    graph,
    stages: [
      { candidates: [candidate('cpu', [40, 30]), candidate('gpu', [10, 2])] },
      { candidates: [candidate('gpu', [10, 10], [1, 2, 4])] },
    ],
    objectives: [{ attainment: 0.99, sloNs: 60 * MS }],
    counts: {},
    ...more,
  };
}

/** steady has a request every 5 ms, 200 a second. */
const steady: Sample = {
  atNs: Float64Array.from({ length: 401 }, (_, i) => i * 5 * MS),
  verdicts: [Int32Array.from({ length: 401 }, (_, i) => i % 2), undefined],
};

describe('planCoarsely()', () => {
  it('takes the fastest classes, the largest batch within the SLO, and as many boxes as the mean rate needs', () => {
    // Batches of 4 take 16 + 40 = 56 ms; a batch of 8 on the first stage makes 64 ms. A box serves 4/16 requests in a
    // millisecond at its first stage, and 4/40 at its second, to which half of all requests come: 200 in a second.
    const outcome = planCoarsely(pipeline(), [steady], 'mean');
    expect(outcome).toMatchObject({
      configuration: {
        candidate: Int32Array.of(1, 0),
        batch: Int32Array.of(4, 4),
        replicas: Int32Array.of(1, 1),
      },
    });
    const faster = { ...steady, atNs: steady.atNs.map((ns) => ns * 0.99) };
    expect(planCoarsely(pipeline(), [faster], 'mean')).toMatchObject({
      configuration: { replicas: Int32Array.of(2, 2) },
    });
  });

  it('gives a stage that was not measured at the common batch the largest smaller one', () => {
    const problem = pipeline({ objectives: [{ attainment: 0.99, sloNs: 64 * MS }] });
    expect(planCoarsely(problem, [steady], 'mean')).toMatchObject({
      configuration: { batch: Int32Array.of(8, 4) },
    });
  });

  it('counts transfers to the service time, and obeys the shortest SLO', () => {
    const slow = { transferNs: ({ rows }: { rows: number }) => rows * 2 * MS };
    expect(planCoarsely(pipeline(slow), [steady], 'mean')).toMatchObject({
      configuration: { batch: Int32Array.of(2, 2) },
    });
    const objectives = [60, 32].map((ms) => ({ attainment: 0.5, sloNs: ms * MS }));
    expect(planCoarsely(pipeline({ objectives }), [steady], 'mean')).toMatchObject({
      configuration: { batch: Int32Array.of(2, 2) },
    });
  });

  it('serves the largest rate in a window of the SLO, where asked for the peak', () => {
    const atNs = steady.atNs.slice();
    // A burst of 43 requests within 60 ms: 30 of them at once.
    atNs.fill(1000 * MS, 200, 230);
    atNs.sort();
    const outcome = planCoarsely(pipeline(), [{ ...steady, atNs }], 'peak');
    const boxes = Math.ceil(peakRps({ atNs, verdicts: [] }, 60 * MS) / 200);
    expect(boxes).toBeGreaterThan(2);
    expect(outcome).toMatchObject({ configuration: { replicas: Int32Array.of(boxes, boxes) } });
  });

  it('says what makes it infeasible: the service time of the smallest batches, or the devices that are missing', () => {
    const objectives = [{ attainment: 0.99, sloNs: 19 * MS }];
    expect(planCoarsely(pipeline({ objectives }), [steady], 'mean')).toEqual({
      status: 'infeasible',
      reasons: [
        {
          code: 'slo-too-short',
          objective: objectives[0],
          stages: ['detect', 'read'],
          longestPathNs: 20 * MS,
          leastSloNs: 20 * MS,
        },
      ],
    });
    expect(planCoarsely(pipeline({ counts: { gpu: 1 } }), [steady], 'mean')).toEqual({
      status: 'infeasible',
      reasons: [{ code: 'too-few-devices', device: 'gpu', needed: 2, count: 1 }],
    });
  });
});

describe('peakRps()', () => {
  it('is the largest number of arrivals in any half-open window, by its length', () => {
    for (let seed = 0; seed < 200; seed++) {
      const random = streamOf(seed, 'peak');
      const atNs = Float64Array.from({ length: 1 + random.integer(40) }, () => random.integer(60)).sort();
      const windowNs = 1 + random.integer(20);
      const counts = [...atNs].map((from) => atNs.filter((at) => at >= from && at < from + windowNs).length);
      expect(peakRps({ atNs, verdicts: [] }, windowNs)).toBe((1e9 * Math.max(...counts)) / windowNs);
    }
  });
});
