import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  PUBLISHED_POLICY,
  PUBLISHED_REACTIVE_POLICY,
  ReactiveCore,
  ReservationCore,
} from '../../src/serving/index.js';
import { goldenRuns, replayGolden } from './golden.js';

const SHARED = new URL('../../../shared/', import.meta.url);

describe.runIf(existsSync(SHARED))('golden runs of the published simulator', () => {
  const runs = existsSync(SHARED) ? goldenRuns(new URL('data/ppipe/', SHARED)) : [];

  test.each(runs.map((run) => [run.file, run] as const))('%s is replayed row for row', (_, run) => {
    const rows = replayGolden(run, (decisions) =>
      run.scheduler === 'reactive'
        ? new ReactiveCore(run.topology, decisions, PUBLISHED_REACTIVE_POLICY)
        : new ReservationCore(run.topology, decisions, PUBLISHED_POLICY),
    );
    const differing = rows.flatMap((row, i) =>
      row === run.rows[i] ? [] : [{ request: i, ours: row, theirs: run.rows[i] }],
    );
    expect({ of: rows.length, differing: differing.length, first: differing[0] }).toEqual({
      of: run.rows.length,
      differing: 0,
      first: undefined,
    });
  });
});
