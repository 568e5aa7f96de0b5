import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  PUBLISHED_PLANS,
  profilesIn,
  publishedInstances,
  publishedPlan,
} from '../../../bench/ppipe/plans.js';
import { topologyOf } from '../../../src/plans/index.js';
import { type Stream, streamOf } from '../../../src/random/index.js';
import {
  busyUntilTables,
  Decisions,
  gapTables,
  type LogEntry,
  ReservationCore,
  type ReservationPolicy,
  replay,
  type StageTopology,
} from '../../../src/serving/index.js';
import { type SimulationObserver, simulate } from '../../../src/simulator/index.js';
import { arrivals, arrivalsAt } from '../../../src/workload/index.js';
import { cases, inWholeRun } from '../../cases.js';
import { MADE_INSTANCE, madeProfileOf } from '../../ppipe/made-instance.js';
import { affine, type PipelineShape, planOf } from '../plans.js';
import { surviveStorm } from '../storm.js';
import { type Arrival, runVirtual } from '../virtual-driver.js';

const MS = 1e6;
const FOLDER = new URL('../../../../shared/data/ppipe/', import.meta.url);

const one = (batch: number, sloMs: number, virtualGpus = 1) =>
  topologyOf(
    planOf([
      {
        sloMs,
        pipelines: [{ throughputRps: 1, parts: [{ batch, virtualGpus, latencyUs: affine(8000, 2000) }] }],
      },
    ]),
  );

const coreOf =
  (policy: Partial<ReservationPolicy> = {}) =>
  (topology: StageTopology, decisions: Decisions) =>
    new ReservationCore(topology, decisions, {
      ...policy,
      makeTables: policy.tables === 'busy-until' ? busyUntilTables : gapTables,
    });

const times = (...ms: number[]): Arrival[] => ms.map((at) => ({ at: at * MS }));
const serve = (topology: StageTopology, list: Arrival[], policy: Partial<ReservationPolicy> = {}) =>
  runVirtual({ topology, arrivals: list, makeCore: coreOf(policy) });

/** randomTopology draws a plan of one to three pipelines of one to three stages, with links that matter. */
function randomTopology(stream: Stream): StageTopology {
  const pipelines = Array.from({ length: 1 + stream.integer(3) }, (): PipelineShape => {
    const batch = 1 + stream.integer(6);
    const parts = Array.from({ length: 1 + stream.integer(3) }, () => ({
      batch,
      virtualGpus: 1 + stream.integer(4),
      latencyUs: affine(2000 + stream.integer(8000), 500 + stream.integer(3000)),
      transferBytes: stream.integer(2_000_000),
    }));
    const rates = parts.map(
      ({ virtualGpus, latencyUs }) => (virtualGpus * batch * 1e6) / (latencyUs(batch) ?? 1),
    );
    return { throughputRps: Math.min(...rates), parts };
  });
  return topologyOf(planOf([{ sloMs: 60 + stream.integer(100), pipelines }], 10));
}

/** overlapWatch throws where a device or a link serves two batches at once, or where a batch is larger than planned. */
function overlapWatch(topology: StageTopology): SimulationObserver {
  const { uplinkOf, downlinkOf, uplinkCount } = topology.links;
  const freeAt = new Map<string, number>();
  const take = (name: string, start: number, end: number) => {
    if (start < (freeAt.get(name) ?? 0)) throw new Error(`${name} serves two at once at ${start}`);
    freeAt.set(name, end);
  };
  return {
    executed: (_batch, pool, device, size, _handed, start, end) => {
      if (size > topology.pools[pool]!.batch) throw new Error('a batch larger than planned');
      take(`device ${device}`, start, end);
    },
    transferred: (_batch, _pool, from, to, _size, _handed, start, end) => {
      if (start === end) return;
      take(`uplink ${uplinkOf[from]}`, start, end);
      take(`downlink ${uplinkCount + downlinkOf[to]!}`, start, end);
    },
  };
}

function poisson(topology: StageTopology, load: number, durationS: number, seed = 1) {
  const rps = load * topology.models[0]!.throughputRps;
  const stream = streamOf(seed, 'arrivals');
  return arrivalsAt([...arrivals({ process: 'poisson', rps, durationS, stream })]);
}

