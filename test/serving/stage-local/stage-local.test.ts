import { describe, expect, it } from 'vitest';
import { stageIndex, stageRoute } from '../../../src/formats/index.js';
import { topologyOf } from '../../../src/plans/index.js';
import { streamOf } from '../../../src/random/index.js';
import {
  DEFAULT_POLICY,
  Decisions,
  DROP_REASONS,
  type LogEntry,
  replay,
  StageLocalCore,
  type StageLocalPolicy,
} from '../../../src/serving/index.js';
import { arrivalTimes } from '../../../src/workload/index.js';
import { cases, fewOf, inWholeRun, whole } from '../../cases.js';
import { affine, type PipelineShape, planOf } from '../plans.js';
import { randomPolicy } from '../random-policies.js';
import { surviveStorm } from '../storm.js';
import { type Arrival, type Ended, runVirtual } from '../virtual-driver.js';

const MS = 1e6;
const OVERLOAD = DROP_REASONS.indexOf('overload');

const poisson = (rps: number, durationS: number, seed = 1): Arrival[] =>
  Array.from(
    arrivalTimes({ process: 'poisson', rps, durationS, stream: streamOf(seed, 'arrivals') }),
    (at) => ({
      at,
    }),
  );

const share = (ended: Ended[], outcome: Ended['outcome']) =>
  ended.filter((e) => e.outcome === outcome).length / ended.length;

/**
 * One pipeline has two stages of two devices, and a slower one has one stage: 606 + 414 requests per second
 * are planned.
 */
const twoPipelines: PipelineShape[] = [
  {
    throughputRps: 606,
    parts: [
      { batch: 8, virtualGpus: 2, latencyUs: affine(4000, 2800), transferBytes: 1000 },
      { batch: 8, virtualGpus: 2, latencyUs: affine(4000, 2800) },
    ],
  },
  { throughputRps: 414, parts: [{ batch: 8, virtualGpus: 3, latencyUs: affine(10_000, 6000) }] },
];
const pooled = topologyOf(planOf([{ sloMs: 100, pipelines: twoPipelines }], 10));

const one = (latencyUs: number, sloMs: number, batch = 1, virtualGpus = 1) =>
  topologyOf(
    planOf([
      {
        sloMs,
        pipelines: [{ throughputRps: 1, parts: [{ batch, virtualGpus, latencyUs: () => latencyUs }] }],
      },
    ]),
  );

const BACKGROUND = { late: { kind: 'background', patience: 4, mostMissed: 0.25, window: 128 } } as const;
const NO_LATE = { late: { kind: 'drop' } } as const;

/** Batches smaller than planned wait for company until the last moment. */
const WAITING = { formation: { kind: 'last-moment', leaves: 'transfer', stepNs: 1 } } as const;

