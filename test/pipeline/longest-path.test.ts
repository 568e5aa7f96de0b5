import { describe, expect, it } from 'vitest';
import { longestPath } from '../../src/pipeline/longest-path.js';
import { readStageGraph } from '../../src/plans/pipeline/graph.js';
import { seeds } from '../cases.js';
import { randomGraph, waysOf } from '../plans/pipeline/random-graph.js';

/** Any two stages have times of their own. */
const stageUs = (name: string): number => (Number(name.slice(1)) * 7919) % 101;
const sendUs = (from: string, to: string): number =>
  (Number(from.slice(1)) * 31 + Number(to.slice(1)) * 17) % 23;

describe('longestPath()', () => {
  it('gives the longest of all ways, for random graphs', () => {
    for (const seed of seeds(300, 5000)) {
      const given = randomGraph(seed);
      const { graph } = readStageGraph(given);
      const name = (i: number): string => graph.names[i] as string;
      const found = longestPath(graph, {
        stageUs: (i) => stageUs(name(i)),
        edgeUs: (i, k) => sendUs(name(i), name(graph.edges[i]?.[k]?.to as number)),
      });
      const length = (way: readonly string[]): number =>
        way.reduce((sum, one, k) => sum + stageUs(one) + (k > 0 ? sendUs(way[k - 1] as string, one) : 0), 0);
      expect(found.latencyUs, `seed ${seed}`).toBeCloseTo(Math.max(...waysOf(given).map(length)), 9);
      expect(length(found.stages)).toBeCloseTo(found.latencyUs, 9);
      expect(waysOf(given)).toContainEqual(found.stages);
    }
  });
});
