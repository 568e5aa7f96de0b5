import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  PUBLISHED_PLANS,
  profilesIn,
  publishedInstances,
  publishedPlan,
} from '../../../bench/ppipe/plans.js';
import { topologyOf } from '../../../src/plans/index.js';
import { type Stream, streamOf } from '../../../src/random/index.js';
import {
  busyUntilTables,
  type Decisions,
  PUBLISHED_POLICY,
  PUBLISHED_REACTIVE_POLICY,
  ReservationCore,
  type ServingCore,
  StageLocalCore,
} from '../../../src/serving/index.js';
import { cases } from '../../cases.js';
import { MADE_INSTANCE, madeProfileOf } from '../../ppipe/made-instance.js';
import { type Golden, goldenRuns, replayGolden, simulateGolden } from './golden.js';

const SHARED = new URL('../../../../shared/', import.meta.url);
const FOLDER = new URL('data/ppipe/', SHARED);
const there = existsSync(SHARED);

const coreOf =
  ({ scheduler, topology }: Golden) =>
  (decisions: Decisions): ServingCore =>
    scheduler === 'reactive'
      ? new StageLocalCore(topology, decisions, PUBLISHED_REACTIVE_POLICY)
      : new ReservationCore(topology, decisions, { ...PUBLISHED_POLICY, makeTables: busyUntilTables });

/** The number of rows that differ, and the first that does. */
function differences(ours: readonly string[], theirs: readonly string[]) {
  const differing = ours.flatMap((row, i) =>
    row === theirs[i] ? [] : [{ request: i, ours: row, theirs: theirs[i] }],
  );
  return { of: ours.length, differing: differing.length, first: differing[0] };
}

/** drawnArrivals draws Poisson arrivals in whole microseconds, as the published simulator does. */
function drawnArrivals(stream: Stream, rps: number, count: number): number[] {
  let at = 0;
  return Array.from({ length: count }, () => {
    at += Math.floor((1e6 / rps) * stream.exponential());
    return at;
  });
}

describe('simulate() under the published rules, on an instance made here', () => {
  test.each(PUBLISHED_PLANS)(
    'gives the same rows as a driver that asks for decisions after every event: %s',
    (name) => {
      const stream = streamOf(1, 'made');
      const plan = publishedPlan(MADE_INSTANCE, name, { profileOf: madeProfileOf, only: 0 })!;
      for (const load of [0.7, 1, 1.5])
        for (const scheduler of ['reservation', 'reactive'] as const) {
          const topology = topologyOf(plan, { rules: 'published' });
          const arrivalsUs = drawnArrivals(stream, load * (plan.models[0]?.throughputRps as number), 400);
          const run = { file: 'made', scheduler, topology, arrivalsUs, rows: [] };
          const rows = replayGolden(run, coreOf(run));
          const found = differences(simulateGolden(run, coreOf(run)), rows);
          expect({ load, scheduler, ...found }).toEqual({
            load,
            scheduler,
            of: 400,
            differing: 0,
            first: undefined,
          });
          const served = rows.filter((row) => row.startsWith('served')).length;
          if (load < 1) expect(served).toBeGreaterThan(380);
          else expect(served).toBeGreaterThan(200);
        }
    },
  );
});

/** Where there are no golden runs, one test is named and skipped. */
const NONE: [string, Golden][] = [['every golden run', undefined as unknown as Golden]];

describe.runIf(there)('golden runs of the published simulator', () => {
  const all = there ? goldenRuns(FOLDER) : [];
  // Both schedulers run. One model is overloaded, and one has a single partition.
  const runs = all.filter(({ file }) => cases(/_lf100|SLA_AWARE|googlenet/, /./).test(file));

  test.each(there ? runs.map((run): [string, Golden] => [run.file, run]) : NONE)(
    '%s is replayed row for row',
    (_, run) => {
      const same = { of: run.rows.length, differing: 0, first: undefined };
      expect(differences(replayGolden(run, coreOf(run)), run.rows)).toEqual(same);
      expect(differences(simulateGolden(run, coreOf(run)), run.rows)).toEqual(same);
    },
  );
});

if (there)
  test('simulate() gives the same rows as a driver that asks for decisions after every event, on published plans', () => {
    const profileOf = profilesIn(FOLDER);
    const stream = streamOf(1, 'golden');
    const instances = publishedInstances(FOLDER).filter((_, i) => i % cases(7, 1) === 0);
    for (const instance of instances) {
      for (const name of PUBLISHED_PLANS) {
        const plan = publishedPlan(instance, name, { profileOf, only: 0 });
        if (plan === undefined) continue;
        const arrivalsUs = drawnArrivals(stream, plan.models[0]?.throughputRps as number, 1000);
        for (const scheduler of ['reservation', 'reactive'] as const) {
          const topology = topologyOf(plan, { rules: 'published' });
          const file = `${instance.id}, ${name}, ${scheduler}`;
          const run = { file, scheduler, topology, arrivalsUs, rows: [] };
          const found = differences(simulateGolden(run, coreOf(run)), replayGolden(run, coreOf(run)));
          expect({ file, ...found }).toEqual({ file, of: 1000, differing: 0, first: undefined });
        }
      }
    }
  });
