import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { simulatePlan } from '../../src/api/index.js';
import { solveSpec } from '../../src/specs/index.js';
import { fewOf, inWholeRun } from '../cases.js';

const INPUTS = fileURLToPath(new URL('../../../shared/repro/', import.meta.url));

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-once-wrong-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const at = (name: string): string => join(INPUTS, name);

describe.skipIf(!existsSync(INPUTS))('inputs that were once answered wrongly', () => {
  inWholeRun(
    'link: what a plan over busy uplinks promises is what its simulation shows, at 4 an hour',
    async () => {
      const output = join(folder, 'link.json');
      const solved = await solveSpec(at('link/s.json'), { output });
      if (solved.outcome !== 'pipeline-plan') throw new Error(solved.outcome);
      const { hourlyCost, sample, throughputRps } = solved.plan;
      expect(hourlyCost).toBe(4);
      expect(throughputRps).toBeGreaterThan(230);
      const { report } = await simulatePlan(output, { seed: 1, rps: ['230'] });
      expect(report.overall.attainment).toBeCloseTo(sample?.leastAttainment as number, 9);
      const { report: other } = await simulatePlan(output, { seed: 7, rps: ['230'], duration: 30 });
      expect(other.overall.attainment).toBeGreaterThan(0.98);
    },
  );

  it.each(fewOf(['two-inferline', 'spec', 'two-exact'], 1))(
    'overcount: %s has no more devices in use than there are, or no plan',
    async (name) => {
      const solved = await solveSpec(at(`overcount/${name}.json`), { work: 2000 });
      expect(['pipeline-plan', 'infeasible']).toContain(solved.outcome);
      if (solved.outcome !== 'pipeline-plan') return;
      const { cluster, placement } = solved.plan;
      for (const [device, { count = Number.POSITIVE_INFINITY }] of Object.entries(cluster.devices))
        expect(placement.filter((place) => place.class === device).length).toBeLessThanOrEqual(count);
    },
  );

  inWholeRun(
    'cascade: an SLO of 15 ms is held at the bottom and at the top of the loads, of seeds that no search has seen',
    async () => {
      const output = join(folder, 'cascade.json');
      const solved = await solveSpec(at('cascade/low2-d15-20/spec.yaml'), { output });
      if (solved.outcome !== 'gear-plan') throw new Error(solved.outcome);
      const { maxRps, promise } = solved.plan;
      expect(promise).toMatchObject({ latencyMs: 15, quantile: 0.95 });
      for (const [rps, duration] of [
        [6, 300],
        [maxRps, 2],
      ] as const) {
        const { report } = await simulatePlan(output, { seed: 4001, rps: [String(rps)], duration });
        expect(report.overall.attainment, `at ${rps}/s`).toBeGreaterThan(0.95);
      }
    },
  );
});
