import { expect, it } from 'vitest';
import { demandsOf, withFloors } from '../../src/inferline/floors.js';
import { flowOf } from '../../src/inferline/flow.js';
import { readStageGraph } from '../../src/plans/index.js';
import { randomProblem } from './random-problem.js';

it('demandsOf() counts the visits that the Estimator serves', () => {
  for (let seed = 0; seed < 100; seed++) {
    const { problem, sample } = randomProblem(seed, { mostStages: 6, requests: 50 });
    const visits = demandsOf(withFloors(problem), sample).map((demand) => demand.visits);
    expect(visits).toEqual(flowOf(problem.graph, sample).visitors.map(({ count }) => count));
  }
});

it('demandsOf() reads the verdict of an edge beside one that has a probability of 1', () => {
  const next = [
    { to: 'each', probability: 1 },
    { to: 'few', probability: 0.1 },
  ];
  const { graph } = readStageGraph({ stages: [{ name: 'all', next }, { name: 'each' }, { name: 'few' }] });
  const candidates = [{ device: 'cpu', batches: [1], latencyNs: Float64Array.of(10), hourlyCost: 1 }];
  const stages = graph.names.map(() => ({ candidates }));
  const problem = { graph, stages, objectives: [{ attainment: 1, sloNs: 100 }], counts: {} };
  const atNs = Float64Array.from({ length: 30 }, (_, i) => 100 * i);
  const verdicts = [Int32Array.from(atNs, (_, i) => (i % 10 === 0 ? 0b11 : 0b01)), undefined, undefined];
  expect(demandsOf(withFloors(problem), { atNs, verdicts }).map(({ visits }) => visits)).toEqual([30, 30, 3]);
});
