import { beforeAll, describe, expect, it } from 'vitest';
import {
  boundOf,
  busyByCascade,
  type LoadedCascades,
  loadedCascades,
  rangeBounds,
} from '../../src/gearplan/best-gears.js';
import {
  cascadeSpace,
  type GearProblem,
  mostAccurate,
  placementSolver,
  solveGears,
} from '../../src/gearplan/index.js';
import { placementsOf } from '../../src/gearplan/placement.js';
import { relaxedBound } from '../../src/gearplan/ranked-placement.js';
import { type HighsEngine, loadHighs } from '../../src/lp/index.js';
import { streamOf } from '../../src/random/index.js';
import { cases, inWholeRun, seeds, whole } from '../cases.js';
import { arrivalsOf, randomFamily, randomProblem } from './families.js';

let highs: HighsEngine;
beforeAll(async () => {
  highs = await loadHighs();
});

/** Models of which few fit a device together, under loads that the devices have hardly time for. */
function tightProblem(seed: number): GearProblem {
  const stream = streamOf(seed, 'tight');
  const models = randomFamily(stream, 3 + stream.integer(2), 60);
  const devices = 2 + stream.integer(4);
  const largest = models.at(-1)!.latencyNs[0]!;
  const rps = (1e9 * devices * (0.2 + 20 * stream.uniform() ** 2)) / largest;
  const ranges = 1 + stream.integer(4);
  return {
    ...randomProblem(seed),
    models,
    devices,
    latencyNs: 4 * largest,
    memoryBytes: Math.max(...models.map(({ memoryBytes }) => memoryBytes)) + stream.integer(4),
    ranges: Array.from({ length: ranges }, (_, k) => ({
      fromRps: (k * rps) / ranges,
      toRps: ((k + 1) * rps) / ranges,
      share: 1 / ranges,
    })),
  };
}

function accuracyOn(searched: LoadedCascades, placement: readonly number[]): number {
  return boundOf(searched.problem, rangeBounds(searched, busyByCascade(searched, placement)));
}

/** The accuracy of loads that never wait on the best of all placements, below 0 where none has the time. */
function bestOfAll(searched: LoadedCascades): number {
  const { problem } = searched;
  return Math.max(...placementsOf(problem.models, problem)!.map((one) => accuracyOn(searched, one)));
}

function searchedOf(problem: GearProblem): LoadedCascades {
  const { cascades } = cascadeSpace(problem);
  // More of them would have the MILP end with its LP.
  const step = Math.ceil(cascades.length / 30);
  return loadedCascades(
    problem,
    cascades.filter((_, i) => i % step === 0),
  );
}

describe('The MILP of placements', () => {
  inWholeRun('has the accuracy of the best of all placements, and its placement is one of those', () => {
    const seen = { below: 0, infeasible: 0 };
    for (const seed of seeds(whole(15, 60), 600)) {
      const searched = searchedOf(tightProblem(seed));
      const best = bestOfAll(searched);
      const solved = placementSolver(highs)(searched, { kind: 'accuracy' });
      if (best < 0) {
        expect(solved, `seed ${seed}`).toBe('infeasible');
        seen.infeasible += 1;
        continue;
      }
      if (solved === 'infeasible' || solved?.placement === undefined) throw new Error(`seed ${seed}`);
      expect(solved.bound, `seed ${seed}`).toBeCloseTo(best, 9);
      expect(accuracyOn(searched, solved.placement)).toBeCloseTo(best, 9);
      expect(solved.placement).toHaveLength(searched.problem.devices);
      if (best < relaxedBound(searched) - 1e-9) seen.below += 1;
    }
    expect(Math.min(seen.below, seen.infeasible), JSON.stringify(seen)).toBeGreaterThan(
      cases(whole(0, 5), 50),
    );
  });

  inWholeRun('has the fewest devices that reach an accuracy on some placement', () => {
    const seen = new Set<number>();
    for (const seed of seeds(whole(10, 40), 400)) {
      const problem = tightProblem(seed);
      const searched = searchedOf(problem);
      const { accuracy } = searched.frontier[Math.floor(((seed % 4) * searched.frontier.length) / 4)]!;
      const counts = Array.from({ length: problem.devices }, (_, i) => i + 1);
      const least = counts.find(
        (devices) => bestOfAll({ ...searched, problem: { ...problem, devices } }) >= accuracy,
      );
      const solved = placementSolver(highs)(searched, { kind: 'devices', accuracy });
      if (least === undefined) {
        expect(solved, `seed ${seed}`).toBe('infeasible');
        continue;
      }
      if (solved === 'infeasible' || solved?.placement === undefined) throw new Error(`seed ${seed}`);
      expect(solved.bound, `seed ${seed}`).toBe(least);
      expect(solved.placement).toHaveLength(least);
      seen.add(least);
    }
    expect(seen.size).toBeGreaterThan(whole(1, 3));
  });

  it('proves a bound that is not below the best placement also where it may do no work', () => {
    for (const seed of seeds(whole(10, 40), 400)) {
      const searched = searchedOf(tightProblem(seed));
      const solved = placementSolver(highs, 0)(searched, { kind: 'accuracy' });
      if (solved === 'infeasible') expect(bestOfAll(searched)).toBeLessThan(0);
      else expect(solved!.bound, `seed ${seed}`).toBeGreaterThanOrEqual(bestOfAll(searched) - 1e-9);
    }
  });
});

