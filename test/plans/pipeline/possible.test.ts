import { describe, expect, it } from 'vitest';
import { ancestorsOf, readStageGraph } from '../../../src/plans/pipeline/graph.js';
import { canBothBeVisited, wayWithout } from '../../../src/plans/pipeline/possible.js';
import { streamOf } from '../../../src/random/index.js';
import { describeInWholeRun, seeds } from '../../cases.js';
import { fatesOf, randomGraph } from './random-graph.js';

describe('wayWithout()', () => {
  it('finds a way exactly where some outcome visits a stage and misses the others', () => {
    let found = 0;
    for (const seed of seeds(300, 5000)) {
      const given = randomGraph(seed);
      const { graph } = readStageGraph(given);
      const fates = fatesOf(given);
      const stream = streamOf(seed, 'missed');
      const ancestors = ancestorsOf(graph);
      graph.names.forEach((name, i) => {
        const missed = [...(ancestors[i] ?? [])].filter(() => stream.uniform() < 0.5);
        if (missed.length === 0) return;
        const way = wayWithout(graph, i, new Set(missed));
        const names = missed.map((stage) => graph.names[stage] as string);
        const expected = fates.some(
          ({ visited }) => visited.has(name) && !names.some((one) => visited.has(one)),
        );
        expect(way !== undefined, `seed ${seed}, ${name} without ${names.join(', ')}`).toBe(expected);
        if (way !== undefined) expect(way.at(-1)).toBe(i);
        found += expected ? 1 : 0;
      });
    }
    expect(found).toBeGreaterThan(30);
  });
});

describeInWholeRun('canBothBeVisited()', () => {
  it('says so exactly where some outcome visits both', () => {
    let never = 0;
    for (const seed of seeds(300, 5000)) {
      const given = randomGraph(seed);
      const { graph } = readStageGraph(given);
      const fates = fatesOf(given);
      for (const [i, a] of graph.names.entries())
        for (const [j, b] of graph.names.entries()) {
          const expected = fates.some(({ visited }) => visited.has(a) && visited.has(b));
          expect(canBothBeVisited(graph, i, j), `seed ${seed}, ${a} and ${b}`).toBe(expected);
          never += expected ? 0 : 1;
        }
    }
    expect(never).toBeGreaterThan(50);
  });
});
