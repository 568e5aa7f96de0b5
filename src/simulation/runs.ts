import { itemAt } from '../collections/index.js';
import {
  type Fault,
  type FigureOverRuns,
  fault,
  option,
  type RunsFigures,
  type SimulatedRequests,
  type SimulatedRuns,
} from '../formats/index.js';
import { attainmentOverRuns, CONFIDENCE, meanOverRuns } from '../metrics/index.js';
import type { SimulationJob } from './run.js';

/** The most runs of one plan that are simulated for one report. */
const MOST_RUNS = 1000;

/** runsFaults refuses a number of runs that is not from 1 to 1000. */
export function runsFaults(runs: number): Fault[] {
  if (Number.isInteger(runs) && runs >= 1 && runs <= MOST_RUNS) return [];
  return [fault(`is ${runs}; it must be a whole number from 1 to ${MOST_RUNS}`, option('runs'))];
}

/** seededJobs gives one job for each run after the first, with the seeds that follow. */
export function seededJobs(seed: number, count: number): { name: string; job: SimulationJob }[] {
  return Array.from({ length: count - 1 }, (_, i) => {
    const next = seed + i + 1;
    return { name: `the run of seed ${next}`, job: { seed: next } };
  });
}

/** RanRequests is what became of the requests of a run. */
interface RanRequests {
  readonly complete: boolean;
  readonly figures: { readonly overall: SimulatedRequests; readonly models: readonly SimulatedRequests[] };
}

/**
 * overRuns gives the figures over runs of one setup.
 * @param names the plan's models, in order
 * @returns undefined where fewer than two runs came to their end
 */
export function overRuns(runs: readonly RanRequests[], names: readonly string[]): SimulatedRuns | undefined {
  const complete = runs.filter((run) => run.complete).map(({ figures }) => figures);
  if (complete.length < 2) return undefined;
  return {
    count: complete.length,
    confidence: CONFIDENCE,
    overall: figuresOf(complete.map(({ overall }) => overall)),
    models: names.map((name, m) => ({
      name,
      ...figuresOf(complete.map(({ models }) => itemAt(models, m))),
    })),
  };
}

function figuresOf(runs: readonly SimulatedRequests[]): RunsFigures {
  const attainments = known(runs.map(({ attainment }) => attainment));
  const p99s = known(runs.map(({ latencyMs }) => latencyMs?.p99));
  const requests = runs.reduce((sum, { arrived }) => sum + arrived, 0);
  return {
    ...(attainments === undefined ? {} : { attainment: { ...attainmentOverRuns(attainments, requests) } }),
    goodputRps: over(runs.map(({ goodputRps }) => goodputRps)),
    ...(p99s === undefined ? {} : { p99Ms: over(p99s) }),
  };
}

function over(values: readonly number[]): FigureOverRuns {
  return { ...meanOverRuns(values) };
}

/** known gives the values where every run has one. */
function known(values: readonly (number | undefined)[]): number[] | undefined {
  const there = values.filter((value) => value !== undefined);
  return there.length === values.length ? there : undefined;
}
