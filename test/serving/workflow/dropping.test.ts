import { describe, expect, it } from 'vitest';
import { type Stream, streamOf, streamsOf } from '../../../src/random/index.js';
import {
  Decisions,
  DYORC_POLICY,
  DynamicCore,
  type FrequencyRow,
  type WorkflowPolicy,
} from '../../../src/serving/index.js';
import { RecentWaits } from '../../../src/serving/workflow/recent-waits.js';
import type { Task } from '../../../src/serving/workflow/work.js';
import { type RecordedRun, WorkflowDriver, type WorkflowSummary } from '../../../src/simulator/index.js';
import { cases, describeInWholeRun, inWholeRun, whole } from '../../cases.js';
import { batchTimes, randomShape, type Shape, workflowTopology } from './workflows.js';

const NEVER = Number.POSITIVE_INFINITY;
const AHEAD: WorkflowPolicy = {
  ...DYORC_POLICY,
  dropping: { kind: 'end-to-end', quantile: 0.5, draws: 32 },
};

interface Served {
  readonly shape: Shape;
  readonly runs: readonly RecordedRun[];
  readonly gapNs: () => number;
  readonly policy: WorkflowPolicy;
  readonly frequencies?: readonly FrequencyRow[];
}

interface Result {
  readonly summary: WorkflowSummary;
  readonly core: DynamicCore;
  readonly tookNs: readonly number[];
  readonly batches: number;
}

function served({ shape, runs, gapNs, policy, frequencies = [] }: Served): Result {
  const { topology, table } = workflowTopology(shape);
  const decisions = new Decisions();
  const core = new DynamicCore(topology, decisions, {
    table,
    policy,
    frequencies,
    streams: streamsOf(5, 'core'),
  });
  let [came, at] = [0, 0];
  const arrivals = {
    next: () => {
      if (came === runs.length) return false;
      came += 1;
      at += gapNs();
      return true;
    },
    get atNs() {
      return at;
    },
    model: 0,
  };
  const tookNs: number[] = [];
  let batches = 0;
  const summary = new WorkflowDriver({
    topology,
    table,
    decisions,
    core,
    arrivals,
    runOf: (order: number) => runs[order]!,
    observers: [
      {
        ended: (atNs, _model, _request, arrivedAtNs) => tookNs.push(atNs - arrivedAtNs),
        started: () => {
          batches += 1;
        },
      },
    ],
  }).run();
  return { summary, core, tookNs, batches };
}

/**
 * randomChain draws a program that calls components once each, one after the other, each of which takes the output of
 * the one before. Where it has more than two calls its outputs have no bytes: nobody knows beforehand which of them it
 * reads between the calls that are expected.
 */
function randomChain(stream: Stream, { components }: Shape): RecordedRun {
  const order = components.map((_, c) => c);
  for (let i = order.length - 1; i > 0; i--) {
    const other = stream.integer(i + 1);
    [order[i], order[other]] = [order[other]!, order[i]!];
  }
  if (stream.uniform() < 0.5) order.length = Math.min(order.length, 2);
  const calls = order.map((component, call) => ({
    component,
    rows: 1,
    thinkNs: 0,
    outputBytes: order.length > 2 ? 0 : stream.integer(60),
    inputs:
      call === 0
        ? [-1]
        : order.flatMap((_, i) => (i === call - 1 || (i < call && stream.uniform() < 0.5) ? [i] : [])),
    after: call === 0 ? [] : [call - 1],
  }));
  return { requestBytes: stream.integer(60), calls };
}

/** chainShape draws a cluster on which each device holds all that it can execute, so that nothing is loaded. */
function chainShape(stream: Stream, sloNs: number): Shape {
  const shape = randomShape(stream);
  return {
    ...shape,
    applications: 1,
    sloNs,
    devices: shape.devices.map((device) => ({ ...device, bytes: 10_000 })),
    holds: shape.devices.map(({ class: own }) =>
      shape.components.flatMap(({ latencyNs }, c) => (latencyNs[own] === undefined ? [] : [c])),
    ),
  };
}

