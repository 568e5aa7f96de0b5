import { describe, expect, it } from 'vitest';
import { servedRuns } from '../../../../bench/pard/figures/served-runs.js';
import { pardWorkload, servedWorkload } from '../../../../bench/pard/workloads.js';
import { runSimulation } from '../../../../src/simulation/run.js';
import { fewOf, whole } from '../../../cases.js';

describe('servedRuns()', () => {
  const RUNS = [
    ['lv', 'tweet', 'pard'],
    ['lv', 'azure', 'pard-oc'],
    ['tm', 'wiki', 'nexus'],
    ['da', 'azure', 'pard'],
    ['da-branch', 'tweet', 'clipper++'],
  ] as const;
  it.each(fewOf(RUNS, 2))(
    'counts what a report counts: %s-%s under %s',
    async (application, trace, scheduler) => {
      const asked = { application, trace, durationS: whole(15, 40), seed: 3 } as const;
      const { runs, stages } = await servedRuns({
        ...asked,
        servers: [{ name: 'it', scheduler }],
        bounds: 'none',
      });
      const made = await pardWorkload(asked);
      const { figures, worst, usedGpuS } = await runSimulation(servedWorkload(made, { scheduler }), {
        windowNs: 1e9,
        worstOverS: [1, 10],
      });
      const [run] = runs as [(typeof runs)[number]];
      const { arrived, inTime, late, dropped, failed, invalidRate } = figures.overall;
      expect(run).toMatchObject({ server: 'it', arrived, inTime, late, dropped, failed });
      expect(figures.windows?.map((window) => window.inTime)).toEqual([...run.inTimeIn]);
      const at = stages.map((_, pool) =>
        figures.drops.reduce((sum, one) => sum + (one.pool === pool ? one.count : 0), 0),
      );
      expect([...run.droppedAt]).toEqual(at);
      const invalid = run.wastedNs / run.usedNs;
      // A report does not count what a batch takes that ends after its request was dropped on another branch.
      if (application === 'da') expect(invalid).toBeGreaterThan(invalidRate as number);
      else expect(invalid).toBeCloseTo(invalidRate as number, 12);
      for (const [pool, one] of figures.pools.entries()) {
        expect(run.batch[pool]).toBeCloseTo(one.meanBatch as number, 9);
      }
      expect(worst?.[0]?.largestDropRate).toBeGreaterThan(0);
      expect(usedGpuS?.[0]).toBeGreaterThan(0);
    },
  );

  it('says how long tasks wait before their batch begins, at each stage of a chain', async () => {
    const asked = { application: 'tm', trace: 'wiki', durationS: whole(15, 40) } as const;
    const servers = [{ name: 'naive', scheduler: 'naive' }];
    const { runs } = await servedRuns({ ...asked, servers, bounds: 'none' });
    const { figures } = await runSimulation(
      servedWorkload(await pardWorkload(asked), { scheduler: 'naive' }),
      {},
    );
    // Nothing is dropped, so that all waits together are the queueing of the report.
    const waits = runs[0]?.waitMs.reduce((sum, ms) => sum + ms, 0);
    const queueing = figures.overall.splitMs?.queueing.mean as number;
    expect(waits).toBeGreaterThan(10);
    expect(Math.abs((waits as number) / queueing - 1)).toBeLessThan(1e-3);
  });
});
