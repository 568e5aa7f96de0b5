import { describe, expect, it } from 'vitest';
import { streamOf, streamsOf } from '../../../../src/random/index.js';
import { type Readings, StageLocalCore, type StageLocalPolicy } from '../../../../src/serving/index.js';
import { PARD_POLICIES } from '../../../../src/serving/stage-local/index.js';
import { LoadFactors } from '../../../../src/serving/stage-local/pard-state/load-factors.js';
import {
  StatePlanner,
  type StatePlannerOptions,
} from '../../../../src/serving/stage-local/pard-state/state-planner.js';
import { PlanColumns } from '../../../../src/serving/state/index.js';
import { chainOf, MS, stage, Waiting } from '../../by-hand.js';
import { runVirtual } from '../../virtual-driver.js';

/** served serves requests at times in milliseconds by PARD, on one device whose batches of 1 and 2 take 10 and 20 ms. */
function served(sloMs: number, atMs: number[], readings?: Readings) {
  const { ended } = runVirtual({
    topology: chainOf(sloMs, stage([10, 20])),
    arrivals: atMs.map((ms) => ({ at: ms * MS })),
    makeCore: (topology, decisions) =>
      new StageLocalCore(topology, decisions, {
        ...(PARD_POLICIES.pard as StageLocalPolicy),
        streams: streamsOf(1, 'core'),
        ...(readings && { readings }),
      }),
  });
  return ended
    .toSorted((a, b) => a.arrival - b.arrival)
    .map(({ outcome, at }) => (outcome === 'dropped' ? outcome : `${outcome} ${at / MS}`));
}

const estimate = { queueing: true, execution: true, wait: 'none', quantile: 0, branches: 'worst' } as const;

/** plannerOf makes a planner of three stages whose planned batches take 10, 20 and 30 ms, told of tasks by `[request, pool]`. */
function plannerOf(options: Partial<StatePlannerOptions>) {
  const { durations, requests } = new Waiting(chainOf(1000, stage([10]), stage([20]), stage([30])));
  const topology = chainOf(1000, stage([10]), stage([20]), stage([30]));
  const of = (task: number) => ({ request: Math.floor(task / 3), pool: task % 3 });
  const stub = Object.assign(Object.create(requests) as typeof requests, {
    poolOf: (task: number) => of(task).pool,
    requestOf: (task: number) => of(task).request,
    queuedAt: () => 0,
  });
  const planner = new StatePlanner(
    {
      topology,
      columns: new PlanColumns(topology),
      requests: stub,
      durations,
      devicesUp: () => 1,
      stream: () => streamOf(1, 'waits'),
    },
    { windowNs: 1000 * MS, periodNs: 0, samples: 1000, ...options },
  );
  return { planner, task: (request: number, pool: number) => 3 * request + pool };
}

