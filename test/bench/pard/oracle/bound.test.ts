import { describe, expect, it } from 'vitest';
import { inTimeBound } from '../../../../bench/pard/oracle/bound.js';
import { mostInTimeExactly } from '../../../../bench/pard/oracle/exact.js';
import { offlineProblem } from '../../../../bench/pard/oracle/of-topology.js';
import { alwaysWorkers, type OfflineProblem, routeTimes } from '../../../../bench/pard/oracle/problem.js';
import { type Stream, streamOf } from '../../../../src/random/index.js';
import { fewOf, seeds, whole } from '../../../cases.js';
import { servedAsFluid } from './fluid.js';
import { servedByAll } from './served.js';
import { type TinyShape, tinyCase } from './tiny.js';

const SHAPES: Record<string, TinyShape> = {
  'one stage': { requests: 9, stages: 1, workers: 2, batch: 4 },
  'a chain': { requests: 6, stages: 3, workers: 2, batch: 4 },
  'a fork and a join': { requests: 5, stages: 4, workers: 2, batch: 4, dag: 'fork-join' },
  'branches that are drawn': { requests: 6, stages: 4, workers: 2, batch: 4, dag: 'drawn' },
};

/** drawnStage makes a load of one stage whose workers come and go. */
function drawnStage(stream: Stream, requests: number): OfflineProblem {
  let now = 0;
  const arrivalNs = Float64Array.from({ length: requests }, () => {
    now += stream.uniform() < 0.3 ? 0 : Math.round(4e6 * stream.exponential());
    return now;
  });
  const fromNs = [0, 0.2, 0.5, 0.8].map((share) => Math.round(share * now));
  return {
    stages: [
      {
        latencyNs: Float64Array.from({ length: 1 + stream.integer(4) }, (_, i) => 1e6 * (6 + 3 * i)),
        workers: { fromNs, count: fromNs.map(() => stream.integer(4)) },
      },
    ],
    routes: [{ stages: [0], edges: [] }],
    routeOf: new Int32Array(requests),
    arrivalNs,
    deadlineNs: arrivalNs.map((ns) => ns + 1e6 * 20),
  };
}

