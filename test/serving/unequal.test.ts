import { describe, expect, it } from 'vitest';
import { streamOf, streamsOf } from '../../src/random/index.js';
import {
  Decisions,
  INFERLINE_POLICY,
  type LogEntry,
  ReservationCore,
  ROOM_FIRST_POLICY,
  replay,
  StageLocalCore,
  type StageLocalPolicy,
  type StageTopology,
} from '../../src/serving/index.js';
import { Durations } from '../../src/serving/state/index.js';
import { simulate } from '../../src/simulator/index.js';
import { cases, inWholeRun, seeds, whole } from '../cases.js';
import { OutsideObserver } from '../simulator/outside-observer.js';
import { randomDag } from './dags.js';
import { randomArrivals, randomTopology, withClasses } from './random-plans.js';
import { randomPolicy } from './random-policies.js';
import { surviveStorm } from './storm.js';
import { told } from './told-arrivals.js';
import { runVirtual } from './virtual-driver.js';

const MS = 1e6;
const NONE = -1;

/** unequalChain draws a random plan of chains whose pools have devices of several classes. */
function unequalChain(seed: number): StageTopology {
  const stream = streamOf(seed, 'plan');
  return withClasses(stream, randomTopology(stream));
}

/** oneStage is a stage of batch 1 with a device for each latency, all of classes of their own. */
function oneStage(latenciesNs: readonly number[]): StageTopology {
  const linkOf = Int32Array.from(latenciesNs.keys());
  const links = latenciesNs.length;
  return {
    models: [{ name: 'm', sloNs: 1e12, throughputRps: 1, entries: [0] }],
    pools: [
      {
        model: 0,
        stage: { kind: 'stage', name: 's', index: 0 },
        deviceClass: 'c',
        virtual: 1,
        batch: 1,
        latencyNs: Float64Array.of(latenciesNs[0]!),
        transferNs: Float64Array.of(0),
        transferBytes: 0,
        edges: [],
        throughputRps: 1,
        devices: [...latenciesNs.keys()],
        classes: latenciesNs.map((ns) => {
          return { deviceClass: 'c', virtual: 1, latencyNs: Float64Array.of(ns) };
        }),
      },
    ],
    devices: latenciesNs.map((_, i) => {
      return { name: `d${i}`, pool: 0, poolClass: i, server: `s${i}`, gpu: 0, deviceClass: 'c', virtual: 1 };
    }),
    links: { uplinkOf: linkOf, downlinkOf: linkOf, uplinkCount: links, downlinkCount: links },
    routes: { kind: 'chains' },
  };
}

/** servedByHand serves requests in order, each by the fastest of the devices that are idle when it is its turn. */
function servedByHand(latenciesNs: readonly number[], arrivalsNs: readonly number[]) {
  const freeNs = latenciesNs.map(() => 0);
  return arrivalsNs.map((at) => {
    const startNs = Math.max(at, Math.min(...freeNs));
    const idle = [...latenciesNs.keys()].filter((device) => freeNs[device]! <= startNs);
    const device = idle.reduce((best, one) => (latenciesNs[one]! < latenciesNs[best]! ? one : best));
    freeNs[device] = startNs + latenciesNs[device]!;
    return { device, startNs, endNs: freeNs[device]! };
  });
}