describe('StageLocalCore, watched from outside', () => {
  inWholeRun('serves nearly all in time below the planned load, and lets none wait for ever above it', () => {
    for (const [load, least] of [
      [0.1, 1],
      [0.5, 1],
      [0.9, 0.995],
    ] as const) {
      const { ended } = runVirtual({ topology: pooled, arrivals: poisson(load * 1020, 10) });
      expect(share(ended, 'inTime')).toBeGreaterThanOrEqual(least);
    }
    for (const [late, longestMs] of [
      [DEFAULT_POLICY.late, 500],
      [NO_LATE.late, 100],
    ] as const) {
      const { ended } = runVirtual({ topology: pooled, arrivals: poisson(3 * 1020, 10), policy: { late } });
      expect(share(ended, 'inTime')).toBeGreaterThan(0.32);
      expect(share(ended, 'dropped') + share(ended, 'inTime')).toBe(1);
      expect(Math.max(...ended.map((e) => e.at - e.arrivedAt))).toBeLessThanOrEqual(longestMs * MS + 1);
    }
  });

  inWholeRun('keeps every rule under every combination of choices', () => {
    const orders = ['fifo', 'deadline'] as const;
    const formations = [{ kind: 'eager' }, WAITING.formation] as const;
    const drops = [
      { kind: 'never' },
      { kind: 'expired' },
      { kind: 'hopeless' },
      { kind: 'gear' },
      { kind: 'full-batch', share: 1 },
    ] as const;
    const choices = ['proportional', 'least-loaded'] as const;
    for (const order of orders)
      for (const formation of formations)
        for (const drop of drops)
          for (const choice of choices) {
            const policy = { order: { kind: order }, formation, drop, ...NO_LATE, choice: { kind: choice } };
            runVirtual({
              topology: pooled,
              arrivals: poisson(1500, 1),
              policy: { ...policy, ...BACKGROUND },
            });
            const { ended } = runVirtual({ topology: pooled, arrivals: poisson(1500, 1), policy });
            if (drop.kind === 'never') expect(share(ended, 'dropped')).toBe(0);
          }
  });

  it('ends every request once under any policy, through outages, failures and cancels', () => {
    for (let seed = 1; seed <= cases(whole(8, 30), 600); seed++) {
      const stream = streamOf(seed, 'any');
      const policy = randomPolicy(stream);
      const arrivals = poisson(100 + 1500 * stream.uniform(), 0.1, seed).map((arrival) => ({
        ...arrival,
        rows: 1 + stream.integer(3),
        weight: [1, 1, 4, 10][stream.integer(4)]!,
        ...(stream.uniform() < 0.1 ? { cancelAt: arrival.at + stream.integer(100) * MS } : {}),
      }));
      const outages = [0, 1, 2, 3, 4].map((device) => {
        const at = stream.integer(120) * MS;
        return { at, device, until: at + 1 + stream.integer(100) * MS };
      });
      const { ended } = runVirtual({
        topology: pooled,
        arrivals,
        outages,
        policy,
        handsAhead: policy.placement === 'earliest-free',
        fails: () => stream.uniform() < 0.03,
        executionNs: (pool, size) =>
          Math.round(pooled.pools[pool]!.latencyNs[size - 1]! * (0.8 + 0.5 * stream.uniform())),
        shed: seed % 3 === 0,
        log: ([word, ...numbers]) => {
          if (!numbers.every(Number.isInteger)) throw new Error(`${word} ${numbers}`);
        },
      });
      const gaveUp = ended.filter(({ reason }) => reason !== undefined && reason !== 'device-down');
      if (policy.drop?.kind === 'never') expect([seed, gaveUp]).toEqual([seed, []]);
    }
  });

  it('survives random storms of outages, failing batches, cancelled and many-row requests', () => {
    for (let seed = 1; seed <= cases(whole(4, 15), 40); seed++) {
      const rps = 200 + 1500 * streamOf(seed, 'rate').uniform();
      surviveStorm(seed, pooled, rps, { shed: seed % 2 === 0 });
    }
  });

  it('serves requests in the order of arrival, whatever the sizes of their batches', () => {
    const policy: Partial<StageLocalPolicy> = { order: { kind: 'fifo' }, drop: { kind: 'never' } };
    const topology = one(5000, 1000, 4);
    const { executed } = runVirtual({ topology, arrivals: poisson(1000, 2), policy });
    const order = executed.flatMap((batch) => batch.arrivals);
    expect(order).toEqual([...order].sort((a, b) => a - b));
  });

  it('serves the more urgent first under deadline order, and equals in the order of arrival', () => {
    const arrivals = [90, 50, 50, 70].map((ms, i) => ({ at: 1 + i, deadline: ms * MS }));
    const busy = { at: 0, deadline: 100 * MS };
    const { executed } = runVirtual({ topology: one(5000, 1000), arrivals: [busy, ...arrivals] });
    expect(executed.flatMap((batch) => batch.arrivals)).toEqual([0, 2, 3, 4, 1]);
  });

  it('takes all arrivals of an instant into one batch', () => {
    const arrivals = Array.from({ length: 4 }, () => ({ at: 1000 }));
    const { executed } = runVirtual({
      topology: one(1000, 50, 8),
      arrivals,
      policy: { formation: { kind: 'eager' } },
    });
    expect(executed.map((batch) => batch.arrivals.length)).toEqual([4]);
  });

  it('waits for company until the last moment at which a batch of one more is in time', () => {
    const topology = topologyOf(
      planOf([
        {
          sloMs: 50,
          pipelines: [{ throughputRps: 1, parts: [{ batch: 8, latencyUs: affine(1000, 2000) }] }],
        },
      ]),
    );
    const wait = { formation: { ...WAITING.formation, stepNs: 0 } };
    const { executed, ended } = runVirtual({ topology, arrivals: [{ at: 0 }], policy: wait });
    expect(executed[0]!.from).toBe(45 * MS);
    expect(ended[0]!.outcome).toBe('inTime');
  });

  it('matches M/D/1 (mean wait ρ/(2(1 − ρ)) services) with one server, no batching and no dropping', () => {
    const policy: Partial<StageLocalPolicy> = { drop: { kind: 'never' }, formation: { kind: 'eager' } };
    for (const load of whole([0.5], [0.5, 0.8])) {
      const { ended } = runVirtual({ topology: one(1000, 1e5), arrivals: poisson(load * 1000, 50), policy });
      const wait = ended.reduce((sum, e) => sum + e.at - e.arrivedAt - MS, 0) / ended.length / MS;
      expect(Math.abs(wait / (load / (2 * (1 - load))) - 1)).toBeLessThan(0.04);
    }
  });

  it('loads pipelines in proportion to their planned throughput', () => {
    for (const kind of ['proportional', 'least-loaded'] as const) {
      const { executed } = runVirtual({
        topology: pooled,
        arrivals: poisson(900, 10),
        policy: { choice: { kind } },
      });
      const served = [0, 0];
      for (const batch of executed) {
        const pool = pooled.pools[batch.pool]!;
        if (stageIndex(pool.stage) === 0) served[stageRoute(pool.stage)]! += batch.arrivals.length;
      }
      const first = served[0]! / (served[0]! + served[1]!);
      expect(Math.abs(first - 606 / 1020)).toBeLessThan(kind === 'proportional' ? 0.002 : 0.05);
    }
  });

  it('drops heads that would shrink batches under overload, which keeps the goodput', () => {
    const run = (drop: StageLocalPolicy['drop']) =>
      runVirtual({ topology: pooled, arrivals: poisson(2040, 5), policy: { drop } }).ended;
    const full = share(run({ kind: 'full-batch', share: 1 }), 'inTime');
    expect(full).toBeGreaterThan(0.48);
    expect(share(run({ kind: 'hopeless' }), 'inTime')).toBeLessThan(full - 0.1);
  });

  it('retries a batch lost with its device where the deadline allows, and otherwise drops its request once', () => {
    const outages = [{ at: 2 * MS, device: 0 }];
    const served = runVirtual({ topology: one(10_000, 40, 1, 2), arrivals: [{ at: 0 }], outages });
    expect(served.ended).toMatchObject([{ outcome: 'inTime', at: 12 * MS }]);
    const lost = runVirtual({
      topology: one(10_000, 11, 1, 2),
      arrivals: [{ at: 0 }],
      outages,
      policy: NO_LATE,
    });
    expect(lost.ended).toMatchObject([{ outcome: 'dropped', at: 2 * MS }]);
    const alone = runVirtual({ topology: one(10_000, 40), arrivals: [{ at: 0 }], outages });
    expect(alone.ended).toMatchObject([{ outcome: 'dropped' }]);
  });

  it('lets requests start again in another pipeline when their own loses a pool', () => {
    const outages = [2, 3].map((device) => ({ at: 1, device }));
    const { ended, executed } = runVirtual({ topology: pooled, arrivals: poisson(300, 1), outages });
    expect(share(ended, 'inTime')).toBe(1);
    expect(executed.filter((batch) => batch.from > 40 * MS).every((batch) => batch.pool === 2)).toBe(true);
  });

  it('lets a request continue in a pipeline that has lost only a pool the request has passed', () => {
    const parts = [
      { batch: 1, latencyUs: () => 10_000, transferBytes: 1_250_000 },
      { batch: 1, latencyUs: () => 10_000 },
    ];
    const pipelines = [
      { throughputRps: 100, parts },
      { throughputRps: 10, parts: [{ batch: 1, latencyUs: () => 40_000 }] },
    ];
    const topology = topologyOf(planOf([{ sloMs: 50, pipelines }], 1));
    // The first stage is lost while its batch is on its way to the second.
    const outages = [{ at: 15 * MS, device: 0 }];
    const { ended, executed } = runVirtual({ topology, arrivals: [{ at: 0 }], outages });
    expect(executed.map(({ pool }) => pool)).toEqual([0, 1]);
    expect(ended).toMatchObject([{ outcome: 'inTime', at: 30 * MS }]);
  });

  it('drops a request as device-down when no device is up and none comes up in time', () => {
    const { ended } = runVirtual({
      topology: one(1000, 20),
      arrivals: [{ at: 5 }],
      outages: [{ at: 1, device: 0 }],
    });
    expect(ended).toMatchObject([{ outcome: 'dropped', reason: 'device-down' }]);
    const back = { at: 1, device: 0, until: 10 * MS };
    const waited = runVirtual({ topology: one(1000, 20), arrivals: [{ at: 5 }], outages: [back] });
    expect(waited.ended).toMatchObject([{ outcome: 'inTime', at: 11 * MS }]);
  });

  it('tries each task of a failed batch alone, so that only a bad request fails', () => {
    const arrivals = Array.from({ length: 4 }, () => ({ at: 0 }));
    const fails = (members: number[]) => members.includes(2);
    const { ended } = runVirtual({ topology: one(1000, 100, 4), arrivals, fails });
    expect(ended.filter((e) => e.outcome === 'failed').map((e) => e.arrival)).toEqual([2]);
    expect(ended.filter((e) => e.outcome === 'inTime').length).toBe(3);
  });

  it('refuses requests while draining or beyond its limit, and finishes the rest without waiting', () => {
    const arrivals = [{ at: 0 }, { at: 1.5 * MS }];
    const { ended } = runVirtual({ topology: one(1000, 50, 8), arrivals, drainAt: MS, policy: WAITING });
    expect(ended).toMatchObject([
      { arrival: 1, outcome: 'dropped', reason: 'draining', place: -1 },
      { arrival: 0, outcome: 'inTime', at: 2 * MS },
    ]);
    const crowd = Array.from({ length: 10 }, () => ({ at: 0 }));
    const few = runVirtual({ topology: one(1000, 50), arrivals: crowd, policy: { mostTasks: 4 } });
    expect(few.ended.filter((e) => e.reason === 'queue-full').length).toBe(6);
  });

  it('corrects expected times by measured ones, which makes fewer requests late', () => {
    const slower = (pool: number, size: number) => 1.2 * pooled.pools[pool]!.latencyNs[size - 1]!;
    const run = (correction: StageLocalPolicy['correction']) =>
      runVirtual({
        topology: pooled,
        arrivals: poisson(1000, 5),
        policy: { correction },
        executionNs: slower,
      }).ended;
    const corrected = run(DEFAULT_POLICY.correction);
    const blind = run({ kind: 'none' });
    expect(share(corrected, 'late')).toBeLessThan(0.1 * share(blind, 'late'));
    expect(share(corrected, 'inTime')).toBeGreaterThan(share(blind, 'inTime') + 0.2);
  });

  it('discovers that a pool has recovered that was too slow to use', () => {
    const topology = one(10_000, 30);
    let count = 0;
    const executionNs = () => (++count <= 20 ? 100 * MS : 10 * MS);
    const arrivals = Array.from({ length: 2000 }, (_, i) => ({ at: i * 20 * MS }));
    const { ended } = runVirtual({ topology, arrivals, executionNs });
    const late = ended.filter((e) => e.arrivedAt > 20_000 * MS);
    expect(share(late, 'inTime')).toBe(1);
  });

  it('needs memory only for the requests in flight', () => {
    const { executed, core } = runVirtual({ topology: pooled, arrivals: poisson(900, 20) });
    const highest = Math.max(core.arrived(30e9, 0, 40e9, 1), core.arrived(30e9, 0, 40e9, 1));
    expect(executed.length).toBeGreaterThan(1000);
    expect(highest).toBeLessThan(200);
  });
});

