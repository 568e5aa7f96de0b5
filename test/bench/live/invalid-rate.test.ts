import { describe, expect, it } from 'vitest';
import { invalidRate } from '../../../bench/live/invalid-rate.js';
import { shapeOf } from '../../../bench/simulate/topologies.js';
import { ToldFaults } from '../../../src/formats/index.js';
import { RunMetrics } from '../../../src/metrics/index.js';
import { plannedScheduler, planTopologyOf } from '../../../src/plans/index.js';
import { streamOf, streamsOf } from '../../../src/random/index.js';
import { type LogEntry, makeCore, recorded } from '../../../src/serving/index.js';
import { simulate } from '../../../src/simulator/index.js';
import { DrawnArrivals, steadyLoad } from '../../../src/workload/index.js';
import { edge, pipelineOf } from '../../pipeline-plans.js';

const DURATION_S = 5;
/** The second stage serves 150 requests/s, and the first more than twice as many: what it ran is often in vain. */
const PLAN = pipelineOf(
  [
    { name: 'detect', next: [edge('match')], batch: 4, latencyUs: 2500 },
    { name: 'match', batch: 2, latencyUs: 20_000 },
  ],
  [['detect'], ['match'], ['match'], ['match']],
  { sloMs: 100, throughputRps: 150 },
);

/** simulated gives the log of a simulated run, and the invalid rate that the metrics have. */
function simulated(scheduler: string): { log: LogEntry[]; measured: number | undefined } {
  const topology = planTopologyOf(PLAN);
  const options = { options: { scheduler }, leastSloNs: 1e8, kind: PLAN.kind };
  const chosen = plannedScheduler(PLAN.serving, options, new ToldFaults())!;
  const log: LogEntry[] = [];
  const metrics = new RunMetrics(shapeOf(topology, DURATION_S));
  const { endNs } = simulate({
    topology,
    makeCore: (decisions) => {
      const core = makeCore(chosen, topology, { decisions, streams: streamsOf(1, 'core') });
      return recorded(core, decisions, (entry) => log.push(entry));
    },
    arrivals: new DrawnArrivals({
      process: 'poisson',
      load: steadyLoad(300, DURATION_S),
      stream: streamOf(1, 'arrivals'),
    }),
    observers: [metrics],
  });
  return { log, measured: metrics.figures(endNs).overall.invalidRate };
}

describe('invalidRate()', () => {
  it.each(['stage-local', 'inferline', 'reactive'])(
    'is that of the metrics, by the log of a run under %s',
    (scheduler) => {
      const { log, measured } = simulated(scheduler);
      const found = invalidRate(log, { plan: PLAN, topology: planTopologyOf(PLAN) }, scheduler);
      expect(measured).toBeGreaterThan(0.05);
      expect(found).toBeCloseTo(measured as number, 9);
    },
  );

  it('is undefined where a core decides otherwise, or where nothing was executed', () => {
    const bundle = { plan: PLAN, topology: planTopologyOf(PLAN) };
    expect(invalidRate(simulated('stage-local').log, bundle, 'inferline')).toBeUndefined();
    expect(invalidRate([], bundle, 'stage-local')).toBeUndefined();
  });
});
