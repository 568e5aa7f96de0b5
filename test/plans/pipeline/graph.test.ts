import { describe, expect, it } from 'vitest';
import { countFaults, readStageGraph, type StagesAndEdges } from '../../../src/plans/pipeline/graph.js';
import { seeds } from '../../cases.js';
import { randomGraph } from './random-graph.js';

/** told gives the faults of a graph as lines. */
function told(stages: StagesAndEdges['stages'], exclusive: string[][] = []): string[] {
  return [...countFaults({ stages }), ...readStageGraph({ stages, exclusive }).faults].map(
    ({ path, message }) => `${path}: ${message}`,
  );
}

describe('readStageGraph()', () => {
  it('puts every stage after those that lead to it, and keeps an order that is right already', () => {
    for (const seed of seeds(200, 2000)) {
      const { graph } = readStageGraph(randomGraph(seed));
      expect([...graph.order].sort((a, b) => a - b)).toEqual([...graph.names.keys()]);
      const rank = new Map(graph.order.map((stage, k) => [stage, k]));
      graph.edges.forEach((edges, i) => {
        for (const { to } of edges) expect(rank.get(to)).toBeGreaterThan(rank.get(i) as number);
      });
    }
    const { graph } = readStageGraph({
      stages: [{ name: 'a', next: ['d'] }, { name: 'b', next: ['c'] }, { name: 'c' }, { name: 'd' }],
    });
    expect(graph.order).toEqual([0, 1, 2, 3]);
    expect(graph.entries).toEqual([0, 1]);
  });

  it('names a cycle by its stages', () => {
    expect(
      told([
        { name: 'a', next: ['b'] },
        { name: 'b', next: ['c'] },
        { name: 'c', next: ['b'] },
      ]),
    ).toEqual(['/stages: form a cycle: b -> c -> b']);
    expect(
      told([
        { name: 'a', next: ['b'] },
        { name: 'b', next: ['a'] },
      ]),
    ).toEqual(['/stages: form a cycle: a -> b -> a', '/stages: has no entry: every stage follows another']);
    expect(told([{ name: 'a', next: ['a'] }])[0]).toBe('/stages: form a cycle: a -> a');
  });

  it('reports an edge to nowhere, an edge given twice, and names that cannot be', () => {
    expect(
      told([
        { name: 'a', next: ['b', 'x', { to: 'b', probability: 0.5 }] },
        { name: 'b' },
        { name: 'b' },
        { name: 'request' },
      ]),
    ).toEqual([
      '/stages/2/name: b is the name of another stage too',
      '/stages/3/name: is request, which stands for the request; name it otherwise',
      '/stages/0/next/1: leads to x, and there is no such stage',
      '/stages/0/next/2: leads to b, as an edge before it does',
    ]);
  });

  it('takes 64 stages and 31 conditional edges, and refuses one more', () => {
    const row = (count: number) => Array.from({ length: count }, (_, i) => ({ name: `s${i}` }));
    expect(told(row(64))).toEqual([]);
    expect(told(row(65))).toEqual(['/stages: has 65 stages; give at most 64']);
    const fan = (count: number) => [
      { name: 'first', next: row(count).map(({ name }) => ({ to: name, probability: 0.5 })) },
      ...row(count),
    ];
    expect(told(fan(31))).toEqual([]);
    expect(told(fan(32))).toEqual(['/stages/0/next: has 32 edges with a probability; give at most 31']);
  });

  it('refuses probabilities that are not above 0 and at most 1', () => {
    const next = [0, -0.1, 1.01, 1, 1e-9].map((probability, i) => ({ to: `s${i}`, probability }));
    const stages = [{ name: 'first', next }, ...next.map(({ to }) => ({ name: to }))];
    expect(told(stages)).toEqual([
      '/stages/0/next/0/probability: is 0; give more than 0 and at most 1',
      '/stages/0/next/1/probability: is -0.1; give more than 0 and at most 1',
      '/stages/0/next/2/probability: is 1.01; give more than 0 and at most 1',
    ]);
  });

  it('refuses exclusive lists that no stage leads to as a whole, or whose probabilities do not sum to 1', () => {
    const stages = [
      {
        name: 'a',
        next: [
          { to: 'b', probability: 0.6 },
          { to: 'c', probability: 0.3 },
        ],
      },
      { name: 'b', next: ['d'] },
      { name: 'c', next: ['d'] },
      { name: 'd' },
    ];
    expect(told(stages, [['b', 'c']])).toEqual([
      '/exclusive/0: exactly one of them is taken after a, and their probabilities sum to 0.9 instead of 1',
    ]);
    expect(told(stages, [['b', 'd']])).toEqual(['/exclusive/0: is b, d; no stage leads to all of them']);
    expect(told(stages, [['b'], ['b', 'b'], ['b', 'x']])).toEqual([
      '/exclusive/0: does not name two different stages or more, each once',
      '/exclusive/1: does not name two different stages or more, each once',
      '/exclusive/2: names x, and there is no such stage',
    ]);
    expect(told(stages, [['b', 'c', 'd']])).toContain('/exclusive/0: is b, c, d; a leads only to b, c');
    const thirds = [{ name: 'a', next: ['b', 'c', 'd'].map((to) => ({ to, probability: 0.333333 })) }];
    expect(told([...thirds, { name: 'b' }, { name: 'c' }, { name: 'd' }], [['b', 'c', 'd']])).toEqual([]);
  });
});