describe('StageLocalCore, answering late in the background', () => {
  const topology = one(10_000, 35);
  const burst = (count: number) => Array.from({ length: count }, () => ({ at: MS }));

  it('answers every request of a burst, those that are too late after those that can be in time', () => {
    const { ended } = runVirtual({ topology, arrivals: [...burst(5), { at: 20 * MS }] });
    expect(ended.map((e) => [e.arrival, e.outcome, e.at / MS])).toEqual([
      [0, 'inTime', 11],
      [1, 'inTime', 21],
      [2, 'inTime', 31],
      [5, 'inTime', 41],
      [3, 'late', 51],
      [4, 'late', 61],
    ]);
  });

  it('drops a request with a deadline of its own that cannot be met', () => {
    const { ended } = runVirtual({ topology, arrivals: [{ at: 0 }, { at: 1, deadline: 15 * MS }] });
    expect(ended).toMatchObject([{ outcome: 'dropped', arrival: 1 }, { outcome: 'inTime' }]);
  });

  it('drops late requests when its patience ends', () => {
    const { ended } = runVirtual({ topology, arrivals: burst(30), policy: BACKGROUND });
    const late = ended.filter((e) => e.outcome === 'late');
    expect(late.map((e) => e.at / MS)).toEqual(Array.from({ length: 15 }, (_, i) => 41 + 10 * i));
    // The last late request began before five SLOs from its arrival had passed, and ended after.
    const dropped = ended.filter((e) => e.outcome === 'dropped');
    expect(dropped.length).toBe(12);
    for (const e of dropped) expect(e.at).toBe(MS + 5 * 35 * MS + 1);
  });

  it('keeps no late requests while too many are missed, and keeps them again after the overload', () => {
    const arrivals = [...poisson(300, 2), ...poisson(20, 2).map(({ at }) => ({ at: at + 2.5e9 }))];
    const { ended } = runVirtual({ topology, arrivals, policy: BACKGROUND, shed: true });
    const between = (fromMs: number, toMs: number) =>
      ended.filter((e) => e.arrivedAt >= fromMs * MS && e.arrivedAt < toMs * MS);
    const overloaded = between(900, 1900);
    expect(overloaded.every((e) => e.outcome !== 'late' && e.at - e.arrivedAt <= 35 * MS + 1)).toBe(true);
    expect(share(overloaded, 'inTime')).toBeGreaterThan(0.25);
    expect(share(between(2500, 5000), 'dropped')).toBe(0);
  });

  inWholeRun('delays requests that can be in time by no more than a batch already begun', () => {
    for (const load of whole([0.5], [0.3, 0.5, 0.7])) {
      const run = (policy: Partial<StageLocalPolicy>) =>
        runVirtual({ topology: pooled, arrivals: poisson(load * 1020, 20), policy, shed: true }).ended;
      const [background, dropping] = [run(BACKGROUND), run(NO_LATE)];
      expect(share(background, 'dropped')).toBe(0);
      expect(share(background, 'inTime')).toBeGreaterThan(share(dropping, 'inTime') - 0.002);
    }
  });
});

