import { describe, expect, it } from 'vitest';
import { topologyOf } from '../../../src/plans/index.js';
import { streamOf } from '../../../src/random/index.js';
import {
  type Decisions,
  type LogEntry,
  PUBLISHED_REACTIVE_POLICY,
  REACTIVE_POLICY,
  replay,
  StageLocalCore,
  type StageLocalPolicy,
  type StageTopology,
} from '../../../src/serving/index.js';
import { simulate } from '../../../src/simulator/index.js';
import { arrivals, arrivalsAt } from '../../../src/workload/index.js';
import { cases, inWholeRun } from '../../cases.js';
import { affine, type PartShape, planOf } from '../plans.js';
import { surviveStorm } from '../storm.js';
import { type Arrival, runVirtual } from '../virtual-driver.js';

const MS = 1e6;

const coreOf =
  (policy: Partial<StageLocalPolicy> = {}) =>
  (topology: StageTopology, decisions: Decisions) =>
    new StageLocalCore(topology, decisions, { ...REACTIVE_POLICY, ...policy });

const serve = (topology: StageTopology, list: Arrival[], policy: Partial<StageLocalPolicy> = {}) =>
  runVirtual({ topology, arrivals: list, makeCore: coreOf(policy), handsAhead: true });

const times = (...ms: number[]): Arrival[] => ms.map((at) => ({ at: at * MS }));

const pipeline = (sloMs: number, parts: PartShape[], throughputRps = 100) =>
  topologyOf(planOf([{ sloMs, pipelines: [{ throughputRps, parts }] }], 1));

const poisson = (rps: number, durationS: number, seed = 1): Arrival[] =>
  [...arrivals({ process: 'poisson', rps, durationS, stream: streamOf(seed, 'arrivals') })].map((at) => ({
    at,
  }));

/** One pipeline has two stages, with a link between them that takes 1 ms per row; a slower one has one stage. */
const pooled = topologyOf(
  planOf(
    [
      {
        sloMs: 100,
        pipelines: [
          {
            throughputRps: 600,
            parts: [
              { batch: 8, virtualGpus: 2, latencyUs: affine(4000, 2800), transferBytes: 125_000 },
              { batch: 8, virtualGpus: 2, latencyUs: affine(4000, 2800) },
            ],
          },
          { throughputRps: 400, parts: [{ batch: 8, virtualGpus: 3, latencyUs: affine(10_000, 6000) }] },
        ],
      },
    ],
    1,
  ),
);

