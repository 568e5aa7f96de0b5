import { describe, expect, it } from 'vitest';
import { topologyOf } from '../../src/plans/index.js';
import { streamOf, streamsOf } from '../../src/random/index.js';
import { FIFO_POLICY, StageLocalCore, type StageLocalPolicy } from '../../src/serving/index.js';
import { OutcomeCode, type SimulatorOptions, simulate } from '../../src/simulator/index.js';
import { arrivalsAt } from '../../src/workload/index.js';
import { seeds } from '../cases.js';
import { planOf } from '../serving/plans.js';

const MS = 1e6;
type Engine = NonNullable<SimulatorOptions['engine']>;

interface Ended {
  readonly cameNs: number;
  readonly endNs: number;
  readonly outcome: OutcomeCode;
}

/** served simulates requests to a chain of stages, each with so many devices that take one request at a time. */
function served(
  {
    arrivals,
    stages,
    sloMs = 1e5,
    policy = FIFO_POLICY,
  }: {
    readonly arrivals: readonly number[];
    readonly stages: readonly { readonly devices: number; readonly tookUs: number }[];
    readonly sloMs?: number;
    readonly policy?: StageLocalPolicy;
  },
  engine?: Engine,
): Ended[] {
  const parts = stages.map(({ devices, tookUs }) => ({
    batch: 1,
    virtualGpus: devices,
    latencyUs: () => tookUs,
    transferBytes: 0,
  }));
  const topology = topologyOf(planOf([{ sloMs, pipelines: [{ throughputRps: 1, parts }] }]));
  const ended: Ended[] = [];
  simulate({
    topology,
    arrivals: arrivalsAt(arrivals),
    engine,
    makeCore: (decisions) =>
      new StageLocalCore(topology, decisions, { ...policy, streams: streamsOf(0, 'core') }),
    observers: [{ ended: (endNs, _, __, cameNs, outcome) => ended.push({ cameNs, endNs, outcome }) }],
  });
  return ended.sort((a, b) => a.cameNs - b.cameNs);
}

/** plainly works out when requests end, from a list of when each server of each queue is free. */
function plainly(
  arrivals: readonly number[],
  queues: readonly { readonly servers: number; readonly tookNs: number }[],
  hopNs: number,
): number[] {
  const free = queues.map(({ servers }) => new Array<number>(servers).fill(0));
  return arrivals.map((cameNs) => {
    let at = cameNs;
    for (const [q, { tookNs }] of queues.entries()) {
      const of = free[q] as number[];
      const first = of.indexOf(Math.min(...of));
      at = Math.max(at, of[first] as number) + tookNs;
      of[first] = at;
      // One hop from the ingress to the first stage, and two between stages, by way of the ingress.
      if (q < queues.length - 1) at += q === 0 ? hopNs : 2 * hopNs;
    }
    return at + hopNs;
  });
}

function drawn(seed: number) {
  const stream = streamOf(seed, 'ingress');
  const engine = {
    replicas: 1 + stream.integer(4),
    requestNs: stream.integer(4) === 0 ? 0 : stream.integer(5 * MS),
    hopNs: stream.integer(4) === 0 ? 0 : stream.integer(3 * MS),
  };
  const stages = Array.from({ length: 1 + stream.integer(3) }, () => ({
    devices: 1 + stream.integer(3),
    tookUs: 500 + stream.integer(6000),
  }));
  let at = 0;
  const arrivals = Array.from({ length: 200 }, () => {
    at += 1 + Math.floor(stream.exponential() * 2 * MS);
    return at;
  });
  return { engine, stages, arrivals };
}

describe('simulate()', () => {
  it('lets requests pass an ingress and hops as a plain calculation says, to the nanosecond', () => {
    for (const seed of seeds(60, 600)) {
      const { engine, stages, arrivals } = drawn(seed);
      const queues = [
        { servers: engine.replicas, tookNs: engine.requestNs },
        ...stages.map(({ devices, tookUs }) => ({ servers: devices, tookNs: 1e3 * tookUs })),
      ];
      const ends = served({ arrivals, stages }, engine).map(({ endNs }) => endNs);
      expect(ends, `seed ${seed}`).toEqual(plainly(arrivals, queues, engine.hopNs));
    }
  });

  it('lets hops between stages take between nothing and twice their mean, as drawn, and no others', () => {
    const stages = [1, 2].map(() => ({ devices: 1, tookUs: 1000 }));
    const engine = { replicas: 1, requestNs: 0, hopNs: MS };
    const draws = [0, 0.25, 0.5, 0.9999];
    let next = 0;
    const arrivals = draws.map((_, i) => 1 + 20 * MS * i);
    const ends = served({ arrivals, stages }, { ...engine, uniform: () => draws[next++]! });
    // Two executions, a hop to the first stage and one back, and what is drawn between the stages.
    expect(ends.map(({ endNs, cameNs }) => endNs - cameNs)).toEqual(
      draws.map((draw) => 4 * MS + Math.round(4 * MS * draw)),
    );
    const alike = served({ arrivals, stages }, { ...engine, uniform: () => 0.5 });
    expect(alike).toEqual(served({ arrivals, stages }, engine));
  });

  it('serves through an engine that takes no time as without one', () => {
    for (const seed of seeds(10, 100)) {
      const { stages, arrivals } = drawn(seed);
      const nothing = { replicas: 1, requestNs: 0, hopNs: 0 };
      expect(served({ arrivals, stages, sloMs: 12 }, nothing)).toEqual(
        served({ arrivals, stages, sloMs: 12 }),
      );
    }
  });

  it('counts the ingress and the way back of a request into whether it is in time, to the nanosecond', () => {
    const engine = { replicas: 1, requestNs: 3 * MS, hopNs: MS };
    const outcome = (sloMs: number) =>
      served({ arrivals: [5], stages: [{ devices: 1, tookUs: 10_000 }], sloMs }, engine).map(
        (one) => one.outcome,
      );
    expect(outcome(15)).toEqual([OutcomeCode.inTime]);
    expect(outcome(15 - 1e-6)).toEqual([OutcomeCode.late]);
  });

  it('counts the deadline that the engine drops by from when its ingress begins a request', () => {
    const engine = { replicas: 1, requestNs: 20 * MS, hopNs: 0 };
    const policy: StageLocalPolicy = { ...FIFO_POLICY, drop: { kind: 'hopeless' }, late: { kind: 'drop' } };
    const outcomes = (sloMs: number) =>
      served({ arrivals: [1, 2], stages: [{ devices: 2, tookUs: 10_000 }], sloMs, policy }, engine).map(
        (one) => one.outcome,
      );
    // The second waits 20 ms for the ingress, so that its client sees it late, but the engine has 30 ms from then on.
    expect(outcomes(30)).toEqual([OutcomeCode.inTime, OutcomeCode.late]);
    expect(outcomes(29)).toEqual([OutcomeCode.dropped, OutcomeCode.dropped]);
  });
});
