import { describe, expect, it } from 'vitest';
import { stageIndex, stageRoute } from '../../src/formats/index.js';
import { streamOf, streamsOf } from '../../src/random/index.js';
import {
  busyUntilTables,
  type Decisions,
  FIFO_POLICY,
  INFERLINE_POLICY,
  type LogEntry,
  PUBLISHED_POLICY,
  PUBLISHED_REACTIVE_POLICY,
  REACTIVE_POLICY,
  ReservationCore,
  ROOM_FIRST_POLICY,
  replay,
  type ServingCore,
  StageLocalCore,
  type Topology,
} from '../../src/serving/index.js';
import { ENGINE_POLICIES } from '../../src/serving/stage-local/index.js';
import { type SimulationObserver, type SimulationSummary, simulate } from '../../src/simulator/index.js';
import { cases, whole } from '../cases.js';
import { OutsideObserver } from '../simulator/outside-observer.js';
import { randomArrivals, randomTopology } from './random-plans.js';
import { told } from './told-arrivals.js';

type MakeCore = (topology: Topology) => (decisions: Decisions) => ServingCore;

const SCHEDULERS: Record<string, MakeCore> = {
  reservation: (t) => (d) => new ReservationCore(t, d),
  'reservation by Algorithm 1 alone': (t) => (d) =>
    new ReservationCore(t, d, {
      firstSight: { kind: 'never' },
      review: 'every-arrival',
      askOthers: false,
      correction: { kind: 'none' },
    }),
  'published reservation': (t) => (d) =>
    new ReservationCore(t, d, { ...PUBLISHED_POLICY, makeTables: busyUntilTables }),
  reactive: (t) => (d) => new StageLocalCore(t, d, REACTIVE_POLICY),
  'room-first': (t) => (d) => new StageLocalCore(t, d, ROOM_FIRST_POLICY),
  'published reactive': (t) => (d) => new StageLocalCore(t, d, PUBLISHED_REACTIVE_POLICY),
  fifo: (t) => (d) => new StageLocalCore(t, d, FIFO_POLICY),
  inferline: (t) => (d) => new StageLocalCore(t, d, INFERLINE_POLICY),
  'stage-local': (t) => (d) => new StageLocalCore(t, d),
  ...Object.fromEntries(
    Object.entries(ENGINE_POLICIES).map(([name, policy]): [string, MakeCore] => [
      name,
      (t) => (d) => new StageLocalCore(t, d, { ...policy, streams: streamsOf(1, 'core') }),
    ]),
  ),
};
const ARE_LATE = /reactive|fifo|inferline|stage-local|published|room-first|ray-serve|triton/;
/**
 * These schedulers keep one queue per model and serve it in its order. When two batches begin, all tasks of the first
 * stand before all tasks of the second.
 */
const IN_ORDER = /reservation|reactive/;

/** unifiedWatch throws where a batch is larger than the planned batch of any stage of its pipeline. */
function unifiedWatch({ pools }: Topology): SimulationObserver {
  return {
    executed: (_batch, pool, _device, size) => {
      const { model, stage } = pools[pool]!;
      const stages = pools.filter(
        (other) => other.model === model && stageRoute(other.stage) === stageRoute(stage),
      );
      if (size > Math.min(...stages.map(({ batch }) => batch))) throw new Error(`a batch of ${size}`);
    },
  };
}

/** orderWatch throws where first stages take a model's requests in another order than that of arrival. */
function orderWatch(topology: Topology): { observer: SimulationObserver; check: () => void } {
  const rankOf = new Map<number, number>();
  const ranges = topology.models.map((): [from: number, to: number][] => []);
  let arrived = 0;
  let members: (batch: number, size: number) => number[] = () => [];
  const observer: SimulationObserver = {
    begun: ({ core, requestOf }) => {
      members = (batch, size) =>
        Array.from({ length: size }, (_, i) => rankOf.get(requestOf(core.batchTask(batch, i)))!);
    },
    arrived: (_at, _model, request) => rankOf.set(request, arrived++),
    executed: (batch, pool, _device, size) => {
      if (stageIndex(topology.pools[pool]!.stage) > 0) return;
      const ranks = members(batch, size);
      expect(ranks).toEqual([...ranks].sort((a, b) => a - b));
      ranges[topology.pools[pool]!.model]!.push([ranks[0]!, ranks.at(-1)!]);
    },
  };
  const check = () => {
    for (const all of ranges) {
      all.sort(([a], [b]) => a - b);
      for (let i = 1; i < all.length; i++) expect(all[i]![0]).toBeGreaterThan(all[i - 1]![1]);
    }
  };
  return { observer, check };
}

describe.each(Object.entries(SCHEDULERS))('%s on random plans and bursts', (name, makeCore) => {
  const published = name.startsWith('published');

  const run = (seed: number, jittered: boolean): SimulationSummary => {
    const stream = streamOf(seed, 'plan');
    const topology = randomTopology(stream, published && seed % 2 === 0 ? { rules: 'published' } : {});
    const list = randomArrivals(streamOf(seed, 'arrivals'), topology, 120);
    const jitter = streamOf(seed, 'jitter');
    const factor = [0.3, 0.9, 1, 1.1, 2][jitter.integer(5)]!;
    const watcher = new OutsideObserver(topology, !jittered);
    const order = orderWatch(topology);
    const observers: SimulationObserver[] = [watcher];
    if (IN_ORDER.test(name)) observers.push(order.observer);
    if (name.includes('reservation')) observers.push(unifiedWatch(topology));
    const log: LogEntry[] = [];
    const summary = simulate({
      topology,
      makeCore: makeCore(topology),
      arrivals: told(list),
      observers,
      log: (entry) => log.push(entry),
      ...(jittered
        ? { execution: (_pool, _size, planned) => planned * factor * (0.6 + 0.8 * jitter.uniform()) }
        : {}),
    });
    watcher.close();
    order.check();
    const { inTime, late, dropped, failed } = summary;
    expect([inTime, late, dropped, failed]).toEqual(watcher.outcomes);
    expect([inTime + late + dropped, failed]).toEqual([list.length, 0]);
    expect(replay(log, makeCore(topology))).toEqual({ same: true, entries: log.length });
    return summary;
  };

  it('breaks no rule seen from outside, ends every request once, and makes the same decisions again from its log', () => {
    for (let seed = 1; seed <= cases(whole(2, 8), 25); seed++) {
      const { late } = run(seed, false);
      if (!ARE_LATE.test(name)) expect({ seed, late }).toEqual({ seed, late: 0 });
      run(seed, true);
    }
  });
});