describe('a stage whose devices are of several classes', () => {
  it('serves in order of arrival by the fastest idle device, as a queue that is computed by itself', () => {
    for (const seed of seeds(20, 300)) {
      const stream = streamOf(seed, 'queue');
      // No two latencies are equal, so that the fastest is one.
      const latenciesNs = Array.from(
        { length: 2 + stream.integer(4) },
        (_, i) => 10 * stream.integer(10_000) + i + 1,
      );
      const meanNs = 1 / latenciesNs.reduce((sum, ns) => sum + 1 / ns, 0);
      let at = 0;
      const arrivalsNs = Array.from({ length: 300 }, () => {
        at += Math.round(meanNs * (0.5 + stream.uniform()) * stream.exponential());
        return at;
      });
      const run = runVirtual({
        topology: oneStage(latenciesNs),
        arrivals: arrivalsNs.map((one) => ({ at: one })),
        policy: INFERLINE_POLICY,
      });
      const served = run.executed.flatMap(({ device, from, to, arrivals }) =>
        arrivals.map((arrival) => ({ arrival, device, startNs: from, endNs: to })),
      );
      const inOrder = served.sort((a, b) => a.arrival - b.arrival).map(({ arrival: _, ...one }) => one);
      expect(inOrder, `seed ${seed}`).toEqual(servedByHand(latenciesNs, arrivalsNs));
    }
  });

  inWholeRun(
    'is served by any policy with one outcome a request, each batch in the time of its own device',
    () => {
      const ended = new Set<string>();
      for (let seed = 1; seed <= cases(whole(15, 40), 400); seed++) {
        const topology = unequalChain(seed);
        const policy = randomPolicy(streamOf(seed, 'policy'));
        const list = randomArrivals(streamOf(seed, 'arrivals'), topology, 80);
        const watcher = new OutsideObserver(topology, true);
        const log: LogEntry[] = [];
        const makeCore = (decisions: Decisions) =>
          new StageLocalCore(topology, decisions, { ...policy, streams: streamsOf(seed, 'core') });
        const summary = simulate({
          topology,
          makeCore,
          arrivals: told(list),
          observers: [watcher],
          log: (entry) => log.push(entry),
        });
        watcher.close();
        const { inTime, late, dropped, failed } = summary;
        expect([seed, inTime, late, dropped, failed]).toEqual([seed, ...watcher.outcomes]);
        expect(inTime + late + dropped).toBe(list.length);
        for (const [what, count] of Object.entries({ inTime, late, dropped })) if (count > 0) ended.add(what);
        expect(replay(log, makeCore)).toEqual({ same: true, entries: log.length });
      }
      expect([...ended].sort()).toEqual(['dropped', 'inTime', 'late']);
    },
  );

  it('survives storms of outages, failing batches and cancelled requests, as chains and as DAGs', () => {
    for (let seed = 1; seed <= cases(whole(12, 30), 300); seed++) {
      const stream = streamOf(seed, 'storm of classes');
      const topology =
        seed % 2 === 0 ? unequalChain(seed) : withClasses(stream, randomDag(stream, { most: 5 }));
      const drawn = randomPolicy(streamOf(seed, 'policy'));
      // What is never dropped may wait for devices that are lost for good.
      const policy = drawn.drop.kind === 'never' ? { ...drawn, drop: { kind: 'expired' as const } } : drawn;
      surviveStorm(seed, topology, 100 + 600 * stream.uniform(), {
        makeCore: (of, decisions) =>
          new StageLocalCore(of, decisions, { ...policy, streams: streamsOf(seed, 'core') }),
        handsAhead: policy.placement === 'earliest-free',
        shed: seed % 3 === 0,
      });
    }
  });

  it('gives up of a queue that unlike devices share what even the fastest would end too late, and nothing else', () => {
    const [slow, fast] = [90 * MS, 30 * MS];
    const served = (deadline: number, policy: StageLocalPolicy) => {
      const { ended, executed } = runVirtual({
        topology: oneStage([slow, fast]),
        // The first keeps the fast device busy until 30 ms; only the slow one is idle when the second comes.
        arrivals: [
          { at: 0, deadline: 100 * MS },
          { at: 20 * MS, deadline },
        ],
        policy,
      });
      const outcomes = [...ended].sort((a, b) => a.arrival - b.arrival).map(({ outcome }) => outcome);
      return [...outcomes, ...executed.map(({ device }) => device)];
    };
    for (const policy of [
      ROOM_FIRST_POLICY,
      { ...ROOM_FIRST_POLICY, formation: { kind: 'waiting' } as const },
    ]) {
      expect(served(110 * MS, policy)).toEqual(['inTime', 'inTime', 1, 0]);
      expect(served(50 * MS, policy)).toEqual(['inTime', 'late', 1, 0]);
      expect(served(50 * MS - 1, policy)).toEqual(['inTime', 'dropped', 1]);
    }
    // A task that is bound to a device is judged by that one.
    const bound = {
      ...ROOM_FIRST_POLICY,
      placement: 'per-device' as const,
      formation: { kind: 'ahead' as const },
    };
    expect(served(109 * MS, bound)).toEqual(['inTime', 'inTime', 1, 1]);
    expect(served(59 * MS, bound)).toEqual(['inTime', 'dropped', 1]);
  });

  it('corrects the expected times of each class by what its own devices take, and the mean by all that are up', () => {
    const topology = oneStage([20 * MS, 60 * MS, 60 * MS]);
    const durations = new Durations(topology, { kind: 'average', weight: 0.5 });
    for (const device of [0, 1, 2]) durations.devicesChanged(device, true);
    const told = () => [undefined, 0, 1, 2].map((device) => durations.executionNs(0, 1, device) / MS);
    // In a minute, the first makes 3000 and each other 1000: three fifths of all, and a fifth each.
    expect(told()).toEqual([36, 20, 60, 60]);
    durations.observeExecution(0, 1, 120 * MS, 1);
    expect(told().slice(1)).toEqual([20, 90, 60]);
    expect(told()[0]).toBeCloseTo(3 / (1 / 20 + 1 / 90 + 1 / 60), 9);
    expect(durations.aloneNs(0, NONE)).toBe(20 * MS);
    durations.devicesChanged(0, false);
    expect(told()[0]).toBeCloseTo(2 / (1 / 90 + 1 / 60), 9);
    expect(durations.aloneNs(0, NONE)).toBe(60 * MS);
    expect(durations.aloneNs(0, 0)).toBe(20 * MS);
    durations.devicesChanged(1, false);
    durations.devicesChanged(2, false);
    // While none is up, it stays with what the last one took.
    expect(told()[0]).toBe(60);
  });

  it('is refused by the reservation scheduler, which says why', () => {
    const refused = () => new ReservationCore(oneStage([MS, 2 * MS]), new Decisions());
    expect(refused).toThrow(
      /s has devices of several classes, but a reservation needs devices that are alike/,
    );
  });
});
