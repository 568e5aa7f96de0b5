import { describe, expect, it } from 'vitest';
import { topologyOf } from '../../src/plans/index.js';
import {
  type Decisions,
  REACTIVE_POLICY,
  ReservationCore,
  ROOM_FIRST_POLICY,
  StageLocalCore,
  type Topology,
} from '../../src/serving/index.js';
import { ENGINE_POLICIES } from '../../src/serving/stage-local/index.js';
import { planOf } from './plans.js';
import { runVirtual, STREAMS, type WatchedCore } from './virtual-driver.js';

const MS = 1e6;
const SCHEDULERS: Record<string, (topology: Topology, decisions: Decisions) => WatchedCore> = {
  reservation: (t, d) => new ReservationCore(t, d),
  reactive: (t, d) => new StageLocalCore(t, d, REACTIVE_POLICY),
  'room-first': (t, d) => new StageLocalCore(t, d, ROOM_FIRST_POLICY),
  'ray-serve': (t, d) => new StageLocalCore(t, d, { ...ENGINE_POLICIES['ray-serve'], streams: STREAMS }),
  triton: (t, d) => new StageLocalCore(t, d, ENGINE_POLICIES.triton),
  'stage-local': (t, d) => new StageLocalCore(t, d, { late: { kind: 'drop' } }),
};

/**
 * run serves a request every 10 ms, each within an SLO of 20 ms, on two stages of 2 ms per row. It gives the outcomes
 * of the second half.
 * @param factorOf how many times as long as planned each execution takes
 */
function run(name: string, factorOf: (step: number) => number) {
  const parts = [1, 2].map(() => ({
    batch: 2,
    latencyUs: (batch: number) => 2000 * batch,
    transferBytes: 1000,
  }));
  const topology = topologyOf(planOf([{ sloMs: 20, pipelines: [{ throughputRps: 1, parts }] }], 10));
  let step = 0;
  const { ended } = runVirtual({
    topology,
    arrivals: Array.from({ length: 4000 }, (_, i) => ({ at: i * 10 * MS })),
    executionNs: (pool, size) => topology.pools[pool]!.latencyNs[size - 1]! * factorOf(step++),
    handsAhead: true,
    makeCore: SCHEDULERS[name] as (topology: Topology, decisions: Decisions) => WatchedCore,
  });
  return ended.filter(({ arrival }) => arrival >= 2000).map(({ outcome }) => outcome);
}

describe.each(Object.keys(SCHEDULERS))('%s', (name) => {
  it('serves every request in time again after executions took twelve times as long for a while', () => {
    expect(run(name, (step) => (step < 60 ? 12 : 1)).filter((outcome) => outcome !== 'inTime')).toEqual([]);
  });

  it('serves every request in time where executions always take half as long again, which still fits', () => {
    expect(run(name, () => 1.5).filter((outcome) => outcome !== 'inTime')).toEqual([]);
  });

  // Queues of Triton know how long a task has waited, and no deadline: devices are never idle, and execute a row in 24 ms.
  const most = name === 'triton' ? 10 / 24 : 0.4;
  it(`tries at most ${Math.round(100 * most)} % of the requests where none can ever be in time`, () => {
    const late = run(name, () => 12).filter((outcome) => outcome !== 'dropped');
    expect(late.length).toBeLessThanOrEqual(most * 2000);
  });
});
