import { describe, expect, it } from 'vitest';
import { streamOf } from '../../../src/random/index.js';
import { ExpectedEnd } from '../../../src/serving/workflow/expected-end.js';
import type { Futures } from '../../../src/serving/workflow/futures.js';
import { OpenWork } from '../../../src/serving/workflow/open-work.js';
import { PlannedWork } from '../../../src/serving/workflow/planned-work.js';
import { RecentWaits } from '../../../src/serving/workflow/recent-waits.js';
import { Residency } from '../../../src/serving/workflow/residency.js';
import { Placeable, passTimes } from '../../../src/serving/workflow/table.js';
import type { OpenRequest, Reserved, Task } from '../../../src/serving/workflow/work.js';
import { type Shape, workflowTopology } from './workflows.js';

/** Two servers of one device each. Of three components the last is on neither, and takes 500 to load. */
const SHAPE: Shape = {
  components: [100, 20, 30].map((fixed, c) => ({
    bytes: 10,
    loadNs: c === 2 ? 500 : 1,
    latencyNs: [[fixed, fixed + 7]],
  })),
  devices: [0, 1].map((server) => ({ class: 0, server, bytes: 1000 })),
  applications: 1,
  hostBytes: 1000,
  linkBytesPerNs: 1,
  networkBytesPerNs: 1,
  sloNs: 1,
  holds: [
    [0, 1],
    [0, 1],
  ],
};
const DRAWS = 400;

interface Asked {
  readonly request: OpenRequest;
  readonly task: Task;
  readonly waits: RecentWaits;
  readonly work: PlannedWork;
  readonly endNs: (quantile?: number, futures?: readonly (readonly Reserved[])[]) => number;
}

/** At 1000 a device is about to execute the first task of a request until 1100; its output is 40 bytes, which its program reads. */
function asked(expected: readonly Partial<Reserved>[], isRead = true): Asked {
  const { topology, table } = workflowTopology(SHAPE);
  const placeable = new Placeable(topology, table);
  const work = new PlannedWork(topology, placeable, false);
  const residency = new Residency(table, placeable);
  const waits = new RecentWaits(3, { devices: 2, draws: DRAWS, stream: streamOf(1, 'waits') });
  const open = new OpenWork();
  const request = open.open(0, 1);
  const task = open.called(request, { component: 0, rows: 1, inputs: [request.body.number] });
  Object.assign(task, { device: 0, bytes: 40, isWanted: isRead });
  request.expected = expected.map((one) => ({
    component: 1,
    back: [1],
    rows: 1,
    bytes: 0,
    chance: 1,
    device: 0,
    readyNs: 0,
    endNs: 0,
    ...one,
  }));
  const devices = { count: 2, canRun: () => true, leastNs: () => 1, passNs: passTimes(table) };
  const batch = { tasks: [task], endNs: 1100 };
  const futuresOf = (futures: readonly (readonly Reserved[])[]) => ({
    of: (_: OpenRequest, draw: number) => futures[draw % futures.length] as readonly Reserved[],
  });
  const expectedBy = (quantile: number, futures: readonly (readonly Reserved[])[]) =>
    new ExpectedEnd({
      work,
      residency,
      devices,
      waits,
      quantile,
      draws: DRAWS,
      futures: futuresOf(futures) as unknown as Futures,
    });
  const endNs: Asked['endNs'] = (quantile = 0.5, futures = [request.expected]) => {
    const expectedEnd = expectedBy(quantile, futures);
    const end = expectedEnd.of(1000, request, batch);
    // It is known to be by an instant from that one on, and not before.
    expect(expectedEnd.isBy(end, { at: 1000, request, batch })).toBe(true);
    expect(expectedEnd.isBy(end - 1, { at: 1000, request, batch })).toBe(false);
    return end;
  };
  return { request, task, waits, work, endNs };
}

/** waited tells of a wait of a component. */
function waited(waits: RecentWaits, component: number, waitNs: number): void {
  waits.over(waitNs, { device: 0, component, thereNs: 0 } as Task);
}

describe('ExpectedEnd', () => {
  it('ends with the batch and the way of its output to the program, where nothing else is expected', () => {
    expect(asked([]).endNs()).toBe(1100 + 40);
    expect(asked([], false).endNs()).toBe(1100);
  });

  it('lets a call come after the next read, fetch what it takes, and be executed', () => {
    expect(asked([{ bytes: 5 }]).endNs()).toBe(1140 + 20 + 5);
    expect(asked([{ bytes: 5, device: 1 }]).endNs()).toBe(1140 + 40 + 20 + 5);
    // It takes what the client sent alone, and yet is not made before the read.
    expect(asked([{ back: [0], bytes: 5 }]).endNs()).toBe(1140 + 20 + 5);
  });

  it('takes the longest of several ways', () => {
    const side = [{ back: [1] }, { back: [2], component: 0, bytes: 3 }];
    expect(asked(side).endNs()).toBe(1140 + 100 + 3);
    expect(asked([{ back: [1] }, { back: [1, 2], component: 0, bytes: 3 }]).endNs()).toBe(
      1140 + 20 + 100 + 3,
    );
  });

  it('counts a load that is not over by then', () => {
    expect(asked([{ component: 2 }]).endNs()).toBe(1000 + 500 + 30);
    expect(asked([{ component: 1 }, { component: 2 }]).endNs()).toBe(1000 + 500 + 30);
  });

  it('executes a call in the batch that its device has planned', () => {
    const { work, endNs } = asked([{}]);
    work.add(0, { component: 1, rows: 2, fromNs: 0 });
    expect(endNs()).toBe(1140 + 27);
  });

  it('adds the waits of components up, and takes the quantile of their sums', () => {
    const { waits, endNs } = asked([{}, { component: 0 }]);
    const restNs = 1140 + 20 + 100;
    for (const waitNs of [7, 7, 7]) waited(waits, 1, waitNs);
    expect(endNs()).toBe(restNs + 7);
    for (const waitNs of [0, 50]) waited(waits, 0, waitNs);
    expect(endNs(0.1)).toBe(restNs + 7);
    expect(endNs(0.9)).toBe(restNs + 57);
    expect(endNs(1)).toBe(restNs + 57);
  });

  it('takes the quantile of the ends of all that the program may do', () => {
    const { request, endNs } = asked([{ bytes: 5 }]);
    const long = [...request.expected, { ...request.expected[0], back: [1], component: 0 } as Reserved];
    const futures = [[], request.expected, long, long];
    expect(endNs(0.25, futures)).toBe(1140);
    // One draw more than those that end by then.
    expect(endNs(0.2525, futures)).toBe(1140 + 20 + 5);
    expect(endNs(0.5, futures)).toBe(1140 + 20 + 5);
    expect(endNs(0.75, futures)).toBe(1140 + 20 + 100 + 5);
    expect(endNs(1, futures)).toBe(1140 + 20 + 100 + 5);
  });

  it('lets a call take the least time of any device where none is kept for it', () => {
    expect(asked([{ bytes: 5, device: -1 }]).endNs()).toBe(1140 + 1);
  });

  it('waits for a task that another device executes, and for one behind it', () => {
    const { request, endNs, task } = asked([]);
    const open = new OpenWork();
    const other = open.called(request, { component: 0, rows: 1, inputs: [] });
    Object.assign(other, { device: 1, state: 'running', endNs: 1300, bytes: 8 });
    expect(endNs()).toBe(1300);
    const both = open.called(request, { component: 1, rows: 1, inputs: [] });
    Object.assign(both, { device: 0, inputs: [task, other] });
    expect(endNs()).toBe(1300 + 8 + 20);
  });
});