describe('Readings of what PARD leaves open', () => {
  it('formingBatch: d_k is that of the batch with the task, not of the planned one', () => {
    // A batch of two that begins at 10 ms ends at 30 ms, one of one at 20 ms, and the second request has until 29 ms.
    expect(served(24, [0, 5])).toEqual(['inTime 10', 'dropped']);
    expect(served(24, [0, 5], { formingBatch: true })).toEqual(['inTime 10', 'inTime 20']);
    // The third would make it a batch of two.
    expect(served(24, [0, 5, 6], { formingBatch: true })[2]).toBe('inTime 30');
    expect(served(23, [0, 5, 6], { formingBatch: true })[2]).toBe('dropped');
  });

  it('runningAsPlanned: a batch that runs is expected to take as long as the planned one', () => {
    expect(served(34, [0, 5])).toEqual(['inTime 10', 'inTime 20']);
    expect(served(34, [0, 5], { runningAsPlanned: true })).toEqual(['inTime 10', 'dropped']);
    expect(served(35, [0, 5], { runningAsPlanned: true })).toEqual(['inTime 10', 'inTime 20']);
  });

  it('idleWaits: an idle device waits for a planned batch, up to the last moment', () => {
    expect(served(50, [0])).toEqual(['inTime 10']);
    expect(served(50, [0], { idleWaits: true })).toEqual(['inTime 40']);
    expect(served(50, [0, 5], { idleWaits: true })).toEqual(['inTime 25', 'inTime 25']);
  });

  it('countsDropped: the queueing delays of dropped tasks count', () => {
    const later = [false, true].map((countsDropped) => {
      const { planner, task } = plannerOf({ estimate, readings: { countsDropped } });
      planner.kept(10 * MS, task(0, 1), 1, 10 * MS);
      planner.dropped(30 * MS, task(1, 1), 1, 30 * MS);
      return planner.laterNs(30 * MS, 0) / MS;
    });
    expect(later[0]).toBeCloseTo(50 + 10);
    expect(later[1]).toBeGreaterThan(50 + 19);
  });

  it('waits: joint ones are those of one request at all stages', () => {
    const spread = (quantile: number, readings: Readings) => {
      const { planner, task } = plannerOf({
        estimate: { ...estimate, wait: 'quantile', quantile },
        readings,
      });
      for (let request = 0; request < 100; request++) {
        const waitMs = request % 2 === 0 ? [0, 10, 0] : [0, 0, 10];
        // Only those that come into a batch of the last stage count.
        for (const pool of request < 90 ? [0, 1, 2] : [0, 1])
          planner.kept(0, task(request, pool), pool, (request < 90 ? (waitMs[pool] as number) : 500) * MS);
      }
      planner.passed(100 * MS);
      return planner.laterNs(100 * MS, 0) / MS - 50;
    };
    for (const quantile of [0, 0.5, 1]) expect(spread(quantile, { waits: 'joint' })).toBe(10);
    expect(spread(0, {})).toBe(0);
    expect(spread(1, {})).toBe(510);
  });

  it('waits: uniform ones do not follow what was observed', () => {
    const most = [undefined, 'uniform' as const].map((waits) => {
      const { planner, task } = plannerOf({
        estimate: { ...estimate, wait: 'quantile', quantile: 1 },
        readings: waits === undefined ? {} : { waits },
      });
      for (const pool of [0, 1, 2]) planner.kept(0, task(0, pool), pool, 0);
      planner.passed(100 * MS);
      return planner.laterNs(100 * MS, 1) / MS - 30;
    });
    expect(most[0]).toBe(0);
    expect(most[1]).toBeGreaterThan(29);
    expect(most[1]).toBeLessThan(30);
  });

  it('loadIntervalNs: T_in is counted over this interval', () => {
    const factors = [undefined, 500 * MS].map((loadIntervalNs) => {
      const readings = loadIntervalNs === undefined ? {} : { loadIntervalNs };
      const { planner } = plannerOf({ transition: 'delayed', readings });
      for (let i = 0; i < 10; i++) planner.came(600 * MS, 0);
      planner.passed(1000 * MS);
      return planner.loadFactor(0);
    });
    // The stage can serve 100 tasks a second.
    expect(factors).toEqual([0.1, 0.2]);
  });

  it('smoothedIntervals: ε is over so many intervals', () => {
    const overloaded = [undefined, 1].map((smoothed) => {
      const options = { intervalNs: 1e9, transition: 'delayed' as const, smoothed, throughputRps: () => 10 };
      const loads = new LoadFactors(1, options);
      for (let i = 0; i < 4; i++) loads.came(0, 0);
      for (let i = 0; i < 12; i++) loads.came(1e9, 0);
      loads.decide(2);
      return loads.isOverloaded(0);
    });
    // Over both intervals T_s is 4 and then 8, so ε is 4/16, and μ is 1.2; over one of them T_s is T_in.
    expect(overloaded).toEqual([false, true]);
  });
});
