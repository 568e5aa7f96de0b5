import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadArtifact } from '../../../src/artifacts/index.js';
import { JobPool } from '../../../src/jobs/index.js';
import { loadCascade } from '../../../src/specs/cascade/cascade.js';
import type { GearJob, PlannedGears } from '../../../src/specs/cascade/cascade-worker.js';
import { writeFamily } from '../../cascade-specs.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-cascades-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const WORKER = '#dist/src/specs/cascade/cascade-worker.js';

function poolOfOne(): JobPool<GearJob, PlannedGears, string> {
  return new JobPool(WORKER, { what: 'planner', threads: 1 });
}

describe('The thread that plans cascades', () => {
  it('finds the cascades of a family once for the jobs of a pool, and again for the next pool', async () => {
    // Where the time is over before the cascades are counted, no accuracy is out of reach.
    const path = await writeFamily(folder, { slo: { latencyMs: 60, accuracy: 0.999 } });
    const { spec, files, resolved } = await loadCascade(await loadArtifact(path, ['cascade']));
    const job: GearJob = { spec: spec.value, files, resolved, explain: false, frontier: false };
    const late = { ...job, timeLimit: 1e-9 };
    const first = poolOfOne();
    const second = poolOfOne();
    try {
      expect((await first.run(late)).answer.status).toBe('undecided');
      expect((await first.run(job)).answer.status).toBe('infeasible');
      expect((await first.run(late)).answer.status).toBe('infeasible');
      await first.close();
      expect((await second.run(late)).answer.status).toBe('undecided');
    } finally {
      await first.close();
      await second.close();
    }
  });
});