describe('inTimeBound()', () => {
  for (const [name, shape] of Object.entries(SHAPES))
    it(`is never below the exact most, and mostly equal to it, with ${name}`, () => {
      const gaps = seeds(whole(9, 20), 150).map((seed) => {
        const { problem } = tinyCase(seed, shape);
        const gap = inTimeBound(problem) - mostInTimeExactly(problem)!.most;
        expect({ seed, isBelow: gap < 0 }).toEqual({ seed, isBelow: false });
        return gap;
      });
      expect(gaps.filter((gap) => gap === 0).length).toBeGreaterThan(gaps.length / whole(3, 2));
    });

  it('is what a fluid serves by the earliest deadline, at one stage with workers that come and go', () => {
    const found = seeds(whole(40, 100), 2000).map((seed) => {
      const problem = drawnStage(streamOf(seed, 'fluid'), 40);
      const windows = Array.from(problem.arrivalNs, (fromNs, r) => ({
        fromNs,
        untilNs: problem.deadlineNs[r]!,
      }));
      const served = servedAsFluid(problem.stages[0]!, windows);
      const bound = inTimeBound(problem, { mostArrivals: 0 });
      expect({ seed, bound }).toEqual({ seed, bound: Math.floor(served + 1e-6) });
      return bound;
    });
    expect(Math.min(...found)).toBeLessThan(20);
    expect(Math.max(...found)).toBe(40);
  });

  it('is never above what a fluid serves at the worst of the stages of a chain', () => {
    for (const seed of seeds(whole(10, 30), 300)) {
      const { problem } = tinyCase(seed, { requests: 60, stages: 3, workers: 2, batch: 4 });
      const { headNs, tailNs } = routeTimes(problem.stages, problem.routes[0]!);
      const served = problem.stages.map((stage, k) => {
        const windows = Array.from(problem.arrivalNs, (ns, r) => ({
          fromNs: ns + headNs[k]!,
          untilNs: Math.max(ns + headNs[k]!, problem.deadlineNs[r]! - tailNs[k]!),
        }));
        return Math.floor(servedAsFluid(stage, windows) + 1e-6);
      });
      const bound = inTimeBound(problem, { mostArrivals: 0 });
      expect({ seed, isAbove: bound > Math.min(...served) }).toEqual({ seed, isAbove: false });
    }
  });

  it('adds up the losses of two stages of a chain that are short one after the other', () => {
    const stage = (...count: number[]) => ({
      latencyNs: Float64Array.of(10e6),
      workers: { fromNs: [0, 1e9], count },
    });
    const arrivalNs = Float64Array.from({ length: 400 }, (_, r) => 5e6 * r);
    const problem: OfflineProblem = {
      stages: [stage(1, 9), stage(9, 1)],
      routes: [{ stages: [0, 1], edges: [{ from: 0, to: 1, leastNs: 0 }] }],
      routeOf: new Int32Array(400),
      arrivalNs,
      deadlineNs: arrivalNs.map((ns) => ns + 100e6),
    };
    // Two workers are needed. One is there at the first stage for a second, and at the second stage for the next second. The
    // end of the load has 90 ms more, and going over from stage to stage takes no time that counts twice.
    expect(inTimeBound(problem, { mostArrivals: 0 })).toBe(209);
  });

  for (const [name, shape] of fewOf(Object.entries(SHAPES), 1))
    it(`is never below what a scheduler serves of a larger load, with ${name}`, () => {
      for (const seed of seeds(whole(2, 8), 100)) {
        const tiny = tinyCase(seed, { ...shape, requests: 400, workers: 4, batch: 8 });
        const bound = inTimeBound(tiny.problem);
        expect(bound).toBeLessThanOrEqual(inTimeBound(tiny.problem, { mostArrivals: 0 }));
        for (const [scheduler, inTime] of servedByAll(tiny))
          expect({ seed, scheduler, isMore: inTime > bound }).toEqual({ seed, scheduler, isMore: false });
      }
    });

  it('counts only those who take a stage, and adds what short stages serve of different requests', () => {
    const stage = (ms: number) => ({ latencyNs: Float64Array.of(1e6 * ms), workers: alwaysWorkers(1) });
    const edge = (to: number) => ({ from: 0, to, leastNs: 0 });
    const arrivalNs = Float64Array.from({ length: 40 }, () => 0);
    const problem: OfflineProblem = {
      stages: [stage(0.1), stage(10), stage(20)],
      routes: [
        { stages: [0, 1], edges: [edge(1)] },
        { stages: [0, 2], edges: [edge(2)] },
        { stages: [0], edges: [] },
      ],
      routeOf: Int32Array.from(arrivalNs, (_, r) => (r < 10 ? 0 : r < 20 ? 1 : 2)),
      arrivalNs,
      deadlineNs: arrivalNs.map(() => 50e6),
    };
    // Stage 1 serves 4 of ten within 50 ms less what comes before, stage 2 serves 2 of ten, and twenty need neither.
    expect(inTimeBound(problem)).toBe(26);
  });

  it('looks at a request no longer than its own route is', () => {
    const { topology, verdict, problem } = tinyCase(4, SHAPES['a chain']!);
    const hurried = { ...topology, models: [{ ...topology.models[0]!, sloNs: 1 }] };
    expect(inTimeBound(offlineProblem(hurried, { arrivalNs: problem.arrivalNs, verdict }))).toBe(0);
  });

  it('refuses deadlines that are not in the order of arrivals', () => {
    const { problem } = tinyCase(1, SHAPES['one stage']!);
    const deadlineNs = problem.deadlineNs.map((ns, r) => (r === 3 ? 0 : ns));
    expect(() => inTimeBound({ ...problem, deadlineNs })).toThrow('request 3 comes or is due before');
  });
});