describe('A search with the MILP of placements', () => {
  /** Models of which no two fit a device, on so many devices that placements are not looked at one by one. */
  const many = (seed: number): GearProblem => {
    const models = randomFamily(streamOf(seed, 'apart'), 4, 60).map((model) => ({
      ...model,
      memoryBytes: 4,
    }));
    const rps = (30 * 1e9) / models.at(-1)!.latencyNs[0]!;
    return {
      ...randomProblem(seed),
      models,
      devices: 60,
      memoryBytes: 5,
      latencyNs: 1e9,
      ranges: [0.5, 1].map((part) => ({ fromRps: 0, toRps: part * 6 * rps, share: 0.5 })),
    };
  };

  inWholeRun(
    'has no looser bound than one without, no fewer right answers, and a bound that no plan surpasses',
    () => {
      const seen = { tighter: 0, better: 0 };
      for (const seed of seeds(whole(2, 6), 40)) {
        const problem = many(seed);
        expect(placementsOf(problem.models, problem)).toBeUndefined();
        const solved = mostAccurate(problem, { arrivalsOf, solvePlacement: placementSolver(highs) });
        const listed = mostAccurate(problem, { arrivalsOf });
        if (!('choice' in solved)) continue;
        expect(solved.choice.bound, `seed ${seed}`).toBeGreaterThanOrEqual(solved.choice.accuracy);
        if (!('choice' in listed)) continue;
        expect(solved.choice.bound).toBeLessThanOrEqual(listed.choice.bound + 1e-9);
        expect(solved.choice.bound).toBeGreaterThanOrEqual(listed.choice.accuracy - 1e-9);
        expect(solved.choice.accuracy).toBeGreaterThanOrEqual(listed.choice.accuracy - 0.01);
        seen.tighter += solved.choice.bound < listed.choice.bound - 1e-9 ? 1 : 0;
        seen.better += solved.choice.accuracy > listed.choice.accuracy + 1e-9 ? 1 : 0;
      }
      expect(seen.tighter, JSON.stringify(seen)).toBeGreaterThan(cases(whole(0, 1), 10));
    },
  );

  it('says that there is no plan where no placement has the time, and gives the same plan each time', () => {
    const problem = many(1);
    const ranges = problem.ranges.map((range) => ({ ...range, toRps: 1e3 * range.toRps }));
    const solvePlacement = placementSolver(highs);
    expect(mostAccurate({ ...problem, ranges }, { arrivalsOf, solvePlacement }).status).toBe('infeasible');
    const plans = [1, 2].map(() => mostAccurate(problem, { arrivalsOf, solvePlacement }));
    expect(plans[0]).toEqual(plans[1]);
  });

  it('for the fewest devices begins with those that some placement needs', () => {
    let higher = 0;
    for (const seed of seeds(whole(10, 40), 300)) {
      const problem = { ...tightProblem(seed), devices: 12 };
      const { accuracy } = cascadeSpace(problem).cascades[2] ?? { accuracy: 0 };
      const asked = { problem, objective: 'devices' as const, accuracy, arrivalsOf };
      const without = solveGears(asked);
      const solved = solveGears({ ...asked, solvePlacement: placementSolver(highs) });
      if (!('solution' in without) || !('solution' in solved)) continue;
      expect(solved.solution.bound, `seed ${seed}`).toBeGreaterThanOrEqual(without.solution.bound);
      expect(solved.solution.value).toBeGreaterThanOrEqual(solved.solution.bound);
      expect(without.solution.value).toBeGreaterThanOrEqual(solved.solution.bound);
      higher += solved.solution.bound > without.solution.bound ? 1 : 0;
    }
    expect(higher).toBeGreaterThan(cases(whole(0, 1), 10));
  });
});