describe('StageLocalCore.wouldDrop()', () => {
  const shapes = {
    pooled,
    batches: one(10_000, 100, 8, 2),
    single: one(7000, 250),
    lastIsSlow: topologyOf(
      planOf([
        {
          sloMs: 200,
          pipelines: [
            {
              throughputRps: 200,
              parts: [
                { batch: 4, latencyUs: affine(2000, 500) },
                { batch: 4, virtualGpus: 2, latencyUs: affine(10_000, 7000) },
              ],
            },
          ],
        },
      ]),
    ),
  };

  inWholeRun(
    'refuses, under overload, many of the requests that would be dropped, and costs no goodput',
    () => {
      for (const [name, topology] of Object.entries(shapes)) {
        for (const kind of fewOf(['hopeless', 'full-batch', 'expired'] as const, 1)) {
          const rate = name === 'pooled' ? 3000 : name === 'batches' ? 4800 : name === 'single' ? 430 : 700;
          const policy = {
            ...WAITING,
            ...NO_LATE,
            drop: kind === 'full-batch' ? { kind, share: 1 } : { kind },
          };
          const run = (shed: boolean) =>
            runVirtual({ topology, arrivals: poisson(rate, 4), policy, shed }).ended;
          const [without, shed] = [run(false), run(true)];
          expect(share(shed, 'inTime')).toBeGreaterThan(share(without, 'inTime') - 0.005);
          const refused = shed.filter(({ reason }) => reason === 'overload').length;
          const droppedWithout = without.filter(({ outcome }) => outcome !== 'inTime').length;
          const least = name === 'single' ? 0.6 : kind === 'full-batch' ? 0.3 : 0;
          expect(refused).toBeGreaterThanOrEqual(least * droppedWithout);
        }
      }
    },
  );

  it('costs a burst its last small batch at most, and nothing while a device is free', () => {
    for (const topology of Object.values(shapes)) {
      for (const count of [1, 5, 20, 60, 200]) {
        const arrivals = Array.from({ length: count }, (_, i) => ({ at: 1000 * (i + 1) }));
        const served = (shed: boolean) =>
          runVirtual({ topology, arrivals, shed }).ended.filter(({ outcome }) => outcome === 'inTime').length;
        const [largest] = topology.pools.map(({ batch }) => batch).sort((a, b) => b - a);
        const least = served(false) - (largest === 1 ? 0 : largest!);
        expect(served(true)).toBeGreaterThanOrEqual(least);
      }
      const { ended } = runVirtual({ topology, arrivals: poisson(50, 5), shed: true });
      expect(share(ended, 'inTime')).toBe(1);
    }
  });

  it('does not count queued requests that will be too late themselves', () => {
    const hopeless = Array.from({ length: 50 }, () => ({ at: 1, deadline: 12 * MS }));
    const arrivals = [{ at: 0 }, ...hopeless, { at: 2, deadline: 40 * MS }];
    const { ended } = runVirtual({ topology: one(10_000, 40), arrivals, shed: true });
    expect(ended.find(({ arrival }) => arrival === 51)).toMatchObject({ outcome: 'inTime' });
  });

  it('counts the requests that are said to come before', () => {
    const decisions = new Decisions();
    const core = new StageLocalCore(one(10_000, 100), decisions, NO_LATE);
    core.deviceUp(0, 0);
    core.arrived(0, 0, 100 * MS, 1);
    core.decide(0);
    const would = (ahead: number) => core.wouldDrop(0, 0, 100 * MS, ahead);
    expect([0, 7, 8, 9, 20].map(would)).toEqual([false, false, false, true, true]);
  });

  it('lets in the requests that show that a pool has recovered', () => {
    const topology = one(10_000, 30);
    let count = 0;
    const executionNs = () => (++count <= 20 ? 100 * MS : 10 * MS);
    const arrivals = Array.from({ length: 2000 }, (_, i) => ({ at: i * 20 * MS }));
    const { ended } = runVirtual({ topology, arrivals, executionNs, shed: true });
    expect(
      share(
        ended.filter((e) => e.arrivedAt > 20_000 * MS),
        'inTime',
      ),
    ).toBe(1);
  });

  it('refuses nothing where the policy drops nothing, or where no device is up', () => {
    const never = { drop: { kind: 'never' } } as const;
    const { ended } = runVirtual({
      topology: shapes.single,
      arrivals: poisson(430, 2),
      policy: never,
      shed: true,
    });
    expect(share(ended, 'dropped')).toBe(0);
    const core = new StageLocalCore(shapes.single, new Decisions());
    for (let i = 0; i < 100; i++) core.arrived(0, 0, 1e9, 1);
    expect(core.wouldDrop(0, 0, 250 * MS, 0)).toBe(false);
  });
});