describe('giving up what is expected to end late', () => {
  it('lets a lone request begin that would end at its deadline, and gives it up before its first batch where it would end later', () => {
    const count = cases(whole(20, 60), 400);
    for (let seed = 0; seed < count; seed++) {
      const shapeWith = (sloNs: number) => chainShape(streamOf(seed, 'shape'), sloNs);
      const run = randomChain(streamOf(seed, 'run'), shapeWith(NEVER));
      const trained = served({
        shape: shapeWith(NEVER),
        runs: [run, run, run],
        gapNs: () => 1e6,
        policy: AHEAD,
      });
      const { frequencies } = trained.core;
      const alone = (sloNs: number) =>
        served({ shape: shapeWith(sloNs), runs: [run], gapNs: () => 0, policy: AHEAD, frequencies });
      const [tookNs] = alone(NEVER).tookNs as [number];
      const [inTime, late] = [alone(tookNs), alone(tookNs - 1)];
      expect({ seed, inTime: inTime.summary.inTime }).toEqual({ seed, inTime: 1 });
      expect({ seed, dropped: late.summary.dropped, batches: late.batches }).toEqual({
        seed,
        dropped: 1,
        batches: 0,
      });
    }
  });

  it('never gives up a request without a deadline, however long it waits', () => {
    const shape = chainShape(streamOf(1, 'shape'), NEVER);
    const run = randomChain(streamOf(1, 'run'), shape);
    const runs = Array.from({ length: 60 }, () => run);
    for (const kind of ['expired', 'end-to-end'] as const) {
      const dropping = kind === 'expired' ? { kind } : { kind, quantile: 1, draws: 8 };
      const { summary } = served({ shape, runs, gapNs: () => 1, policy: { ...DYORC_POLICY, dropping } });
      expect(summary.inTime).toBe(60);
    }
  });

  inWholeRun(
    'answers more requests in time, under more load than devices can bear, than giving up what is late, and that more than giving up nothing',
    () => {
      const inTime = { never: 0, expired: 0, 'end-to-end': 0 };
      for (let seed = 0; seed < cases(whole(2, 6), 60); seed++) {
        const stream = streamOf(seed, 'overload');
        const latencyNs = Array.from({ length: 3 }, () => batchTimes(stream, 4));
        const rowNs = latencyNs.reduce((sum, times) => sum + times[3]! / 4, 0);
        const aloneNs = latencyNs.reduce((sum, times) => sum + times[0]!, 0);
        const devices = Array.from({ length: 3 }, () => ({ class: 0, server: 0, bytes: 10_000 }));
        const shape: Shape = {
          applications: 1,
          devices,
          hostBytes: 1000,
          linkBytesPerNs: 20,
          networkBytesPerNs: 10,
          sloNs: 4 * aloneNs,
          holds: devices.map(() => [0, 1, 2]),
          components: latencyNs.map((times) => ({ bytes: 10, loadNs: 1, latencyNs: [times] })),
        };
        const calls = latencyNs.map((_, call) => ({
          component: call,
          rows: 1,
          inputs: [call - 1],
          thinkNs: 0,
          outputBytes: 1,
          after: call === 0 ? [] : [call - 1],
        }));
        const runs = Array.from({ length: 200 }, () => ({ requestBytes: 1, calls }));
        const load = 1.2 + 0.3 * stream.uniform();
        for (const kind of ['never', 'expired', 'end-to-end'] as const) {
          const gaps = streamOf(seed, 'gaps');
          const gapNs = () => Math.round((gaps.exponential() * rowNs) / (load * devices.length));
          const policy = kind === 'end-to-end' ? AHEAD : { ...DYORC_POLICY, dropping: { kind } };
          inTime[kind] += served({ shape, runs, gapNs, policy }).summary.inTime;
        }
      }
      expect(inTime.expired).toBeGreaterThan(inTime.never);
      expect(inTime['end-to-end']).toBeGreaterThan(1.05 * inTime.expired);
    },
  );
});

/**
 * Two devices that hold two components, of which the first takes 100 alone and 250 in a batch of four, and the second
 * 50 and 80.
 */
const TWO: Shape = {
  components: [
    [100, 150, 200, 250],
    [50, 60, 70, 80],
  ].map((times) => ({ bytes: 10, loadNs: 1, latencyNs: [times] })),
  devices: [0, 1].map((server) => ({ class: 0, server, bytes: 1000 })),
  applications: 1,
  hostBytes: 1000,
  linkBytesPerNs: 100,
  networkBytesPerNs: 100,
  sloNs: 1000,
  holds: [
    [0, 1],
    [0, 1],
  ],
};

