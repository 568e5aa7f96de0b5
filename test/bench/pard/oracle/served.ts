import { type Streams, streamsOf } from '../../../../src/random/index.js';
import { areChains, type StageTopology } from '../../../../src/serving/index.js';
import { type AnyPolicy, SCHEDULERS, type Scheduler } from '../../../../src/serving/schedulers.js';
import { simulate, type VerdictOf } from '../../../../src/simulator/index.js';
import { arrivalsAt } from '../../../../src/workload/index.js';

/** Served is a load that is served in a simulation. */
interface Simulated {
  readonly topology: StageTopology;
  readonly arrivalNs: Float64Array;
  readonly verdict: VerdictOf | undefined;
}

/** servedByAll simulates every scheduler and preset that serves a topology, and gives how many requests each has in time. */
export function servedByAll({ topology, arrivalNs, verdict }: Simulated): Map<string, number> {
  const served = new Map<string, number>();
  for (const [name, scheduler] of Object.entries(SCHEDULERS) as [string, Scheduler][]) {
    if (name === 'gears' || (scheduler.family === 'reservation' && !areChains(topology.routes))) continue;
    const policies: Record<string, AnyPolicy> = { '': scheduler.policy, ...scheduler.presets };
    for (const [preset, policy] of Object.entries(policies)) {
      const streams: Streams = streamsOf(1, 'core');
      const { inTime } = simulate({
        topology,
        arrivals: arrivalsAt(arrivalNs),
        makeCore: (decisions) => scheduler.core(topology, { decisions, streams }, policy),
        ...(verdict === undefined ? {} : { verdict }),
      });
      served.set(`${name} ${preset}`.trim(), inTime);
    }
  }
  return served;
}
