import { describe, expect, it } from 'vitest';
import { loadedCascades } from '../../src/gearplan/best-gears.js';
import {
  type Cascade,
  cascadeSpace,
  type GearProblem,
  mostAccurate,
  planByLoop,
  solveGears,
} from '../../src/gearplan/index.js';
import { placementsOf } from '../../src/gearplan/placement.js';
import { relaxedBound } from '../../src/gearplan/ranked-placement.js';
import { GearTrials } from '../../src/gearplan/trials.js';
import { streamOf } from '../../src/random/index.js';
import { cases, fewOf, inWholeRun, seeds, whole } from '../cases.js';
import { arrivalsOf, randomFamily, randomProblem } from './families.js';

/** The most accurate plan by trying every cascade in every range on every placement. */
function bestOf(problem: GearProblem, frontier: readonly Cascade[]): number | undefined {
  const trials = new GearTrials(problem, arrivalsOf);
  let best: number | undefined;
  for (const placement of placementsOf(problem.models, problem)!) {
    const accuracies = problem.ranges.map((_, range) =>
      Math.max(
        ...frontier
          .filter((cascade) => 'gear' in trials.try(range, cascade, placement))
          .map(({ accuracy }) => accuracy),
      ),
    );
    const accuracy = accuracies.reduce((sum, one, range) => sum + one * problem.ranges[range]!.share, 0);
    if (accuracy >= 0 && accuracy > (best ?? -1)) best = accuracy;
  }
  return best;
}

const accuracyBy = (
  problem: GearProblem,
  method: 'gears' | 'loop' | 'exhaustive' | 'random' | 'ms+' | 'dynba' | 'static',
) => {
  const { integer } = streamOf(1, 'random');
  const outcome = mostAccurate(problem, { method, arrivalsOf, integer, draws: 50 });
  return 'choice' in outcome ? outcome.choice.accuracy : undefined;
};

/** A sum over ranges may come out so much below the accuracy of its cascades. */
const ROUNDING = 1e-12;

describe('Gear plans', () => {
  inWholeRun(
    'are as accurate as the best of all assignments where all are tried, and their bound is never below that',
    () => {
      const seen = { feasible: 0, infeasible: 0, near: 0 };
      for (const seed of seeds(whole(10, 60), 600)) {
        const problem = randomProblem(seed);
        const best = bestOf(problem, cascadeSpace(problem).cascades);
        const exhaustive = mostAccurate(problem, { method: 'exhaustive', arrivalsOf });
        const gears = mostAccurate(problem, { arrivalsOf });
        if (best === undefined) {
          expect(exhaustive.status, `seed ${seed}`).toBe('infeasible');
          expect(gears.status).toBe('infeasible');
          seen.infeasible += 1;
          continue;
        }
        seen.feasible += 1;
        if (!('choice' in exhaustive) || !('choice' in gears)) throw new Error(`seed ${seed}`);
        expect(exhaustive.choice.accuracy, `seed ${seed}`).toBeCloseTo(best, 10);
        expect(gears.choice.accuracy).toBeLessThanOrEqual(best + 1e-10);
        expect(exhaustive.choice.bound).toBeGreaterThanOrEqual(best - 1e-10);
        expect(gears.choice.bound).toBeGreaterThanOrEqual(best - 1e-10);
        if (gears.status === 'optimal') expect(gears.choice.accuracy).toBeCloseTo(best, 10);
        seen.near += gears.choice.accuracy >= 0.99 * best ? 1 : 0;
      }
      expect(Math.min(seen.feasible, seen.infeasible)).toBeGreaterThan(cases(whole(0, 3), 30));
      expect(seen.near / seen.feasible).toBeGreaterThan(0.98);
    },
  );

  it('hold when each range is tried again, on devices that have the memory', () => {
    for (const seed of seeds(whole(10, 60), 600)) {
      const problem = randomProblem(seed);
      const trials = new GearTrials(problem, arrivalsOf);
      for (const method of ['gears', 'loop', 'exhaustive', 'static', 'ms+', 'dynba'] as const) {
        const outcome = mostAccurate(problem, { method, arrivalsOf });
        if (!('choice' in outcome)) continue;
        const { placement, cascades, gears } = outcome.choice;
        for (const held of placement) {
          const bytes = problem.models.reduce((sum, m, i) => sum + ((held >> i) & 1) * m.memoryBytes, 0);
          expect(bytes).toBeLessThanOrEqual(problem.memoryBytes);
        }
        gears.forEach(({ index, gear }, range) => {
          const tried = trials.try(range, cascades[index]!, placement);
          expect('gear' in tried && tried.gear, `seed ${seed}, ${method}`).toEqual(gear);
          expect(gear.latencyNs).toBeLessThanOrEqual(problem.latencyNs);
        });
      }
    }
  });

  it('are no less accurate than those of random search, of one model, of no cascades and of one cascade', () => {
    const better = { 'ms+': 0, dynba: 0, static: 0, random: 0 };
    for (const seed of seeds(whole(10, 60), 600)) {
      const problem = randomProblem(seed);
      const exhaustive = accuracyBy(problem, 'exhaustive');
      for (const method of ['random', 'ms+', 'dynba', 'static'] as const) {
        const other = accuracyBy(problem, method);
        if (other === undefined) continue;
        expect(exhaustive, `seed ${seed}, ${method}`).toBeGreaterThanOrEqual(other - 1e-10);
        better[method] += exhaustive! > other + 1e-6 ? 1 : 0;
      }
    }
    for (const count of Object.values(better)) expect(count, JSON.stringify(better)).toBeGreaterThan(0);
  });

  it('grow no less accurate with the latency that is promised', () => {
    for (const seed of seeds(whole(15, 30), 300)) {
      const problem = randomProblem(seed);
      let before = 0;
      for (const factor of [0.5, 1, 2, 4]) {
        const accuracy = accuracyBy({ ...problem, latencyNs: factor * problem.latencyNs }, 'exhaustive') ?? 0;
        // Longer latencies are tried with queues that were filled for longer, which may be a little harder on so few requests.
        expect(accuracy, `seed ${seed}`).toBeGreaterThanOrEqual(before - 0.1);
        before = accuracy;
      }
    }
  });
});