describe('replay()', () => {
  const logOf = (seed: number) => {
    const log: LogEntry[] = [];
    const outages = [{ at: 300 * MS, device: 1, until: 600 * MS }];
    runVirtual({
      topology: pooled,
      arrivals: poisson(1800, 1, seed),
      outages,
      shed: true,
      policy: NO_LATE,
      log: (entry) => log.push(entry),
    });
    return log;
  };

  it('makes the decisions of a log again, in their order, even after the log went through JSON', () => {
    const log = logOf(3);
    expect(log).toEqual(logOf(3));
    expect(log).not.toEqual(logOf(4));
    const read = log.map((entry) => JSON.parse(JSON.stringify(entry)) as LogEntry);
    const answer = replay(read, (decisions) => new StageLocalCore(pooled, decisions, NO_LATE));
    expect(answer).toEqual({ same: true, entries: log.length });
  });

  it('replays requests that were turned away unread', () => {
    const turnedAway = logOf(3).filter(([word]) => word === 'turnedAway').length;
    const dropped = logOf(3).filter(([word, , , reason]) => word === 'said' && reason === OVERLOAD).length;
    expect(turnedAway).toBeGreaterThan(10);
    expect(dropped).toBeGreaterThanOrEqual(turnedAway);
  });

  it('reports where another policy decides differently', () => {
    const answer = replay(logOf(3), (decisions) => new StageLocalCore(pooled, decisions, WAITING));
    expect(answer.same).toBe(false);
  });
});
