import { describe, expect, it } from 'vitest';
import { streamOf } from '../../../../src/random/index.js';
import type { Edge, Topology } from '../../../../src/serving/index.js';
import {
  StatePlanner,
  type StatePlannerOptions,
} from '../../../../src/serving/stage-local/pard-state/state-planner.js';
import { Durations, PlanColumns, Requests } from '../../../../src/serving/state/index.js';
import { chainOf, MS, stage } from '../../by-hand.js';

const S = 1e9;
const SETTINGS = { windowNs: 5 * S, periodNs: S, samples: 10_000 };
const PLAIN = { queueing: true, execution: true, wait: 'none', quantile: 0.1, branches: 'worst' } as const;

/** A planner over a topology, and what tells it of tasks that queued and waited so long at a pool. */
function planned(topology: Topology, options: Partial<StatePlannerOptions>, up = [1, 1, 1, 1]) {
  const requests = new Requests();
  const parts = {
    topology,
    requests,
    columns: new PlanColumns(topology),
    stream: () => streamOf(1, 'waits'),
  };
  const durations = new Durations(topology, { kind: 'none' });
  const planner = new StatePlanner(
    { ...parts, durations, devicesUp: (pool) => up[pool]! },
    { ...SETTINGS, ...options },
  );
  const taskAt = (at: number, queuedNs: number) => {
    const task = requests.firstTask(requests.add(0, 1e12, 1));
    requests.setQueuedAt(task, at - queuedNs);
    return task;
  };
  const kept = (at: number, pool: number, queuedNs: number, waitNs = 0) =>
    planner.kept(at, taskAt(at, queuedNs), pool, at + waitNs);
  const dropped = (at: number, pool: number, queuedNs: number, waitNs = 0) =>
    planner.dropped(at, taskAt(at, queuedNs), pool, at + waitNs);
  return { planner, kept, dropped };
}

const chain = () => chainOf(1000, stage([10]), stage([20]), stage([15, 30]));

/** Stage 0 leads to 1 and 2, which lead to 3. */
function diamond(): Topology {
  const topology = chainOf(1000, stage([10]), stage([20]), stage([30]), stage([5]));
  const edgeTo = (to: number): Edge => ({
    to,
    when: { kind: 'always' },
    transferNs: new Float64Array(1),
    transferBytes: 0,
  });
  [[1, 2], [3], [3], []].forEach((later, pool) => {
    topology.pools[pool]!.edges.splice(0, Infinity, ...later.map(edgeTo));
    topology.pools[pool]!.transferNs.fill(0);
  });
  return topology;
}