/** A call of the first component, which is read or not, and so many of the second, one after the other. */
function followedBy(count: number, isRead: boolean): RecordedRun {
  const seconds = Array.from({ length: count }, (_, i) => ({
    component: 1,
    rows: 1,
    inputs: [i],
    thinkNs: 0,
    outputBytes: 1,
    after: isRead ? [i] : [],
  }));
  const first = { component: 0, rows: 1, inputs: [-1], thinkNs: 0, outputBytes: 1, after: [] };
  return { requestBytes: 1, calls: [first, ...seconds] };
}

describeInWholeRun('what may become of a request', () => {
  it.each([
    ['known from the start', false],
    ['called once the answer is there', true],
  ])('is counted so that overload costs few of the requests in time, where calls are %s', (_, isRead) => {
    const inTime = (load: number) => {
      const gaps = streamOf(1, 'gaps');
      // Batches of four give a request each 41 ns on two devices.
      const gapNs = () => Math.round((gaps.exponential() * 41.25) / load);
      const runs = Array.from({ length: 600 * load }, () => followedBy(1, isRead));
      return served({ shape: TWO, runs, gapNs, policy: AHEAD }).summary.inTime;
    };
    const at = inTime(1);
    for (const load of [2, 3, 6]) expect(inTime(load)).toBeGreaterThan(0.6 * at);
  });

  it('is counted by its chances: on devices with time nobody is given up who would be in time', () => {
    const stream = streamOf(1, 'runs');
    const runs = Array.from({ length: 400 }, () => followedBy(stream.uniform() < 0.5 ? 0 : 9, true));
    const of = (dropping: WorkflowPolicy['dropping'], frequencies: readonly FrequencyRow[] = []) =>
      served({
        shape: { ...TWO, sloNs: 300 },
        runs,
        gapNs: () => 2000,
        frequencies,
        policy: { ...DYORC_POLICY, dropping },
      });
    const never = of({ kind: 'never' });
    const ahead = of({ kind: 'end-to-end', quantile: 0.1, draws: 32 }, never.core.frequencies);
    expect(never.summary.inTime).toBe(runs.filter(({ calls }) => calls.length === 1).length);
    expect(ahead.summary.inTime).toBe(never.summary.inTime);
    // Those that go on are given up once that is known.
    expect(ahead.summary.dropped).toBe(runs.length - never.summary.inTime);
  });
});

describe('RecentWaits', () => {
  const begun = (component: number, thereNs: number) => ({ device: 0, component, thereNs }) as Task;

  it('draws from the last waits of a component, from when the task and its component were there', () => {
    const waits = new RecentWaits(2, { devices: 1, draws: 100, stream: streamOf(1, 'waits') });
    expect(new Set(waits.drawsOf(100, 0))).toEqual(new Set([0]));
    waits.loaded(50, 0, 0);
    for (const thereNs of [20, 60]) waits.over(100, begun(0, thereNs));
    waits.over(100, begun(1, 20));
    expect(new Set(waits.drawsOf(100, 0))).toEqual(new Set([50, 40]));
    expect(new Set(waits.drawsOf(100, 1))).toEqual(new Set([80]));
    for (let i = 0; i < 128; i++) waits.over(100, begun(0, 93));
    expect(new Set(waits.drawsOf(100, 0))).toEqual(new Set([7]));
  });

  it('forgets waits after five seconds, so that a stage which nothing reaches any more is tried again', () => {
    const waits = new RecentWaits(1, { devices: 1, draws: 100, stream: streamOf(1, 'waits') });
    waits.over(1e9, begun(0, 0));
    waits.over(3e9, begun(0, 1e9));
    expect(new Set(waits.drawsOf(6e9, 0))).toEqual(new Set([1e9, 2e9]));
    expect(new Set(waits.drawsOf(7.5e9, 0))).toEqual(new Set([2e9]));
    expect(new Set(waits.drawsOf(8.6e9, 0))).toEqual(new Set([0]));
  });
});