describe('ReservationCore', () => {
  it('waits for company until the last moment at which a batch of one more could be in time', () => {
    const { executed, ended } = serve(one(4, 50), times(0));
    // A batch of 2 takes 12 ms: if it started at 38 ms and a nanosecond, it would be late.
    expect(executed.map(({ from }) => from)).toEqual([38 * MS + 1]);
    expect(ended).toMatchObject([{ outcome: 'inTime', at: 48 * MS + 1 }]);
  });

  it('dispatches the planned batch as soon as it is there, even to a device that is still busy', () => {
    const { executed } = serve(one(2, 100), times(0, 1, 2, 3));
    expect(executed.map(({ from, arrivals: members }) => [from / MS, members])).toEqual([
      [1, [0, 1]],
      [13, [2, 3]],
    ]);
  });

  it('drops a head at first sight only where queueing is what makes a full batch late', () => {
    // Full batches of 4 take 16 ms. The third would be too late for 40 ms, though a single request would not.
    const burst = times(0, 0, 0, 0, 0, 0, 0, 0, 0.5);
    const strict = serve(one(4, 40), burst).ended.filter(({ outcome }) => outcome === 'dropped');
    expect(strict.map(({ arrival, at }) => [arrival, at / MS])).toEqual([[8, 0.5]]);
    const never = serve(one(4, 43), burst, { firstSight: { kind: 'never' } });
    expect(never.ended.every(({ outcome }) => outcome === 'inTime')).toBe(true);
    // With an SLO of 12 ms, no batch of 4 is ever in time, but one of 2 is.
    const tight = serve(one(4, 12), times(0, 0));
    expect(tight.executed.map(({ arrivals: members }) => members)).toEqual([[0, 1]]);
  });

  it('admits no request that would be late where a smaller batch takes longer than a larger one', () => {
    const latencyUs = (batch: number) => [7000, 12_000, 11_000, 8000][batch - 1] as number;
    const topology = topologyOf(
      planOf([{ sloMs: 10, pipelines: [{ throughputRps: 1, parts: [{ batch: 4, latencyUs }] }] }]),
    );
    // A batch of 4 would be in time, but the two tasks that wait would not, and neither would three.
    const { ended, executed } = serve(topology, times(0, 0));
    expect(executed.map(({ arrivals: members }) => members)).toEqual([[0]]);
    expect(ended.map(({ outcome }) => outcome).sort()).toEqual(['dropped', 'inTime']);
  });

  it('keeps no link for a batch that has become too small to need one', () => {
    // A transfer of one row takes 0.4 ns, which is rounded to none; one of two rows takes 1 ns.
    const parts = [
      { batch: 2, latencyUs: () => 10_000, transferBytes: 5 },
      { batch: 2, latencyUs: () => 5000 },
    ];
    const topology = topologyOf(planOf([{ sloMs: 100, pipelines: [{ throughputRps: 1, parts }] }], 100));
    // The second pair waits for the first, and one request of it is cancelled. The driver sees that no reservation is
    // left over.
    const { executed } = serve(topology, [...times(0, 0, 0), { at: 0, cancelAt: MS }]);
    expect(executed.map(({ arrivals: members }) => members.length)).toEqual([2, 1, 2, 1]);
  });

  it('moves batches that only waited for a lost device to other devices whole, as often as needed', () => {
    for (const tables of ['gaps', 'busy-until'] as const) {
      const { ended, executed } = runVirtual({
        topology: one(4, 500, 3),
        arrivals: times(...new Array<number>(24).fill(0)),
        outages: [
          { at: MS, device: 0 },
          { at: 2 * MS, device: 1 },
        ],
        handsAhead: true,
        makeCore: coreOf({ tables }),
      });
      // Only tasks that ran are tried alone, and no batch fails because it had to wait twice.
      expect(ended.every(({ outcome }) => outcome === 'inTime')).toBe(true);
      const sizes = executed
        .filter(({ from }) => from > 2 * MS)
        .map(({ arrivals: members }) => members.length);
      expect(sizes.sort()).toEqual([...new Array<number>(8).fill(1), 4, 4, 4]);
    }
  });

  it('drops a request that finds no device as device-down, and serves again once a device is up', () => {
    const topology = one(2, 50);
    const outages = [{ at: MS, device: 0 }];
    const run = { topology, arrivals: times(2), outages, makeCore: coreOf() };
    expect(runVirtual(run).ended).toMatchObject([{ outcome: 'dropped', reason: 'device-down' }]);
    const back = { ...run, outages: [{ at: MS, device: 0, until: 40 * MS }] };
    expect(runVirtual(back).ended).toMatchObject([{ outcome: 'inTime' }]);
    const tooLate = { ...run, outages: [{ at: MS, device: 0, until: 51 * MS }] };
    expect(runVirtual(tooLate).ended).toMatchObject([
      { outcome: 'dropped', reason: 'device-down', at: 42 * MS },
    ]);
    const again = { ...run, outages: [...outages, { at: MS, device: 0, until: 1.5 * MS }] };
    expect(runVirtual(again).ended).toMatchObject([{ outcome: 'inTime' }]);
    const core = new ReservationCore(topology, new Decisions());
    core.deviceUp(0, 0);
    expect(() => core.deviceUp(0, 0)).toThrow('came up again');
  });

  it('keeps serving full batches that have only a small chance of being late', () => {
    // A full batch takes 16 ms on average, varying by 2.4 ms, and the SLO is 18 ms.
    const slower = [0.85, 1.15];
    let steps = 0;
    const { executed } = runVirtual({
      topology: one(4, 18),
      arrivals: Array.from({ length: 400 }, (_, i) => ({ at: Math.floor(i / 4) * 25 * MS })),
      executionNs: (_pool, size) => (8000 + 2000 * size) * 1000 * (slower[steps++ % 2] as number),
      makeCore: coreOf(),
    });
    expect(executed.map(({ arrivals: members }) => members.length)).toEqual(new Array<number>(100).fill(4));
  });

  it('tries the other pipelines before it drops', () => {
    const part = (us: number) => [{ batch: 2, latencyUs: () => us }];
    const shapes = [
      { throughputRps: 100, parts: part(30_000) },
      { throughputRps: 10, parts: part(10_000) },
    ];
    const topology = topologyOf(planOf([{ sloMs: 35, pipelines: shapes }]));
    const late = { at: 0, deadline: 20 * MS };
    expect(serve(topology, [late]).ended).toMatchObject([{ outcome: 'inTime', at: 20 * MS }]);
    expect(serve(topology, [late], { askOthers: false }).ended).toMatchObject([{ outcome: 'dropped' }]);
  });

  it('puts a short batch into a gap that a longer one has left', () => {
    const topology = topologyOf(
      planOf(
        [
          {
            sloMs: 100,
            pipelines: [
              {
                throughputRps: 10,
                parts: [
                  { batch: 1, latencyUs: () => 40_000, transferBytes: 1 },
                  { batch: 1, latencyUs: () => 5000 },
                ],
              },
            ],
          },
        ],
        1,
      ),
    );
    // The device of the second stage is reserved from 40 to 45 ms. A table of gaps still knows that it is
    // free before.
    const decisions: SimulationObserver[] = [overlapWatch(topology)];
    const sum = simulate({
      topology,
      makeCore: (d) => new ReservationCore(topology, d),
      arrivals: arrivalsAt([0, 1000, 2000]),
      observers: decisions,
    });
    expect(sum).toMatchObject({ inTime: 2, dropped: 1 });
  });

  inWholeRun(
    'is never late and never overlaps where steps take what was planned, on random plans and loads',
    () => {
      for (let seed = 1; seed <= cases(20, 60); seed++) {
        const topology = randomTopology(streamOf(seed, 'plan'));
        for (const load of [0.3, 0.95, 2]) {
          const sum = simulate({
            topology,
            makeCore: (decisions) => new ReservationCore(topology, decisions),
            arrivals: poisson(topology, load, 2, seed),
            observers: [overlapWatch(topology)],
          });
          expect(sum.late + sum.failed).toBe(0);
          expect(sum.inTime + sum.dropped).toBe(sum.requests);
          expect(sum.inTime).toBeGreaterThan(0);
        }
      }
    },
  );

  inWholeRun('never overlaps and ends every request where no step takes what was planned', () => {
    for (let seed = 1; seed <= cases(12, 40); seed++) {
      const topology = randomTopology(streamOf(seed, 'plan'));
      const jitter = streamOf(seed, 'jitter');
      for (const tables of ['gaps', 'busy-until'] as const) {
        const sum = simulate({
          topology,
          makeCore: (decisions) => coreOf({ tables })(topology, decisions),
          arrivals: poisson(topology, 1.1, 2, seed),
          execution: (_pool, _size, planned) => planned * (0.5 + 1.2 * jitter.uniform()),
          observers: tables === 'gaps' ? [overlapWatch(topology)] : [],
        });
        expect(sum.inTime + sum.late + sum.dropped).toBe(sum.requests);
      }
    }
  });

  inWholeRun(
    'serves nearly as many in time when steps take longer or shorter, since it learns and moves reservations',
    () => {
      const share = (factor: number, policy: Partial<ReservationPolicy> = {}) => {
        let inTime = 0;
        let requests = 0;
        for (let seed = 1; seed <= 12; seed++) {
          const topology = randomTopology(streamOf(seed, 'plan'));
          const jitter = streamOf(seed, 'jitter');
          const sum = simulate({
            topology,
            makeCore: (decisions) => new ReservationCore(topology, decisions, policy),
            arrivals: poisson(topology, 0.85, 3),
            execution: (_pool, _size, planned) => planned * (factor + 0.04 * (jitter.uniform() - 0.5)),
          });
          inTime += sum.inTime;
          requests += sum.requests;
        }
        return inTime / requests;
      };
      expect(share(0.9)).toBeGreaterThan(share(1) - 0.02);
      expect(share(1.1)).toBeGreaterThan(share(1) - 0.02);
      const missedUncorrected = 1 - share(1.1, { correction: { kind: 'none' } });
      expect(missedUncorrected).toBeGreaterThan(2 * (1 - share(1.1)));
    },
  );

  it('survives random storms of outages, failing batches, cancelled and many-row requests', () => {
    for (let seed = 1; seed <= cases(20, 60); seed++) {
      const stream = streamOf(seed, 'plan');
      const topology = randomTopology(stream);
      const rps = topology.models[0]!.throughputRps * (0.3 + stream.uniform());
      surviveStorm(seed, topology, rps, { makeCore: coreOf() });
    }
  });

  it('makes the same decisions again when its log is replayed', () => {
    const topology = randomTopology(streamOf(5, 'plan'));
    const log: LogEntry[] = [];
    const jitter = streamOf(1, 'jitter');
    simulate({
      topology,
      makeCore: (decisions) => new ReservationCore(topology, decisions),
      arrivals: poisson(topology, 1, 2),
      execution: (_pool, _size, planned) => planned * (0.9 + 0.2 * jitter.uniform()),
      log: (entry) => log.push(entry),
    });
    const answer = replay(log, (decisions) => new ReservationCore(topology, decisions));
    expect(answer).toEqual({ same: true, entries: log.length });
  });
});