describe('StatePlanner', () => {
  it('adds up the durations of the batches in force after a stage', () => {
    const { planner } = planned(chain(), { estimate: PLAIN });
    expect([0, 1, 2].map((pool) => planner.laterNs(0, pool))).toEqual([50 * MS, 30 * MS, 0]);
    const without = planned(chain(), { estimate: { ...PLAIN, execution: false } }).planner;
    expect(without.laterNs(0, 0)).toBe(0);
  });

  it('shares queueing delays at whole periods, and at once where the period is 0', () => {
    const { planner, kept, dropped } = planned(chain(), { estimate: PLAIN });
    kept(0.5 * S, 1, 300 * MS);
    kept(0.5 * S, 1, 100 * MS);
    dropped(0.5 * S, 1, 900 * MS);
    planner.passed(0.999 * S);
    expect(planner.laterNs(0.999 * S, 0)).toBe(50 * MS);
    expect(planner.nextAt).toBe(S);
    planner.passed(1.3 * S);
    expect([0, 1].map((pool) => planner.laterNs(1.3 * S, pool))).toEqual([250 * MS, 30 * MS]);
    expect(planner.nextAt).toBe(2 * S);
    const now = planned(chain(), { estimate: PLAIN, periodNs: 0 });
    now.kept(0.01 * S, 1, 300 * MS);
    expect(now.planner.laterNs(0.01 * S, 0)).toBe(350 * MS);
    expect(now.planner.nextAt).toBe(0.1 * S);
    const often = planned(chain(), { estimate: PLAIN, transition: 'instant', periodNs: 1 }).planner;
    expect(often.nextAt).toBe(MS);
    const blind = planned(chain(), { estimate: { ...PLAIN, queueing: false }, periodNs: 0 });
    blind.kept(0.01 * S, 1, 300 * MS);
    expect(blind.planner.laterNs(0.01 * S, 0)).toBe(50 * MS);
  });

  it('takes the longest path of a DAG, by the queueing delays of the moment', () => {
    const { planner, kept } = planned(diamond(), { estimate: PLAIN });
    expect(planner.laterNs(0, 0)).toBe(35 * MS);
    kept(1, 1, 40 * MS);
    planner.passed(S);
    expect(planner.laterNs(S, 0)).toBe(65 * MS);
  });

  it('counts the longest batch waits, or none', () => {
    const { planner, kept } = planned(chain(), { estimate: { ...PLAIN, wait: 'most' } });
    kept(1, 1, 0, 7 * MS);
    planner.passed(S);
    expect([0, 1, 2].map((pool) => planner.laterNs(S, pool))).toEqual([100 * MS, 60 * MS, 0]);
  });

  it('takes a quantile of the sums of waits that it has seen', () => {
    const { planner, kept } = planned(chain(), { estimate: { ...PLAIN, wait: 'quantile' } });
    kept(1, 1, 0, 7 * MS);
    kept(1, 2, 0, 5 * MS);
    planner.passed(S);
    expect([0, 1, 2].map((pool) => planner.laterNs(S, pool))).toEqual([62 * MS, 35 * MS, 0]);
    // Of 0 and 10 ms, one wait in two each: a quarter of the sums is 0, a half 10, and a quarter 20.
    const half = (quantile: number) => {
      const one = planned(chain(), { estimate: { ...PLAIN, wait: 'quantile', quantile } });
      for (const pool of [1, 2]) for (const wait of [0, 10]) one.kept(1, pool, 0, wait * MS);
      one.planner.passed(S);
      return one.planner.laterNs(S, 0) / MS - 50;
    };
    expect([0, 0.2, 0.3, 0.7, 0.8, 1].map(half)).toEqual([0, 0, 10, 10, 20, 20]);
  });

  it('has the quantiles of sums of uniform waits of Fig. 6 where nothing was seen', () => {
    const topology = chainOf(1e4, ...Array.from({ length: 5 }, () => stage([100])));
    const estimate = {
      queueing: false,
      execution: false,
      wait: 'quantile',
      quantile: 0.1,
      branches: 'worst',
    } as const;
    const { planner } = planned(topology, { estimate });
    const sums = [0, 1, 2, 3, 4].map((pool) => planner.laterNs(0, pool) / (100 * MS));
    [1.24, 0.84, 0.44, 0.1, 0].forEach((figure, i) => {
      expect(Math.abs(sums[i]! - figure)).toBeLessThan(0.03);
    });
  });

  it('divides an SLO by durations, or by the worst latencies in the window of all that were decided', () => {
    const { planner } = planned(chain(), {});
    expect([0, 1, 2].map((pool) => planner.shareOf(pool))).toEqual([1 / 6, 2 / 6, 3 / 6]);
    const worst = planned(chain(), { divides: true });
    worst.kept(1, 0, 20 * MS, 10 * MS);
    worst.dropped(1, 1, 60 * MS, 20 * MS);
    worst.planner.passed(S);
    // 40 ms, 100 ms, and the duration of a stage of which nothing was decided.
    expect([0, 1, 2].map((pool) => worst.planner.shareOf(pool))).toEqual([40 / 170, 100 / 170, 30 / 170]);
    worst.planner.passed(6 * S);
    expect(worst.planner.shareOf(0)).toBe(1 / 6);
  });

  it('sheds at a stage and before it while the mean of all queueing there is above the threshold', () => {
    const { planner, kept, dropped } = planned(chain(), { thresholdNs: 25 * MS });
    kept(1, 1, 10 * MS);
    dropped(1, 1, 41 * MS);
    expect([0, 1, 2].map((pool) => planner.sheds(pool))).toEqual([false, false, false]);
    planner.passed(S);
    expect([0, 1, 2].map((pool) => planner.sheds(pool))).toEqual([true, true, false]);
    kept(S, 1, 9 * MS);
    kept(S, 1, 9 * MS);
    planner.passed(2 * S);
    expect(planner.sheds(0)).toBe(false);
    const even = planned(chain(), { thresholdNs: 25 * MS });
    even.kept(1, 1, 25 * MS);
    even.planner.passed(S);
    expect(even.planner.sheds(1)).toBe(false);
  });

  it('judges loads by the devices that are up and the batch in force, each period or each second', () => {
    for (const [periodNs, count] of [
      [0.5 * S, 34],
      [0, 67],
    ] as const) {
      // Batches of two take 30 ms: one device serves 66.7 a second.
      const one = planned(chain(), { transition: 'instant', periodNs });
      const two = planned(chain(), { transition: 'instant', periodNs }, [1, 1, 2]);
      for (const { planner } of [one, two]) {
        for (let i = 0; i < count; i++) planner.came(1000, 2);
        planner.passed(S * (periodNs === 0 ? 1 : 0.5));
      }
      expect([one.planner.isOverloaded(2), two.planner.isOverloaded(2)]).toEqual([true, false]);
      expect(two.planner.loadFactor(2) / one.planner.loadFactor(2)).toBeCloseTo(0.5, 12);
    }
    const none = planned(chain(), {}).planner;
    expect([none.isOverloaded(0), none.loadFactor(0)]).toEqual([false, 0]);
  });
});
