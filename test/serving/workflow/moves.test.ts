import { describe, expect, it } from 'vitest';
import { streamOf, streamsOf } from '../../../src/random/index.js';
import {
  Decisions,
  DynamicCore,
  ROUND_ROBIN_POLICY,
  type WorkflowPolicy,
} from '../../../src/serving/index.js';
import { Agenda } from '../../../src/serving/workflow/agenda.js';
import { DevicesUp } from '../../../src/serving/workflow/devices-up.js';
import { Moves } from '../../../src/serving/workflow/moves.js';
import { OpenWork } from '../../../src/serving/workflow/open-work.js';
import { Outlook } from '../../../src/serving/workflow/outlook.js';
import { PlannedWork } from '../../../src/serving/workflow/planned-work.js';
import { Queues } from '../../../src/serving/workflow/queues.js';
import { Residency } from '../../../src/serving/workflow/residency.js';
import { Placeable } from '../../../src/serving/workflow/table.js';
import { TaskEnds } from '../../../src/serving/workflow/task-ends.js';
import type { Task } from '../../../src/serving/workflow/work.js';
import { type RecordedRun, WorkflowDriver, type WorkflowSummary } from '../../../src/simulator/index.js';
import { cases, inWholeRun } from '../../cases.js';
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
    topology,
    table,
    decisions,
    core,
    arrivals,
    runOf: (order: number) => runs[order]!,
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
    applications: 1,
    hostBytes: 1000,
    linkBytesPerNs,
    networkBytesPerNs: 1000,
    sloNs: 1e6,
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

  it('offers what waits for a busy device to one that has been idle for long', () => {
    // Round robin gives the device that holds all of it the first and the third request, and the second nothing that takes long.
    const later = [runOf(SHORT), runOf(SHORT), runOf(LONG), runOf(SHORT), runOf(LONG), runOf(SHORT)];
    // They come every 20: the first device executes from 60 to 160, and would begin the fifth request then.
    const served20 = (policy: WorkflowPolicy) => served(twoDevices(1), later, policy, () => 20);
    expect(Math.max(...served20(ROUND_ROBIN_POLICY).tookNs)).toBe(160 + 100 - 100);
    expect(Math.max(...served20(MOVING).tookNs)).toBe(100);
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
      ...rest,
      networkBytesPerNs: 1,
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

  inWholeRun(
    'lets requests end sooner in the mean, where devices are chosen in turn and hold all that they execute',
    () => {
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
    },
  );
});

describe('Moves', () => {
  /** Two devices, of which the first holds a component of 100 with batches of one, and the second takes 50 to load it. */
  const SHAPE: Shape = { ...twoDevices(1), holds: [[LONG], []] };

  function parts() {
    const { topology, table } = workflowTopology(SHAPE);
    const placeable = new Placeable(topology, table);
    const residency = new Residency(table, placeable);
    const work = new PlannedWork(topology, placeable);
    const devices = new DevicesUp({ topology, table, placeable, residency, work });
    devices.set(0, true);
    devices.set(1, true);
    const queues = new Queues(2, { components: 3, work, residency });
    const moved: Task[] = [];
    const moves = new Moves({
      rule: { kind: 'to-idle' },
      agenda: new Agenda(),
      devices,
      queues,
      work,
      residency,
      ends: new TaskEnds({
        outlook: new Outlook(work, residency, placeable),
        devices,
        costs: { ofNs: () => 0 },
      }),
      enqueue: (_at, task) => moved.push(task),
    });
    const open = new OpenWork();
    const waiting = () => {
      const request = open.open(0, 1e9);
      request.body.places.push({ device: 0, fetch: -1, sends: 0 });
      const task = open.called(request, { component: LONG, rows: 1, inputs: [request.body.number] });
      task.device = 0;
      queues.push(task);
      work.add(0, { component: LONG, rows: 1, fromNs: 0 });
      return task;
    };
    return { moves, work, moved, waiting };
  }

  it.each(['toIdle', 'fromBusy'] as const)(
    'moves the second of two tasks, which waits for the first: %s',
    (how) => {
      const { moves, work, moved, waiting } = parts();
      const [, second] = [waiting(), waiting()];
      // The first would end at 100 where it is, and at 150 elsewhere; the second at 200.
      if (how === 'toIdle') moves.toIdle(0, 1);
      else {
        moves.has(1, true);
        moves.fromBusy(0, 0);
      }
      expect(moved).toEqual([second]);
      expect(second.device).toBe(1);
      // The work of the device is what is left.
      expect(work.planned(0)).toEqual([{ component: LONG, rows: 1, fromNs: 0 }]);
    },
  );

  it('offers nothing to a device that has something to do', () => {
    const { moves, moved, waiting } = parts();
    waiting();
    waiting();
    moves.has(1, true);
    moves.has(1, false);
    moves.fromBusy(0, 0);
    expect(moved).toEqual([]);
  });
});
