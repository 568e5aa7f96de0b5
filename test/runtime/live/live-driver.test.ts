import { describe, expect, it } from 'vitest';
import { topologyOf } from '../../../src/plans/index.js';
import { streamsOf } from '../../../src/random/index.js';
import type { Ending } from '../../../src/runtime/live/live-requests.js';
import { NO_TIME, type RequestTimes } from '../../../src/runtime/live/request-times.js';
import {
  FIFO_POLICY,
  type ScalingRule,
  StageLocalCore,
  type StageLocalPolicy,
  type StageTopology,
} from '../../../src/serving/index.js';
import { planOf } from '../../serving/plans.js';
import type { Arrival } from '../../serving/virtual-driver.js';
import { live, type ServedRun, simulated, simulatedTroubles, VirtualServing } from '../virtual-serving.js';

const MS = 1e6;

/** stageOf is one stage that executes one row in 10 ms, and is planned for 2/s; some of its devices may be on standby. */
function stageOf(devices: number, standby: readonly number[] = []): StageTopology {
  const parts = [{ batch: 1, virtualGpus: devices, latencyUs: () => 10_000 }];
  const topology = topologyOf(planOf([{ sloMs: 1000, pipelines: [{ throughputRps: 2, parts }] }]));
  for (const device of standby) topology.devices[device]!.standby = true;
  return topology;
}

/** runOf serves rows first come, first served, on a stage. */
function runOf(
  topology: StageTopology,
  arrivals: readonly Arrival[],
  choices: Partial<StageLocalPolicy> & { readonly scaling?: ScalingRule } = {},
): ServedRun {
  const policy = { ...FIFO_POLICY, ...choices, streams: streamsOf(1, 'core') };
  return {
    topology,
    arrivals: [...arrivals],
    makeCore: (decisions) => new StageLocalCore(topology, decisions, policy),
    // No two batches end at one instant.
    tookNs: () => (plannedNs, device) => plannedNs + device,
    activationNs: 2 * MS,
  };
}

const arriveAt = (...ms: number[]): Arrival[] => ms.map((at) => ({ at: at * MS }));

/** inUse is a schedule of the devices of the stage. */
const inUse = (...changes: [ms: number, devices: number][]): ScalingRule => ({
  kind: 'schedule',
  changes: changes.map(([ms, devices]) => ({ atNs: ms * MS, pool: 0, devices })),
});

describe('A device of the live driver that is put on standby', () => {
  const ahead = { placement: 'earliest-free' } as const;
  const many = arriveAt(1, 1, 1, 1, 1, 1, 1, 1, 40, 40, 40, 40, 40, 40);

  it('ends its batch, and begins none of those that it was handed before it was activated again', async () => {
    const run = runOf(stageOf(2), many, { ...ahead, scaling: inUse([5, 1], [20, 2]) });
    const { log: _, ...expected } = simulated(run);
    expect(expected.scaled.map(({ at, what }) => `${at / MS} ${what}`)).toEqual([
      '11.000001 standby',
      '20 comesUp',
      '22 up',
    ]);
    expect(await live(run)).toMatchObject(expected);
  });

  it('is on standby at once where it goes down before its batch has ended', async () => {
    for (const device of [0, 1]) {
      const outages = [{ at: 7 * MS, device, until: 12 * MS }];
      const run = { ...runOf(stageOf(2), many, { ...ahead, scaling: inUse([5, 1], [20, 2]) }), outages };
      const { log: _, ...expected } = simulatedTroubles(run);
      expect(await live(run)).toMatchObject(expected);
    }
  });
});

/** Told is an ending with its times. */
type Told = Ending & { readonly times: RequestTimes };

/**
 * served submits requests of so many rows at their instants to the live driver of a run without arrivals, and gives
 * what they are told.
 */
function submitTo(
  world: VirtualServing,
  requests: readonly { readonly ms: number; readonly rows?: number; readonly readMs?: number }[],
): Told[] {
  const told: Told[] = [];
  for (const [i, { ms, rows = 1, readMs = 0 }] of requests.entries())
    world.time.at(ms * MS, () => {
      const at = world.driver.now();
      const inputs = Array.from({ length: rows }, (_, row) => world.inputOf(i, row));
      world.driver.submit(
        { at, wholeNs: at - readMs * MS, model: 0, deadlineNs: at + 1e9 },
        inputs,
        (ending, times) => {
          told[i] = { ...ending, times };
        },
      );
    });
  return told;
}

