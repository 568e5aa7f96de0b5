import { describe, expect, it } from 'vitest';
import { NONE } from '../../../src/collections/index.js';
import {
  busyUntilTables,
  type Decisions,
  FIFO_POLICY,
  ReservationCore,
  StageLocalCore,
  type Topology,
} from '../../../src/serving/index.js';
import { chainOf, MS, stage } from '../by-hand.js';
import { cancels, comes, down, drains, due, ends, fails, isThere, starts, Told, up } from '../told.js';

interface Bounds {
  mostTasks?: number;
  mostTries?: number;
}
type MakeCore = (
  topology: Topology,
  bounds?: Bounds,
) => (decisions: Decisions) => StageLocalCore | ReservationCore;

/** Cores that form batches of the tasks that wait as soon as all devices are idle. */
const CORES: Record<string, MakeCore> = {
  'stage-local': (topology, bounds) => (decisions) =>
    new StageLocalCore(topology, decisions, { ...FIFO_POLICY, drop: { kind: 'hopeless' }, ...bounds }),
  reservation: (topology, bounds) => (decisions) =>
    new ReservationCore(topology, decisions, { correction: { kind: 'none' }, ...bounds }),
  'published reservation': (topology, bounds) => (decisions) =>
    new ReservationCore(topology, decisions, {
      tables: 'busy-until',
      makeTables: busyUntilTables,
      correction: { kind: 'none' },
      ...bounds,
    }),
};

/** The decisions other than wakeAt. */
const but = (said: string[]) => said.filter((words) => !words.startsWith('wake'));

const single = chainOf(100, stage([10]));
const twoStages = chainOf(100, stage([10, 14]), stage([6, 8]));

