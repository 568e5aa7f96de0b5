import { describe, expect, it } from 'vitest';
import { streamOf } from '../../src/random/index.js';
import {
  type Edge,
  FIFO_POLICY,
  type Pool,
  type ScalingRule,
  StageLocalCore,
  type Topology,
} from '../../src/serving/index.js';
import { type SimulatorOptions, simulate } from '../../src/simulator/index.js';
import {
  arrivalsAt,
  arrivalTimes,
  DrawnArrivals,
  mergedArrivals,
  steadyLoad,
} from '../../src/workload/index.js';
import { cases, inWholeRun } from '../cases.js';

const MS = 1e6;

/** The length of the runs, in shares of the length at which three standard deviations of a mean are 1 % of it. */
const scale = cases(5, 100) / 100;
const most = 0.01 / Math.sqrt(scale);

interface Stage {
  /** The devices of the stage, by their numbers. */
  devices: number[];
  serviceMs: number;
  edges?: [to: number, when: Edge['when']['kind']][];
  model?: number;
}

/** networkOf makes one application of these stages, or one application for each model that they name. */
function networkOf(stages: readonly Stage[], standby: readonly number[] = []): Topology {
  const firstOf = stages.map(({ model = 0 }) => stages.findIndex((other) => (other.model ?? 0) === model));
  const pools = stages.map(
    ({ devices, serviceMs, edges = [], model = 0 }, i): Pool => ({
      model,
      stage: { kind: 'partition', pipeline: 0, partition: i - firstOf[i]! },
      deviceClass: 'cpu',
      virtual: 1,
      batch: 1,
      latencyNs: Float64Array.of(serviceMs * MS),
      transferNs: Float64Array.of(0),
      transferBytes: 0,
      throughputRps: 1,
      devices,
      edges: edges.map(([to, kind]) => {
        const when = kind === 'unsure' ? { kind, below: 0.5 } : { kind };
        return { to, when, transferNs: Float64Array.of(0), transferBytes: 0 };
      }),
    }),
  );
  const count = Math.max(...stages.flatMap(({ devices }) => devices)) + 1;
  const devices = Array.from({ length: count }, (_, device) => {
    const [pool = 0, ...otherPools] = pools.flatMap((one, i) => (one.devices.includes(device) ? [i] : []));
    return {
      name: `d${device}`,
      server: 's',
      gpu: 0,
      deviceClass: 'cpu',
      virtual: 1,
      pool,
      ...(otherPools.length > 0 ? { otherPools } : {}),
      ...(standby.includes(device) ? { standby: true } : {}),
    };
  });
  const linkOf = new Int32Array(count);
  const links = { uplinkOf: linkOf, downlinkOf: linkOf, uplinkCount: 1, downlinkCount: 1 };
  const models = [...new Set(firstOf)].map((first) => ({
    name: `m${first}`,
    sloNs: 1e15,
    throughputRps: 1,
    entries: [first],
  }));
  return { models, pools, devices, links, routes: { kind: 'dag' } };
}

const fifo = (topology: Topology, scaling?: ScalingRule) => ({
  topology,
  makeCore: (decisions: ConstructorParameters<typeof StageLocalCore>[1]) =>
    new StageLocalCore(topology, decisions, {
      ...FIFO_POLICY,
      ...(scaling === undefined ? {} : { scaling }),
    }),
});

const poisson = (rps: number, requests: number, purpose: string) =>
  new DrawnArrivals({
    process: 'poisson',
    load: steadyLoad(rps, (scale * requests) / rps),
    stream: streamOf(1, purpose),
  });

const exponential = (): NonNullable<SimulatorOptions['execution']> => {
  const stream = streamOf(1, 'services');
  return (_pool, _size, ns) => ns * stream.exponential();
};

/** The mean time from arrival to answer, in milliseconds. */
function meanMs(options: SimulatorOptions): number {
  let sumNs = 0;
  const observers = [
    {
      ended: (at: number, _model: number, _request: number, arrivedAt: number) => {
        sumNs += at - arrivedAt;
      },
    },
  ];
  const { requests } = simulate({ ...options, observers });
  return sumNs / requests / MS;
}

