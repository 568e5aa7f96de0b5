import { describe, expect, it } from 'vitest';
import { ToldFaults, type WarmUp } from '../../src/formats/index.js';
import { plannedScheduler } from '../../src/plans/index.js';
import { simulatedRates } from '../../src/simulation/index.js';
import { inWholeRun, whole } from '../cases.js';
import { planOf } from '../serving/plans.js';

const SLO_MS = 1000;
/** One device that serves batches of 4 in 10 ms: 400 requests/s, where an SLO's requests are many. */
const PLAN = planOf([
  {
    sloMs: SLO_MS,
    pipelines: [
      { throughputRps: 400, parts: [{ batch: 4, latencyUs: (b) => (b === 4 ? 10_000 : 5000 + 1250 * b) }] },
    ],
  },
]);
const scheduler = plannedScheduler({}, { options: {}, leastSloNs: 1e6 * SLO_MS }, new ToldFaults());
const WARM_UP: WarmUp = { fillSlos: 1, settleSlos: 10 };

async function attained(rps: number, slos: number, runs: number, warmUp?: WarmUp): Promise<number> {
  if (scheduler === undefined) throw new Error('the default scheduler is not known');
  const durationNs = slos * SLO_MS * 1e6;
  const simulate = simulatedRates(PLAN, { scheduler, arrivals: 'poisson', durationNs, warmUp });
  let sum = 0;
  for (let seed = 0; seed < runs; seed++) sum += (await simulate([rps], seed))[0]?.attainment ?? 0;
  return sum / runs;
}

describe('simulatedRates()', () => {
  it('with a warm-up reaches in a short run what a long run reaches, below, at and above the planned rate', async () => {
    for (const rps of whole([400], [380, 396, 400, 404])) {
      const long = await attained(rps, whole(600, 3000), 1);
      expect(Math.abs((await attained(rps, 60, whole(2, 8), WARM_UP)) - long), `${rps}/s`).toBeLessThan(
        whole(0.02, 0.004),
      );
    }
  });

  inWholeRun('without a warm-up has too many in time where a little more comes than is served', async () => {
    expect((await attained(404, 60, 8)) - (await attained(404, 3000, 1))).toBeGreaterThan(0.006);
  });
});