describe.each(Object.entries(CORES))('a request under the %s core', (name, make) => {
  const told = (topology: Topology, bounds: Bounds = {}) => new Told(make(topology, bounds));
  // A request that takes 10 ms and has until 30 ms is given up at this time when no device is up: at the last moment,
  // or a nanosecond later.
  const lastMs = name === 'stage-local' ? 20 + 1e-6 : 20;

  it('is answered in time at its deadline, and late a nanosecond after it', () => {
    for (const [exact, answer] of [
      [0, 'inTime'],
      [-1, 'late'],
    ] as const) {
      const one = told(single);
      expect(but(one.at(0, up(0), comes(12)))).toEqual(['run 0 on 0: 0']);
      // The execution takes 2 ms longer than planned.
      expect(one.at(12 - exact * 1e-6, starts(0), ends(0, 12))).toEqual([`answer 0 ${answer}`]);
    }
  });

  it('is dropped at the entry when it would bring too many tasks in flight', () => {
    const one = told(single, { mostTasks: 3 });
    const said = one.at(0, up(0), comes(99, { rows: 2 }), comes(99, { rows: 2 }), comes(99), comes(99));
    expect(but(said).slice(0, 2)).toEqual(['drop 1 queue-full at -1', 'drop 2 queue-full at -1']);
    expect(one.core.inUse).toMatchObject({ requests: 1, tasks: 2 });
    // The third task is let in, the fourth is not.
    const drops = one.at(1, comes(99), comes(99)).filter((words) => words.startsWith('drop'));
    expect(drops).toEqual([expect.stringMatching(/^drop . queue-full at -1$/)]);
    expect(one.core.pending).toBe(2);
  });

  it('is refused as draining once the server drains, even if the queue is full too', () => {
    const one = told(single, { mostTasks: 1 });
    one.at(0, up(0), comes(99));
    expect(but(one.at(1, drains, comes(99)))).toEqual(['drop 1 draining at -1']);
  });

  it('is dropped as overload when it was turned away', () => {
    const one = told(single);
    one.core.turnedAway(4 * MS, 0);
    expect(one.core.inUse).toMatchObject({ requests: 1, tasks: 1 });
    expect(one.at(4)).toEqual(['drop 0 overload at -1']);
    expect(one.at(5, up(0), (core, ns) => core.turnedAway(ns, 0))).toEqual(['drop 0 overload at -1']);
    expect([one.core.pending, one.core.inUse.tasks]).toEqual([0, 0]);
  });

  it('must have rows and a model', () => {
    const { core } = told(single);
    expect(() => core.arrived(0, 0, 1, 0)).toThrow('no rows or no model');
    expect(() => core.arrived(0, 1, 1, 1)).toThrow('no rows or no model');
    expect(core.pending).toBe(0);
  });

  it('must have a weight above 0 that is finite', () => {
    const { core } = told(single);
    for (const weight of [0, -1, Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => core.arrived(0, 0, 1, 1, weight)).toThrow('weight of a request is not above 0 and finite');
  });

  it('has one task per row, and is answered when all of them have ended', () => {
    const one = told(chainOf(100, stage([10], { virtualGpus: 3 })));
    const said = but(one.at(0, up(0, 1, 2), comes(99, { rows: 3 })));
    const tasks = [0, 1, 2].map((row) => one.core.taskOf(0, row));
    expect([...tasks].sort()).toEqual([0, 1, 2]);
    expect(said.map((words) => words.replace(/.*: /, ''))).toEqual(tasks.map(String));
    expect(one.at(10, starts(0), ends(0, 10))).toEqual([]);
    expect(one.at(11, starts(2), ends(2, 10))).toEqual([]);
    expect(one.core.pending).toBe(1);
    expect(one.at(12, starts(1), ends(1, 10))).toEqual(['answer 0 inTime']);
    expect(one.core.inUse).toMatchObject({ requests: 0, tasks: 0, batches: 0 });
  });

  it('counts as pending until it has its outcome, and keeps its numbers until its batch is back', () => {
    const one = told(single);
    one.at(0, up(0), comes(99));
    expect(one.core.pending).toBe(1);
    expect(one.core.cancelled(1 * MS, 0)).toBe(true);
    expect(one.core.cancelled(1 * MS, 0)).toBe(false);
    one.at(1);
    expect(one.core.pending).toBe(0);
    expect(one.core.inUse).toMatchObject({ requests: 1, tasks: 1, batches: 1 });
    // The answer is no longer wanted.
    expect(one.at(10, starts(0), ends(0, 10))).toEqual([]);
    expect(one.core.inUse).toMatchObject({ requests: 0, tasks: 0, batches: 0 });
    expect(but(one.at(10, comes(99)))).toEqual(['run 0 on 0: 0']);
  });

  it('leaves its queue when it is cancelled', () => {
    const one = told(chainOf(100, stage([10], { virtualGpus: 3 })));
    one.at(0, comes(70), comes(80), comes(90));
    one.at(1, cancels(1));
    expect([one.core.pending, one.core.inUse.requests, one.core.inUse.tasks]).toEqual([2, 2, 2]);
    expect(but(one.at(2, up(0, 1, 2))).map((words) => words.replace(/.*: /, ''))).toEqual(['0', '2']);
    // Its number now belongs to another request.
    expect(but(one.at(3, comes(99)))).toEqual([expect.stringMatching(/: 1$/)]);
  });

  it('continues in its batch, in order, when others of the batch are cancelled', () => {
    const one = told(chainOf(100, stage([10, 11, 12]), stage([6, 7, 8])));
    expect(but(one.at(0, up(0, 1), comes(97), comes(98), comes(99)))).toEqual(['run 0 on 0: 0 1 2']);
    one.at(1, starts(0), cancels(1));
    const [moved] = but(one.at(12, ends(0, 12)));
    if (name === 'stage-local') expect(moved).toBe(`move 0 from 0 to ${NONE}: 0 2`);
    expect(but(one.at(12, isThere(0)))).toEqual(['run 0 on 1: 0 2']);
    expect(one.at(19, starts(0), ends(0, 7))).toEqual(['answer 0 inTime', 'answer 2 inTime']);
    expect(one.core.inUse).toMatchObject({ requests: 0, tasks: 0, batches: 0 });
  });

  it('lets its batch end when all tasks in it were cancelled', () => {
    const one = told(twoStages);
    one.at(0, up(0, 1), comes(98), comes(99));
    one.at(1, starts(0), cancels(0), cancels(1));
    const said = but(one.at(14, ends(0, 14)));
    // A batch with a reservation is sent on all the same, and ends there.
    if (name === 'stage-local') expect(said).toEqual([]);
    else expect(but(one.at(14, isThere(0)))).toEqual([]);
    expect(one.core.inUse).toMatchObject({ requests: 0, tasks: 0, batches: 0 });
  });

  it('is tried again alone when its batch has failed, and fails when that fails too', () => {
    const one = told(chainOf(100, stage([10, 14], { virtualGpus: 2 })));
    expect(but(one.at(0, up(0, 1), comes(98), comes(99)))).toEqual(['run 0 on 0: 0 1']);
    const again = but(one.at(5, starts(0), fails(0))).sort((a, b) => (a.slice(-1) < b.slice(-1) ? -1 : 1));
    expect(again.map((words) => words.replace(/.*: /, ''))).toEqual(['0', '1']);
    const [first, second] = again.map((words) => Number(/run (\d+)/.exec(words)?.[1]));
    expect(but(one.at(6, starts(first!), fails(first!)))).toEqual(['answer 0 failed']);
    expect(but(one.at(16, starts(second!), ends(second!, 10)))).toEqual(['answer 1 inTime']);
    expect(one.core.inUse).toMatchObject({ requests: 0, tasks: 0, batches: 0 });
  });

  it('is not tried again when it was cancelled', () => {
    const one = told(chainOf(100, stage([10, 14], { virtualGpus: 2 })));
    one.at(0, up(0, 1), comes(98), comes(99));
    one.at(1, starts(0), cancels(0));
    expect(but(one.at(5, fails(0))).map((words) => words.replace(/.*: /, ''))).toEqual(['1']);
    expect(one.core.inUse).toMatchObject({ requests: 1, tasks: 1 });
  });

  it('fails at once when it was alone in a batch that has failed', () => {
    const one = told(single, { mostTries: 9 });
    one.at(0, up(0), comes(99));
    expect(but(one.at(1, starts(0), fails(0)))).toEqual(['answer 0 failed']);
    expect(one.core.inUse).toMatchObject({ requests: 0, tasks: 0, batches: 0 });
  });

  it('is tried again on another device while its deadline allows', () => {
    const one = told(chainOf(100, stage([10], { virtualGpus: 2 })));
    expect(but(one.at(0, up(0, 1), comes(30)))).toEqual(['run 0 on 0: 0']);
    expect(but(one.at(5, starts(0), down(0)))).toEqual(['run 0 on 1: 0']);
    expect(but(one.at(15, starts(0), ends(0, 10)))).toEqual(['answer 0 inTime']);
  });

  it('may lose as many devices as mostTries says, and is dropped with the last', () => {
    for (const mostTries of [1, 2, 3]) {
      const one = told(single, { mostTries });
      one.at(0, up(0), comes(99));
      for (let tries = 1; tries < mostTries; tries++) {
        expect(but(one.at(tries, starts(0), down(0)))).toEqual([]);
        expect(but(one.at(tries, up(0)))).toEqual(['run 0 on 0: 0']);
      }
      expect(but(one.at(5, starts(0), down(0)))).toEqual([expect.stringMatching(/^drop 0 device-down at/)]);
    }
  });

  it('is dropped as device-down, and not for its deadline, when it lost a device before', () => {
    const one = told(single);
    one.at(0, up(0), comes(30));
    one.at(1, starts(0), down(0));
    expect(but(one.at(20 - 1e-6, due))).toEqual([]);
    expect(but(one.at(21, up(0), due))).toEqual([expect.stringMatching(/^drop 0 device-down at/)]);
    expect(one.core.inUse).toMatchObject({ requests: 0, tasks: 0, batches: 0 });
  });

  it('is answered as failed, and not dropped, when an execution of it failed and its time runs out', () => {
    const one = told(chainOf(100, stage([10, 14])));
    one.at(0, up(0), comes(30), comes(30));
    expect(but(one.at(9, starts(0), fails(0), down(0)))).toEqual([]);
    expect(but(one.at(21, due)).sort()).toEqual(['answer 0 failed', 'answer 1 failed']);
    expect(one.core.inUse).toMatchObject({ requests: 0, tasks: 0, batches: 0 });
  });

  it('is dropped as device-down when no device is up, and for its deadline when one is', () => {
    const one = told(single);
    expect(one.at(0, comes(30))).toEqual([`wake ${lastMs}`]);
    expect(one.at(21, due)).toEqual([expect.stringMatching(/^drop 0 device-down at/)]);
    expect(one.at(22, up(0), comes(31))).toEqual([expect.stringMatching(/^drop 0 deadline at/)]);
  });

  it('takes all its waiting tasks with it when it ends', () => {
    const one = told(single, { mostTries: 1 });
    one.at(0, up(0), comes(99, { rows: 3 }), comes(99));
    expect(one.core.inUse).toMatchObject({ requests: 2, tasks: 4 });
    const said = but(one.at(5, starts(0), fails(0)));
    expect(said.filter((words) => words.startsWith('answer'))).toEqual(['answer 0 failed']);
    expect(one.core.pending).toBe(1);
  });

  it('asks to be woken once for a time, and again after it was woken', () => {
    const one = told(single);
    expect(one.at(0, comes(30))).toEqual([`wake ${lastMs}`]);
    expect(one.at(1, comes(40))).toEqual([]);
    expect(one.at(2, due)).toEqual([`wake ${lastMs}`]);
    const other = told(single);
    other.at(0, comes(30));
    // Nothing is left to wait for, but the core does not take its wakeAt back.
    expect(other.at(1, up(0))).toEqual(['run 0 on 0: 0']);
    expect(one.at(lastMs, due)).toEqual([
      expect.stringMatching(/^drop 0 device-down/),
      `wake ${lastMs + 10}`,
    ]);
  });

  it("can be found in its batch, with the batch's pool and device", () => {
    const one = told(twoStages);
    one.at(0, up(0, 1), comes(98), comes(99));
    const { core } = one;
    expect([core.batchSize(0), core.batchTask(0, 0), core.batchTask(0, 1)]).toEqual([2, 0, 1]);
    expect([core.batchPool(0), core.batchDevice(0)]).toEqual([0, 0]);
    one.at(14, starts(0), ends(0, 14));
    one.at(14, isThere(0));
    expect([core.batchPool(0), core.batchDevice(0)]).toEqual([1, 1]);
  });
});

describe.each(Object.entries(CORES).slice(1))('a request under the %s core', (_, make) => {
  it('is dropped all the same when its batch only waited on a lost device', () => {
    const one = new Told(make(single));
    one.at(0, up(0), comes(40), comes(40));
    one.at(1, starts(0), down(0));
    expect(but(one.at(30, due))).toEqual(['drop 0 device-down at -1', 'drop 1 device-down at -1']);
  });
});