describe('StageLocalCore under REACTIVE_POLICY', () => {
  it('hands a planned batch ahead to the device that is free first, or to the one that has been idle longest', () => {
    const topology = pipeline(100, [{ batch: 2, virtualGpus: 2, latencyUs: () => 10_000 }]);
    const { executed } = serve(topology, times(0, 0, 1, 1, 2, 2, 40, 40, 60, 60));
    expect(executed.map(({ device, from }) => [device, from / MS])).toEqual([
      [0, 0],
      [1, 1],
      [0, 10],
      [1, 40],
      [0, 60],
    ]);
  });

  it('waits as long as a batch of one more, with its transfer and the later stages, would be in time', () => {
    const part = { batch: 4, latencyUs: affine(1000, 1000) };
    const topology = pipeline(50, [{ ...part, transferBytes: 125_000 }, part]);
    // The later stage is planned to take 5 ms. Two rows take 3 ms here and 2 ms to send.
    const { executed, ended } = serve(topology, times(0));
    expect(executed[0]?.from).toBe(40 * MS + 1);
    expect(ended[0]?.outcome).toBe('inTime');
    // If the transfer does not count, the wait ends 2 ms later, when not even a batch of 1 is in time any more.
    expect(
      serve(topology, times(0), {
        formation: { kind: 'last-moment', leaves: 'nothing', stepNs: 1 },
      }).ended,
    ).toMatchObject([{ outcome: 'dropped', at: 42 * MS + 1 }]);
  });

  it('drops at first sight a head that only a small batch could save, unless the queue has waited on it', () => {
    const topology = pipeline(30, [{ batch: 4, latencyUs: affine(4000, 4000) }]);
    // A batch of 4 takes 20 ms: after the first four requests, four more would end at 40 ms.
    const burst = times(0, 0, 0, 0, 5);
    const dropped = (policy: Partial<StageLocalPolicy>) =>
      serve(topology, burst, policy).ended.flatMap(({ arrival, outcome }) =>
        outcome === 'dropped' ? [arrival] : [],
      );
    expect(dropped({})).toEqual([4]);
    expect(dropped({ drop: { kind: 'nearly-full', share: 0, spares: 'all-waited' } })).toEqual([]);
    // A single request waits for company until the last moment, when a batch of 4 no longer fits.
    expect(serve(topology, times(0)).ended[0]?.outcome).toBe('inTime');
    // Where no full batch could ever be in time, load is not the reason. Only the published rule drops the
    // request then.
    const tight = [{ at: 0, deadline: 15 * MS }];
    expect(serve(topology, tight).ended[0]?.outcome).toBe('inTime');
    expect(serve(topology, tight, PUBLISHED_REACTIVE_POLICY).ended[0]?.outcome).toBe('dropped');
  });

  it('serves later stages in the order of deadlines', () => {
    const topology = pipeline(100, [
      { batch: 1, virtualGpus: 3, latencyUs: () => 1000 },
      { batch: 1, latencyUs: () => 10_000 },
    ]);
    const list = [100, 90, 60].map((ms) => ({ at: 0, deadline: ms * MS }));
    const { executed } = serve(topology, list);
    expect(executed.filter(({ pool }) => pool === 1).map(({ arrivals: members }) => members[0])).toEqual([
      2, 1, 0,
    ]);
  });

  inWholeRun('gives each request exactly one outcome under every combination of choices', () => {
    const drops = [
      { kind: 'nearly-full', share: 0, spares: 'all-waited' },
      ...(['nearly-full', 'queueing'] as const).flatMap((kind) =>
        (['all-waited', 'last-waited'] as const).map((spares) => ({ kind, share: 1, spares })),
      ),
    ] as const;
    for (const drop of drops)
      for (const leaves of ['transfer', 'nothing'] as const)
        for (const instant of ['told', 'by-place'] as const)
          for (const load of [100, 900, 1500]) {
            const formation = { kind: 'last-moment', leaves, stepNs: 1 } as const;
            const { ended } = serve(pooled, poisson(load, 1), { drop, formation, instant });
            const inTime = ended.filter(({ outcome }) => outcome === 'inTime').length;
            if (load === 900) expect(inTime / ended.length).toBeGreaterThan(0.5);
            if (load === 100 && drop.kind !== 'nearly-full') expect(inTime).toBe(ended.length);
          }
  });

  inWholeRun('survives random storms of outages, failing batches, cancelled and many-row requests', () => {
    for (let seed = 1; seed <= cases(20, 60); seed++) {
      const makeCore = coreOf(seed % 3 === 0 ? PUBLISHED_REACTIVE_POLICY : {});
      const rps = 200 + 1500 * streamOf(seed, 'rate').uniform();
      surviveStorm(seed, pooled, rps, { makeCore, handsAhead: true });
    }
  });

  it('lets tasks that wait for a stage without devices begin again in another pipeline', () => {
    const outages = [2, 3].map((device) => ({ at: 5 * MS, device }));
    const run = {
      topology: pooled,
      arrivals: times(0, 0, 0, 0),
      outages,
      makeCore: coreOf(),
      handsAhead: true,
    };
    const { ended, executed } = runVirtual(run);
    expect(ended.map(({ outcome }) => outcome)).toEqual(['inTime', 'inTime', 'inTime', 'inTime']);
    expect(executed.at(-1)?.pool).toBe(2);
  });

  it('serves more requests in time when measured times correct the times at which devices are free', () => {
    const inTime = (policy: Partial<StageLocalPolicy>) => {
      const sum = simulate({
        topology: pooled,
        makeCore: (decisions) => coreOf(policy)(pooled, decisions),
        arrivals: arrivalsAt(poisson(900, 20).map(({ at }) => at)),
        execution: (_pool, _size, plannedNs) => 1.25 * plannedNs,
      });
      expect(sum.inTime + sum.late + sum.dropped).toBe(sum.requests);
      return sum.inTime / sum.requests;
    };
    expect(inTime({})).toBeGreaterThan(inTime({ correction: { kind: 'none' } }) + 0.05);
  });

  it('makes the same decisions again when its log is replayed', () => {
    const log: LogEntry[] = [];
    simulate({
      topology: pooled,
      makeCore: (decisions) => coreOf()(pooled, decisions),
      arrivals: arrivalsAt(poisson(1000, 2).map(({ at }) => at)),
      log: (entry) => log.push(entry),
    });
    expect(replay(log, (decisions) => coreOf()(pooled, decisions))).toEqual({
      same: true,
      entries: log.length,
    });
  });
});