describe('A search for gear plans', () => {
  /** Models of which no two fit a device, so that placements are many. */
  const problem: GearProblem = {
    ...randomProblem(1),
    devices: 6,
    memoryBytes: 5,
    latencyNs: 1e9,
    models: randomFamily(streamOf(1, 'apart'), 3, 40).map((model) => ({ ...model, memoryBytes: 4 })),
  };

  inWholeRun(
    'ends by the work that it may do with what it has found, and never calls that infeasible',
    () => {
      const seen = { shorter: 0, undecided: 0 };
      for (const seed of seeds(60, 300)) {
        const one = randomProblem(seed);
        const best = accuracyBy(one, 'exhaustive');
        const whole = mostAccurate(one, { arrivalsOf });
        for (const work of [0, 1, 3]) {
          const some = mostAccurate(one, { arrivalsOf, work });
          if (some.status === 'infeasible') expect(best, `seed ${seed}`).toBeUndefined();
          if (some.status === 'undecided') seen.undecided += 1;
          if (!('choice' in some) || !('choice' in whole)) continue;
          expect(some.trials).toBeLessThanOrEqual(whole.trials);
          expect(some.choice.accuracy).toBeLessThanOrEqual(best! + 1e-10);
          expect(some.choice.bound).toBeGreaterThanOrEqual(best! - 1e-10);
          if (some.trials < whole.trials) seen.shorter += 1;
        }
      }
      expect(seen.shorter).toBeGreaterThan(5);
      expect(seen.undecided).toBeGreaterThan(5);
    },
  );

  it('ends without an answer where it is interrupted before it has a plan', () => {
    for (const method of ['gears', 'exhaustive', 'dynba', 'static', 'random'] as const) {
      const outcome = mostAccurate(problem, { method, arrivalsOf, interrupted: () => true });
      expect(outcome.status, method).toBe('undecided');
    }
  });

  inWholeRun('looks at placements of two different sets where all are too many', () => {
    const many = { ...problem, devices: 300 };
    expect(placementsOf(many.models, many)).toBeUndefined();
    const outcome = mostAccurate(many, { arrivalsOf });
    expect('choice' in outcome && outcome.choice.accuracy).toBeGreaterThan(0);
  });
});