describe('The live driver', () => {
  it('divides the time of a request into reading, waiting and executing', async () => {
    const world = new VirtualServing(runOf(stageOf(1), []));
    const told = submitTo(world, [{ ms: 3, readMs: 2 }, { ms: 5 }]);
    await world.pass();
    expect(told.map(({ times }) => times)).toEqual([
      { tookUs: 12_000, queueUs: 0, inputUs: 2000, inferUs: 10_000, outputUs: 0 },
      { tookUs: 18_000, queueUs: 8000, inputUs: 0, inferUs: 10_000, outputUs: 0 },
    ]);
    expect(world.driver.requestCount).toBe(2);
  });

  it('says when a request is worth sending again, by the rows that are open and the devices that are up', async () => {
    const run = runOf(stageOf(2), [], { mostTasks: 4, scaling: inUse([65, 1]) });
    const world = new VirtualServing({ ...run, outages: [{ at: 25 * MS, device: 0, until: 45 * MS }] });
    // Each time one more comes than there is room for: five rows are open, of which the devices serve 2/s.
    const full = (ms: number) => [{ ms, rows: 4 }, { ms: ms + 1 }];
    const told = submitTo(world, [...full(0), ...full(30), ...full(75)]);
    await world.pass();
    const dropped = told.flatMap((one) => (one.kind === 'dropped' ? [[one.reason, one.retryAfterS]] : []));
    expect(dropped).toEqual([
      ['queue-full', 3],
      ['queue-full', 5],
      ['queue-full', 5],
    ]);
  });

  it('tells a request that is turned away unread so in the same turn, with no times', async () => {
    const world = new VirtualServing(runOf(stageOf(1), []));
    const told: [number, Ending, RequestTimes][] = [];
    world.time.at(3 * MS, () =>
      world.driver.turnAway(0, (ending, times) => told.push([world.time.now / MS, ending, times])),
    );
    await world.pass();
    expect(told).toEqual([
      [3, { kind: 'dropped', reason: 'overload', place: 'entry', retryAfterS: 1 }, NO_TIME],
    ]);
    expect(world.driver.requestCount).toBe(1);
  });

  it('answers that a request has failed, with what its batch failed by', async () => {
    const world = new VirtualServing({ ...runOf(stageOf(1), []), fails: () => true });
    const told = submitTo(world, [{ ms: 1 }]);
    await world.pass();
    expect(told).toMatchObject([{ kind: 'failed', why: 'it does not work' }]);
  });

  it('does not drain while a request waits for a device that is down', async () => {
    const outages = [{ at: 5 * MS, device: 0, until: 20 * MS }];
    const world = new VirtualServing({ ...runOf(stageOf(1), arriveAt(1)), outages });
    let drainedAt = 0;
    const drain = async () => {
      await world.driver.drain();
      drainedAt = world.time.now;
    };
    world.time.at(6 * MS, () => void drain());
    await world.pass();
    expect(drainedAt).toBe(30 * MS);
  });

  it('has no open request of a client that is gone', async () => {
    const [stays, leaves] = arriveAt(1, 2);
    const world = new VirtualServing(runOf(stageOf(1), [stays!, { ...leaves!, cancelAt: 4 * MS }]));
    let abandoned = 0;
    world.time.at(5 * MS, () => {
      abandoned = world.abandon();
    });
    await world.pass();
    expect(abandoned).toBe(1);
  });

  it('drains once no request is open, and no batch of one that was given up is executed', async () => {
    const world = new VirtualServing(
      runOf(
        stageOf(1),
        arriveAt(1, 2).map((one) => ({ ...one, cancelAt: 4 * MS })),
      ),
    );
    let drainedAt = 0;
    world.time.at(
      3 * MS,
      () =>
        void world.driver.drain().then(() => {
          drainedAt = world.time.now;
        }),
    );
    await world.pass();
    expect(world.seen.ended.map(({ at, outcome }) => [at / MS, outcome])).toEqual([
      [4, 'cancelled'],
      [4, 'cancelled'],
    ]);
    expect(drainedAt).toBe(11 * MS);
  });

  it('abandons every open request, where a device executes it or at the entry', async () => {
    const world = new VirtualServing(runOf(stageOf(1), arriveAt(1, 2, 3)));
    let abandoned = 0;
    world.time.at(12 * MS, () => {
      abandoned = world.abandon();
    });
    await world.pass();
    expect(abandoned).toBe(2);
    expect(world.seen.ended.slice(1)).toEqual([
      { arrival: 1, at: 12 * MS, outcome: 'dropped', reason: 'draining', place: 'pipeline0/partition0' },
      { arrival: 2, at: 12 * MS, outcome: 'dropped', reason: 'draining', place: 'entry' },
    ]);
    expect(world.driver.abandon()).toBe(0);
  });

  it('activates no device once it is stopped, and still answers', async () => {
    const world = new VirtualServing(runOf(stageOf(2, [1]), arriveAt(1, 20), { scaling: inUse([10, 2]) }));
    world.time.at(5 * MS, () => world.driver.stop());
    await world.pass();
    expect(world.seen.scaled).toEqual([]);
    expect(world.seen.log.filter(([word]) => word === 'due')).toEqual([]);
    expect(world.seen.ended.map(({ at, outcome }) => [at / MS, outcome])).toEqual([
      [11, 'inTime'],
      [30, 'inTime'],
    ]);
  });
});
