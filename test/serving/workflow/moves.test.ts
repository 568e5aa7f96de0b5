import { describe, expect, it } from 'vitest';
import { streamOf, streamsOf } from '../../../src/random/index.js';
import {
  Decisions,
  DynamicCore,
  ROUND_ROBIN_POLICY,
  type WorkflowPolicy,
} from '../../../src/serving/index.js';
import { type RecordedRun, WorkflowDriver, type WorkflowSummary } from '../../../src/simulator/index.js';
import { cases } from '../../cases.js';
import { randomRun, randomShape, type Shape, workflowTopology } from './workflows.js';

const MOVING: WorkflowPolicy = { ...ROUND_ROBIN_POLICY, moving: { kind: 'to-idle' } };

interface Served {
  readonly summary: WorkflowSummary;
  /** By the order in which requests ended. */
  readonly tookNs: readonly number[];
}

function served(
  shape: Shape,
  runs: readonly RecordedRun[],
  policy: WorkflowPolicy,
  gapNs: () => number = () => 1,
): Served {
  const { topology, table } = workflowTopology(shape);
  const decisions = new Decisions();
  const core = new DynamicCore(topology, decisions, { table, policy, streams: streamsOf(3, 'core') });
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
  const summary = new WorkflowDriver({
    ...{ topology, table, decisions, core, arrivals, runOf: (order: number) => runs[order]! },
    observers: [{ ended: (atNs, _model, _request, arrivedAtNs) => tookNs.push(atNs - arrivedAtNs) }],
  }).run();
  return { summary, tookNs };
}

const LONG = 0;
const SHORT = 1;
const OTHER = 2;

/** A server of two devices that hold a long component, one that is short, and one that takes 50 to load. */
function twoDevices(linkBytesPerNs: number): Shape {
  return {
    components: [
      { bytes: 10, loadNs: 1, latencyNs: [[100]] },
      { bytes: 10, loadNs: 1, latencyNs: [[10]] },
      { bytes: 10, loadNs: 50, latencyNs: [[100]] },
    ],
    devices: [0, 1].map(() => ({ class: 0, server: 0, bytes: 10_000 })),
    ...{ applications: 1, hostBytes: 1000, linkBytesPerNs, networkBytesPerNs: 1000, sloNs: 1e6 },
    holds: [
      [LONG, SHORT, OTHER],
      [LONG, SHORT],
    ],
  };
}

function runOf(component: number): RecordedRun {
  return {
    requestBytes: 0,
    calls: [{ component, rows: 1, inputs: [-1], after: [], thinkNs: 0, outputBytes: 0 }],
  };
}

describe('moving tasks to idle devices', () => {
  // They come at 1, 2 and 3: the first and the third get one device, the second the other, which is idle from 12 on.
  const three = (last: number) => [runOf(LONG), runOf(SHORT), runOf(last)];

  it('lets an idle device execute what would wait on another', () => {
    expect(served(twoDevices(1), three(LONG), ROUND_ROBIN_POLICY).tookNs).toEqual([10, 100, 198]);
    expect(served(twoDevices(1), three(LONG), MOVING).tookNs).toEqual([10, 100, 109]);
  });

  it('counts what is to be loaded, and leaves a task where it is if it would not end sooner elsewhere', () => {
    expect(served(twoDevices(1), three(OTHER), MOVING).tookNs).toEqual([10, 100, 12 + 50 + 100 - 3]);
    const shape = twoDevices(1);
    const slow = shape.components.map((one, c) => (c === OTHER ? { ...one, loadNs: 89 } : one));
    expect(served({ ...shape, components: slow }, three(OTHER), MOVING).tookNs).toEqual([10, 100, 198]);
  });

  it('counts what is to be fetched', () => {
    // The first device would begin the third request at 21, and the second at 12, once it has fetched what its client sent.
    const { components, ...rest } = twoDevices(1);
    const shape = {
      ...{ ...rest, networkBytesPerNs: 1 },
      components: components.map((one, c) => (c === OTHER ? { ...one, latencyNs: [[20]] } : one)),
    };
    const sent = (requestBytes: number) => {
      const runs = [runOf(OTHER), runOf(SHORT), { ...runOf(LONG), requestBytes }];
      return served(shape, runs, MOVING);
    };
    const [moved, still] = [sent(8), sent(9)];
    expect(moved.tookNs.at(-1)).toBe(12 + 8 + 100 - 3);
    expect(still.tookNs.at(-1)).toBe(21 + 100 - 3);
    expect(moved.summary.fetches).toBe(still.summary.fetches + 1);
  });

  it('lets requests end sooner in the mean, where devices are chosen in turn and hold all that they execute', () => {
    let [still, moving] = [0, 0];
    for (let seed = 0; seed < cases(20, 200); seed++) {
      const stream = streamOf(seed, 'shape');
      const drawn = { ...randomShape(stream), applications: 1 };
      const shape = {
        ...drawn,
        devices: drawn.devices.map((device) => ({ ...device, bytes: 10_000 })),
        holds: drawn.devices.map(({ class: own }) =>
          drawn.components.flatMap(({ latencyNs }, c) => (latencyNs[own] === undefined ? [] : [c])),
        ),
      };
      const runs = Array.from({ length: 40 }, () => randomRun(stream, shape));
      const mean = (policy: WorkflowPolicy) => {
        const gaps = streamOf(seed, 'gaps');
        const { tookNs, summary } = served(shape, runs, policy, () => gaps.integer(50));
        expect(summary.inTime + summary.late).toBe(40);
        return tookNs.reduce((sum, ns) => sum + ns, 0) / 40;
      };
      still += mean(ROUND_ROBIN_POLICY);
      moving += mean(MOVING);
    }
    expect(moving).toBeLessThan(still);
  });
});