describe('simulate() of networks, against queueing theory', () => {
  inWholeRun('matches the mean of a fork and join of two M/M/1, (12 − ρ)/8 · 1/(μ − λ)', () => {
    const topology = networkOf([
      { devices: [0], serviceMs: 1, edges: [[2, 'always']] },
      { devices: [1], serviceMs: 1, edges: [[2, 'always']] },
      { devices: [2], serviceMs: 0 },
    ]);
    const measured = meanMs({
      ...fifo(topology),
      arrivals: poisson(500, 2e6, 'fork'),
      execution: exponential(),
    });
    expect(Math.abs(measured / (((12 - 0.5) / 8) * 2) - 1)).toBeLessThan(most);
  });

  inWholeRun(
    'matches the mean of a Jackson network with branches and merges, each stage M/M/1 at its own rate',
    () => {
      const topology = networkOf([
        {
          devices: [0],
          serviceMs: 1,
          edges: [
            [1, 'verdict'],
            [2, 'verdict'],
          ],
        },
        { devices: [1], serviceMs: 2, edges: [[3, 'always']] },
        { devices: [2], serviceMs: 1.5, edges: [[3, 'always']] },
        { devices: [3], serviceMs: 1, edges: [[4, 'verdict']] },
        { devices: [4], serviceMs: 4 },
      ]);
      const fates = streamOf(1, 'fates');
      const visits = [1, 0.3, 0.7, 1, 0.25];
      const verdict = (_order: number, _row: number, pool: number) =>
        pool === 0 ? (fates.uniform() < 0.3 ? 1 : 2) : fates.uniform() < 0.25 ? 1 : 0;
      const rps = 500;
      const measured = meanMs({
        ...fifo(topology),
        arrivals: poisson(rps, 2e6, 'jackson'),
        execution: exponential(),
        verdict,
      });
      const exact = visits.reduce((sum, share, i) => {
        const perMs = [1, 1 / 2, 1 / 1.5, 1, 1 / 4][i]!;
        return sum + share / (perMs - (share * rps) / 1000);
      }, 0);
      expect(Math.abs(measured / exact - 1)).toBeLessThan(most);
    },
  );

  it('matches the mean wait of two models on one device, first come first served, by Pollaczek and Khinchine', () => {
    const topology = networkOf([
      { devices: [0], serviceMs: 1, model: 0 },
      { devices: [0], serviceMs: 4, model: 1 },
    ]);
    const [often, seldom] = [300, 100];
    const arrivals = mergedArrivals([
      poisson(often, 1.5e6, 'often'),
      Object.assign(poisson(seldom, 0.5e6, 'seldom'), { model: 1 }),
    ]);
    const measured = meanMs({ ...fifo(topology), arrivals });
    const perMs = (often + seldom) / 1000;
    const [mean, square] = [(3 * 1 + 4) / 4, (3 * 1 + 16) / 4];
    const exact = mean + (perMs * square) / (2 * (1 - perMs * mean));
    expect(Math.abs(measured / exact - 1)).toBeLessThan(most);
  });

  it('matches another simulation of M/M/c whose servers come and go at known times, request by request', () => {
    const topology = networkOf([{ devices: [0, 1, 2, 3, 4], serviceMs: 10 }], [2, 3, 4]);
    const changes = [
      { atNs: 2_000 * MS, pool: 0, devices: 5 },
      { atNs: 5_000 * MS, pool: 0, devices: 1 },
      { atNs: 6_000 * MS, pool: 0, devices: 3 },
    ];
    const delayNs = 250 * MS;
    const times = arrivalTimes({ process: 'poisson', rps: 250, durationS: 10, stream: streamOf(1, 'times') });
    const ends: number[] = [];
    const { usedNs } = simulate({
      ...fifo(topology, { kind: 'schedule', changes }),
      arrivals: arrivalsAt(times),
      execution: exponential(),
      activationDelayNs: delayNs,
      observers: [{ ended: (at) => ends.push(at) }],
    });

    const services = streamOf(1, 'services');
    // Each server is in service from one time until another; a server that ends late ends its last request.
    const spans = [
      [0, Number.POSITIVE_INFINITY],
      [0, 5e9],
      [2e9 + delayNs, 5e9],
      [2e9 + delayNs, 5e9],
      [2e9 + delayNs, 5e9],
      [6e9 + delayNs, Number.POSITIVE_INFINITY],
      [6e9 + delayNs, Number.POSITIVE_INFINITY],
    ].map(([from, until]) => ({ free: from!, until: until! }));
    const expected = Array.from(times, (at) => {
      const startOf = ({ free, until }: (typeof spans)[number]) =>
        Math.max(free, at) < until ? Math.max(free, at) : Number.POSITIVE_INFINITY;
      const first = spans.reduce((a, b) => (startOf(b) < startOf(a) ? b : a));
      first.free = startOf(first) + Math.round(10 * MS * services.exponential());
      return first.free;
    });
    expect(ends).toEqual(expected.sort((a, b) => a - b));
    expect(usedNs[0]).toBe(Math.max(...ends));
    // Devices 3 and 4 are in use from their activation until the last batch that they had begun is over.
    for (const device of [3, 4]) {
      expect(usedNs[device]).toBeGreaterThanOrEqual(3e9);
      expect(usedNs[device]).toBeLessThan(3.2e9);
    }
  });
});