/**
 * expectNearlyAll simulates a plan at 0.9 of its load: nearly all requests are in time, none is late, and few probes
 * are needed per dispatch.
 */
function expectNearlyAll(topology: StageTopology): void {
  let core: ReservationCore | undefined;
  const sum = simulate({
    topology,
    makeCore: (decisions) => {
      core = new ReservationCore(topology, decisions);
      return core;
    },
    arrivals: poisson(topology, 0.9, 2),
    observers: [overlapWatch(topology)],
  });
  expect(sum.late).toBe(0);
  expect(sum.inTime / sum.requests).toBeGreaterThan(0.995);
  expect(core!.probes / core!.dispatches).toBeLessThan(3.5);
}

describe('ReservationCore on whole plans', () => {
  it.each(PUBLISHED_PLANS)(
    'serves nearly all at 0.9 of the load, on the plan %s of an instance made here',
    (name) => {
      expectNearlyAll(topologyOf(publishedPlan(MADE_INSTANCE, name, { profileOf: madeProfileOf, only: 0 })!));
    },
  );

  const published = existsSync(FOLDER) ? publishedInstances(FOLDER).slice(0, 9) : [];
  it.each(published.map((instance) => [instance.id, instance] as const))(
    'serves nearly all at 0.9 of the load, on the published plan of %s',
    (_, instance) => {
      const profileOf = profilesIn(FOLDER);
      expectNearlyAll(topologyOf(publishedPlan(instance, 'reference', { profileOf, only: 0 })!));
    },
  );
});
