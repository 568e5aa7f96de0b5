import { describe, expect, it } from 'vitest';
import { type ServedRun, servedRuns } from '../../../bench/pard/figures/served-runs.js';
import { TRACE_VARIATIONS, type TraceName } from '../../../bench/pard/made-traces.js';
import type { WorkerSteps } from '../../../bench/pard/oracle/problem.js';
import { fewOf, whole } from '../../cases.js';

const SECONDS = whole(15, 60);
const SERVERS = ['pard', 'nexus', 'clipper++', 'naive'].map((name) => ({ name, scheduler: name }));
const TRACES = Object.keys(TRACE_VARIATIONS) as TraceName[];
const TWELVE = (['tm', 'lv', 'ga', 'da'] as const).flatMap((application) =>
  TRACES.map((trace) => [application, trace] as const),
);

/** upNs is for how long the devices of a stage are up until an instant, together. */
function upNs({ fromNs, count }: WorkerSteps, untilNs: number): number {
  return fromNs.reduce((sum, from, i) => {
    const to = Math.min(untilNs, fromNs[i + 1] ?? untilNs);
    return sum + (count[i] as number) * Math.max(0, to - from);
  }, 0);
}

function holds(run: ServedRun, bound: number): void {
  const { arrived, inTime, late, dropped, failed, droppedAtEntry, droppedAt } = run;
  const sum = (counts: Uint32Array) => counts.reduce((all, count) => all + count, 0);
  expect(inTime + late + dropped + failed).toBe(arrived);
  expect(failed).toBe(0);
  expect(droppedAtEntry + sum(droppedAt)).toBe(dropped);
  expect(sum(run.inTimeIn)).toBe(inTime);
  for (const [second, count] of run.inTimeIn.entries())
    expect(count).toBeLessThanOrEqual(run.arrivedIn[second] as number);
  expect(inTime).toBeLessThanOrEqual(run.bound as number);
  expect(run.bound).toBeLessThanOrEqual(bound);
  expect(run.wastedNs).toBeLessThanOrEqual(run.usedNs);
  // What is dropped by naive would be a mistake; a device does no more than it has time for.
  if (run.server === 'naive') expect(dropped).toBe(0);
  const endNs = 1e12;
  const up = run.workers.reduce((all, workers) => all + upNs(workers, endNs), 0);
  expect(run.usedNs).toBeLessThanOrEqual(up);
}

describe('the twelve workloads of PARD, each for some time', () => {
  it.each(fewOf(TWELVE, 1))(
    'have one outcome for each request, and no more in time than can be: %s-%s',
    async (application, trace) => {
      const asked = { application, trace, durationS: SECONDS, servers: SERVERS } as const;
      const { runs, bound = 0 } = await servedRuns({ ...asked, bounds: 'own-devices' });
      const [first] = runs as [ServedRun];
      expect(runs.map(({ server }) => server)).toEqual(SERVERS.map(({ name }) => name));
      expect(bound).toBeLessThanOrEqual(first.arrived);
      for (const run of runs) {
        expect(run.arrivedIn).toEqual(first.arrivedIn);
        holds(run, bound);
      }
    },
  );
});
