import { describe, expect, it } from 'vitest';
import { scaleFactors } from '../../src/pipeline/visits.js';
import { readStageGraph } from '../../src/plans/pipeline/graph.js';
import { streamOf } from '../../src/random/index.js';
import { inWholeRun, seeds } from '../cases.js';
import { fatesOf, randomGraph } from '../plans/pipeline/random-graph.js';

describe('scaleFactors()', () => {
  inWholeRun('gives the sum over all outcomes of the verdicts, for random graphs', () => {
    for (const seed of seeds(300, 5000)) {
      const given = randomGraph(seed);
      const { graph, faults } = readStageGraph(given);
      expect(faults, `seed ${seed}`).toEqual([]);
      const { factors, exact } = scaleFactors(graph);
      expect(exact).toBe(true);
      const fates = fatesOf(given);
      graph.names.forEach((name, i) => {
        const expected = fates.reduce(
          (sum, fate) => sum + (fate.visited.has(name) ? fate.probability : 0),
          0,
        );
        expect(factors[i], `seed ${seed}, ${name}`).toBeCloseTo(expected, 12);
      });
    }
  });

  it('agrees with 200 000 requests that are drawn one by one', () => {
    const stages = [
      {
        name: 'detect',
        next: [
          { to: 'read', probability: 0.6 },
          { to: 'face', probability: 0.4 },
          { to: 'log', probability: 0.2 },
        ],
      },
      { name: 'read', next: [{ to: 'merge', probability: 0.5 }] },
      { name: 'face', next: ['merge'] },
      { name: 'log', next: ['merge'] },
      { name: 'merge' },
    ];
    const { graph } = readStageGraph({ stages, exclusive: [['read', 'face']] });
    const { factors } = scaleFactors(graph);
    const stream = streamOf(7, 'requests');
    const visits = { read: 0, face: 0, log: 0, merge: 0 };
    const requests = 200_000;
    for (let k = 0; k < requests; k++) {
      const isRead = stream.uniform() < 0.6;
      const logs = stream.uniform() < 0.2;
      const readOn = isRead && stream.uniform() < 0.5;
      visits[isRead ? 'read' : 'face'] += 1;
      if (logs) visits.log += 1;
      if (readOn || !isRead || logs) visits.merge += 1;
    }
    graph.names.forEach((name, i) => {
      const share = name === 'detect' ? 1 : visits[name as keyof typeof visits] / requests;
      expect(Math.abs((factors[i] as number) - share)).toBeLessThan(0.006);
    });
    // Exclusive branches meet: 0.3 + 0.4, and log brings a fifth of the rest.
    expect(factors[4]).toBeCloseTo(0.7 + 0.3 * 0.2, 12);
  });

  it('stays exact where many branches meet again', () => {
    // Twenty diamonds in a row have 2^20 outcomes, but never more than two states at once.
    const stages = Array.from({ length: 20 }, (_, i) => [
      {
        name: `a${i}`,
        next: [
          { to: `b${i}`, probability: 0.5 },
          { to: `c${i}`, probability: 0.5 },
        ],
      },
      { name: `b${i}`, next: [`a${i + 1}`] },
      { name: `c${i}`, next: [{ to: `a${i + 1}`, probability: 0.5 }] },
    ]).flat();
    const exclusive = Array.from({ length: 20 }, (_, i) => [`b${i}`, `c${i}`]);
    const { graph, faults } = readStageGraph({ stages: [...stages, { name: 'a20' }], exclusive });
    expect(faults).toEqual([]);
    const { factors, exact } = scaleFactors(graph);
    expect(exact).toBe(true);
    expect(factors.at(-1)).toBeCloseTo(0.75 ** 20, 12);
  });

  it('says where it takes meeting edges as independent, because there are too many states', () => {
    const targets = Array.from({ length: 25 }, (_, i) => `t${i}`);
    const stages = [
      { name: 'first', next: targets.map((to) => ({ to, probability: 0.5 })) },
      ...targets.map((name) => ({ name, next: [{ to: 'last', probability: 0.1 }] })),
      { name: 'last' },
    ];
    const { factors, exact } = scaleFactors(readStageGraph({ stages }).graph);
    expect(exact).toBe(false);
    // Here they are independent, so the factors are right all the same.
    expect(factors[0]).toBe(1);
    expect(factors[1]).toBeCloseTo(0.5, 12);
    expect(factors.at(-1)).toBeCloseTo(1 - 0.95 ** 25, 12);
  });
});