describe("CascadeServe's loop", () => {
  it('ends after no more calls than its errors allow, with a plan that the search over placements does not miss', () => {
    const seen = { plan: 0, error: 0 };
    for (const seed of seeds(whole(15, 80), 800)) {
      const problem = randomProblem(seed);
      const frontier = cascadeSpace(problem).cascades;
      const result = planByLoop({ problem, frontier, trials: new GearTrials(problem, arrivalsOf) });
      const changes = problem.ranges.length * frontier.length;
      const replicas = problem.models.length * problem.devices;
      if (result === undefined) throw new Error('it was not interrupted');
      expect(result.calls, `seed ${seed}`).toBeLessThanOrEqual(4 + 4 * changes * (replicas + 1));
      seen['plan' in result ? 'plan' : 'error'] += 1;
      if ('plan' in result)
        expect(accuracyBy(problem, 'gears')).toBeGreaterThanOrEqual(accuracyBy(problem, 'loop')! - 0.02);
      else expect(problem.ranges[result.error.range]).toBeDefined();
    }
    expect(Math.min(seen.plan, seen.error)).toBeGreaterThan(cases(whole(1, 5), 50));
  });
});

describe('Objectives', () => {
  it('devices: one cascade for all loads is said to be out of reach where more accurate ones were tried', () => {
    let refused = 0;
    for (const seed of seeds(whole(10, 60), 300)) {
      const problem = randomProblem(seed);
      const reached = accuracyBy(problem, 'dynba');
      if (reached === undefined) continue;
      const asked = { problem, objective: 'accuracy' as const, method: 'dynba' as const, arrivalsOf };
      expect(solveGears({ ...asked, accuracy: reached })).toHaveProperty('solution');
      const more = solveGears({ ...asked, accuracy: reached + 1e-6 });
      expect(more.status, `seed ${seed}`).toBe('infeasible');
      refused += 1;
    }
    expect(refused).toBeGreaterThan(whole(3, 10));
  });

  it('refuse an accuracy that the bound excludes without trying a gear, and say which one no plan surpasses', () => {
    let refused = 0;
    for (const seed of seeds(whole(10, 60), 300)) {
      const problem = randomProblem(seed);
      const most = relaxedBound(loadedCascades(problem, cascadeSpace(problem).cascades));
      if (most < 0) continue;
      for (const objective of ['accuracy', 'latency', 'devices'] as const) {
        const asked = { problem, objective, method: 'exhaustive' as const, arrivalsOf };
        expect(solveGears({ ...asked, accuracy: most + 1e-9 }), `seed ${seed}`).toMatchObject({
          status: 'infeasible',
          reason: { code: 'accuracy', most },
          trials: 0,
        });
        const reached = accuracyBy(problem, 'exhaustive');
        if (reached === undefined) continue;
        expect(reached).toBeLessThanOrEqual(most + 1e-12);
        expect(solveGears({ ...asked, accuracy: reached }).status, `seed ${seed}`).not.toBe('infeasible');
        refused += 1;
      }
    }
    expect(refused).toBeGreaterThan(whole(3, 10));
  });

  it('report a load that is too high as that, whatever accuracy is promised besides', () => {
    for (const seed of seeds(whole(10, 20), 100)) {
      const drawn = randomProblem(seed);
      const ranges = drawn.ranges.map(({ share }) => ({ fromRps: 0, toRps: 1e9, share }));
      const asked = { problem: { ...drawn, ranges }, accuracy: 0.5, method: 'gears' as const, arrivalsOf };
      for (const objective of ['accuracy', 'latency', 'devices'] as const)
        expect(solveGears({ ...asked, objective }), `seed ${seed}`).toMatchObject({
          status: 'infeasible',
          reason: { code: 'range', fault: { by: 'load' } },
        });
    }
  });

  it('devices: the bound is the first number of devices that may reach the accuracy', () => {
    const bounds = new Set<number>();
    for (const seed of seeds(whole(10, 60), 300)) {
      const drawn = randomProblem(seed);
      const ranges = drawn.ranges.map(({ toRps, share }) => ({ fromRps: 0, toRps: 4 * toRps, share }));
      const problem = { ...drawn, ranges, devices: 40 };
      const frontier = cascadeSpace(problem).cascades;
      const { accuracy } = frontier[Math.floor(frontier.length / 3)]!;
      const answer = solveGears({ problem, objective: 'devices', accuracy, method: 'gears', arrivalsOf });
      if (!('solution' in answer)) continue;
      let least = 1;
      const boundOn = (devices: number) => relaxedBound(loadedCascades({ ...problem, devices }, frontier));
      while (boundOn(least) < accuracy - ROUNDING) least += 1;
      expect(answer.solution.bound, `seed ${seed}`).toBe(least);
      bounds.add(least);
    }
    expect(bounds.size).toBeGreaterThan(4);
  });

  it('latency: the plan has the accuracy, within a latency that no plan can be far below', () => {
    let solved = 0;
    for (const seed of seeds(whole(15, 30), 200)) {
      const { latencyNs: _, ...rest } = randomProblem(seed);
      const problem = { ...rest, latencyNs: Number.POSITIVE_INFINITY };
      const frontier = cascadeSpace(problem).cascades;
      const accuracy = (frontier[0]!.accuracy + frontier.at(-1)!.accuracy) / 2;
      const answer = solveGears({
        problem,
        objective: 'latency',
        accuracy,
        method: 'exhaustive',
        arrivalsOf,
      });
      if (!('solution' in answer)) continue;
      solved += 1;
      const { value, bound, choice } = answer.solution;
      expect(choice.accuracy).toBeGreaterThanOrEqual(accuracy - ROUNDING);
      expect(value).toBeCloseTo(Math.max(...choice.gears.map(({ gear }) => gear.latencyNs)) / 1e6, 9);
      expect(value).toBeGreaterThanOrEqual(bound * (1 - 1e-12));
      const below = mostAccurate(
        { ...problem, latencyNs: 0.999e6 * bound },
        { method: 'exhaustive', arrivalsOf },
      );
      if ('choice' in below) expect(below.choice.accuracy).toBeLessThan(accuracy);
    }
    expect(solved).toBeGreaterThan(cases(5, 30));
  });

  it('devices: with one device less there is no plan of the accuracy', () => {
    let solved = 0;
    for (const seed of seeds(whole(15, 30), 200)) {
      const problem = { ...randomProblem(seed), devices: 5 };
      const frontier = cascadeSpace(problem).cascades;
      const accuracy = frontier[Math.floor(frontier.length / 2)]!.accuracy;
      const asked = { problem, accuracy, method: 'exhaustive' as const, arrivalsOf };
      const answer = solveGears({ ...asked, objective: 'devices' });
      if (!('solution' in answer)) continue;
      const { value, bound } = answer.solution;
      expect(value).toBeGreaterThanOrEqual(bound);
      if (value === 1) continue;
      solved += 1;
      const less = solveGears({
        ...asked,
        problem: { ...problem, devices: value - 1 },
        objective: 'accuracy',
      });
      expect(less.status, `seed ${seed}`).toBe('infeasible');
    }
    expect(solved).toBeGreaterThan(cases(2, 10));
  });

  it.each(fewOf(['devices', 'latency'] as const, 1))(
    '%s: a search that is cut short is never said to show that there is no plan, and keeps to its work',
    (objective) => {
      const seen = { solved: 0, undecided: 0 };
      for (const seed of seeds(whole(15, 30), 300)) {
        const problem = { ...randomProblem(seed), devices: 4 };
        const accuracy = cascadeSpace(problem).cascades.at(-1)!.accuracy;
        const asked = { problem, accuracy, objective, method: 'gears' as const, arrivalsOf };
        if (!('solution' in solveGears(asked))) continue;
        for (let end = 0; end < 4; end++) {
          let heard = 0;
          const ended = [
            solveGears({ ...asked, work: end }),
            solveGears({ ...asked, mostEvents: 1 }),
            solveGears({ ...asked, interrupted: () => ++heard > end }),
          ];
          for (const answer of ended) {
            expect(answer.status, `seed ${seed}, ${end}`).not.toBe('infeasible');
            seen['solution' in answer ? 'solved' : 'undecided'] += 1;
          }
        }
      }
      expect(Math.min(seen.solved, seen.undecided), JSON.stringify(seen)).toBeGreaterThan(
        cases(whole(1, 5), 50),
      );
    },
  );
});
