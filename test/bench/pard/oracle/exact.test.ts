import { describe, expect, it } from 'vitest';
import { mostInTimeExactly } from '../../../../bench/pard/oracle/exact.js';
import { alwaysWorkers, type OfflineProblem } from '../../../../bench/pard/oracle/problem.js';
import { seeds } from '../../../cases.js';
import { mostByBruteForce } from './brute-force.js';
import { servedByAll } from './served.js';
import { type TinyShape, tinyCase } from './tiny.js';

/** oneStage is one worker that takes 10 ms for one request and 14 ms for two, and an SLO. */
function oneStage(arrivalMs: readonly number[], sloMs: number): OfflineProblem {
  const arrivalNs = Float64Array.from(arrivalMs, (ms) => 1e6 * ms);
  return {
    stages: [{ latencyNs: Float64Array.of(10e6, 14e6), workers: alwaysWorkers(1) }],
    routes: [{ stages: [0], edges: [] }],
    routeOf: new Int32Array(arrivalNs.length),
    arrivalNs,
    deadlineNs: arrivalNs.map((ns) => ns + 1e6 * sloMs),
  };
}

describe('mostInTimeExactly()', () => {
  it('waits for a second request where that serves both', () => {
    expect(mostInTimeExactly(oneStage([0, 1], 15))).toBe(2);
    expect(mostInTimeExactly(oneStage([0, 2], 15))).toBe(1);
    expect(mostInTimeExactly(oneStage([0, 2], 18))).toBe(2);
  });

  it('gives up one request for two later ones', () => {
    expect(mostInTimeExactly(oneStage([0, 3, 3], 14))).toBe(2);
    expect(mostInTimeExactly(oneStage([], 14))).toBe(0);
    expect(mostInTimeExactly(oneStage([0, 20], 9))).toBe(0);
  });

  const shapes: Record<string, TinyShape> = {
    'one stage': { requests: 5, stages: 1, workers: 2, batch: 4 },
    'two stages': { requests: 4, stages: 2, workers: 2, batch: 3 },
    'three stages': { requests: 4, stages: 3, workers: 2, batch: 2 },
    'a fork and a join': { requests: 3, stages: 4, workers: 2, batch: 3, dag: 'fork-join' },
    'branches that are drawn': { requests: 4, stages: 4, workers: 2, batch: 2, dag: 'drawn' },
  };
  for (const [name, shape] of Object.entries(shapes))
    it(`finds what brute force over lists of batches finds, with ${name}`, () => {
      const found = seeds(25, 250).map((seed) => {
        const { problem } = tinyCase(seed, shape);
        const most = mostInTimeExactly(problem);
        expect({ seed, most }).toEqual({ seed, most: mostByBruteForce(problem) });
        return most;
      });
      expect(new Set(found).size).toBeGreaterThan(2);
    });

  const large: Record<string, TinyShape> = {
    'a chain': { requests: 6, stages: 3, workers: 2, batch: 4 },
    'a fork and a join': { requests: 5, stages: 4, workers: 2, batch: 4, dag: 'fork-join' },
    'branches that are drawn': { requests: 6, stages: 4, workers: 2, batch: 4, dag: 'drawn' },
  };
  for (const [name, shape] of Object.entries(large))
    it(`is never below what a scheduler serves in time, with ${name}`, () => {
      let reached = 0;
      for (const seed of seeds(12, 100)) {
        const tiny = tinyCase(seed, shape);
        const most = mostInTimeExactly(tiny.problem);
        const served = servedByAll(tiny);
        for (const [scheduler, inTime] of served)
          expect({ seed, scheduler, isMore: inTime > most }).toEqual({ seed, scheduler, isMore: false });
        if (Math.max(...served.values()) === most) reached += 1;
      }
      expect(reached).toBeGreaterThan(0);
    });

  it('refuses what it does not know', () => {
    const problem = oneStage([0], 20);
    const [stage] = problem.stages;
    const quicker = { ...stage!, latencyNs: Float64Array.of(10e6, 9e6) };
    expect(() => mostInTimeExactly({ ...problem, stages: [quicker] })).toThrow('quicker than a smaller one');
    const scaled = { ...stage!, workers: { fromNs: [0, 1e9], count: [1, 2] } };
    expect(() => mostInTimeExactly({ ...problem, stages: [scaled] })).toThrow('workers come and go');
    expect(() => mostInTimeExactly(oneStage(new Array<number>(17).fill(0), 20))).toThrow('17 requests');
  });
});
