import { describe, expect, it } from 'vitest';
import { inTimeBound } from '../../../../bench/pard/oracle/bound.js';
import { mostInTimeExactly } from '../../../../bench/pard/oracle/exact.js';
import { alwaysWorkers, type OfflineProblem } from '../../../../bench/pard/oracle/problem.js';
import { fewOf, inWholeRun, seeds } from '../../../cases.js';
import { mostByBruteForce } from './brute-force.js';
import { servedByAll } from './served.js';
import { type TinyShape, tinyCase } from './tiny.js';

/** mostOf is the exact most, however many states have to be searched for it. */
function mostOf(problem: OfflineProblem): number {
  return mostInTimeExactly(problem)!.most;
}

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
    expect(mostOf(oneStage([0, 1], 15))).toBe(2);
    expect(mostOf(oneStage([0, 2], 15))).toBe(1);
    expect(mostOf(oneStage([0, 2], 18))).toBe(2);
  });

  it('gives up one request for two later ones', () => {
    expect(mostOf(oneStage([0, 3, 3], 14))).toBe(2);
    expect(mostOf(oneStage([], 14))).toBe(0);
    expect(mostOf(oneStage([0, 20], 9))).toBe(0);
  });

  const shapes: Record<string, TinyShape> = {
    'one stage': { requests: 5, stages: 1, workers: 2, batch: 4 },
    'two stages': { requests: 4, stages: 2, workers: 2, batch: 3 },
    'three stages': { requests: 4, stages: 3, workers: 2, batch: 2 },
    'a fork and a join': { requests: 3, stages: 4, workers: 2, batch: 3, dag: 'fork-join' },
    'branches that are drawn': { requests: 4, stages: 4, workers: 2, batch: 2, dag: 'drawn' },
  };
  for (const [name, shape] of fewOf(Object.entries(shapes), 2))
    it(`finds what brute force over lists of batches finds, with ${name}`, () => {
      const found = seeds(25, 250).map((seed) => {
        const { problem } = tinyCase(seed, shape);
        const most = mostOf(problem);
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
  for (const [name, shape] of fewOf(Object.entries(large), 1))
    it(`is never below what a scheduler serves in time, with ${name}`, () => {
      let reached = 0;
      for (const seed of seeds(12, 100)) {
        const tiny = tinyCase(seed, shape);
        const most = mostOf(tiny.problem);
        const served = servedByAll(tiny);
        for (const [scheduler, inTime] of served)
          expect({ seed, scheduler, isMore: inTime > most }).toEqual({ seed, scheduler, isMore: false });
        if (Math.max(...served.values()) === most) reached += 1;
      }
      expect(reached).toBeGreaterThan(0);
    });

  inWholeRun(
    'knows the most of twelve requests on nearly all chains of three stages within 10,000 states, never above the bound',
    () => {
      const shape = { requests: 12, stages: 3, workers: 2, batch: 4 };
      const all = seeds(12, 100);
      const solved = all.flatMap((seed) => {
        const tiny = tinyCase(seed, shape);
        const answer = mostInTimeExactly(tiny.problem, 10_000);
        if (answer === undefined) return [];
        expect(answer.most).toBeLessThanOrEqual(inTimeBound(tiny.problem));
        for (const [scheduler, inTime] of servedByAll(tiny))
          expect({ seed, scheduler, isMore: inTime > answer.most }).toEqual({
            seed,
            scheduler,
            isMore: false,
          });
        return [answer];
      });
      expect(solved.length).toBeGreaterThan(0.8 * all.length);
    },
  );

  inWholeRun(
    'searches from no more states than its rules leave, and says nothing where that is too many',
    () => {
      const { problem } = tinyCase(5, { requests: 12, stages: 3, workers: 2, batch: 4 });
      expect(mostInTimeExactly(problem)).toEqual({ most: 10, states: 2035 });
      expect(mostInTimeExactly(problem, 2035)?.most).toBe(10);
      expect(mostInTimeExactly(problem, 2034)).toBeUndefined();
    },
  );

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
