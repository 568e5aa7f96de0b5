import { describe, expect, it } from 'vitest';
import { DYORC_POLICY, DynamicCore, type WorkflowPolicy } from '../../../src/serving/index.js';
import { ComponentDemand } from '../../../src/serving/workflow/component-demand.js';
import { PlannedWork } from '../../../src/serving/workflow/planned-work.js';
import { Residency } from '../../../src/serving/workflow/residency.js';
import { Spreading } from '../../../src/serving/workflow/spreading.js';
import { Placeable } from '../../../src/serving/workflow/table.js';
import { call, story } from './story.js';
import { type Shape, workflowTopology } from './workflows.js';

const [BUSY, IDLE, LONG] = [0, 1, 2] as const;

/** Three devices that have room for one component each. */
const SHAPE: Shape = {
  components: [
    { bytes: 10, loadNs: 5, latencyNs: [[100]] },
    { bytes: 10, loadNs: 5, latencyNs: [[100]] },
    { bytes: 10, loadNs: 5, latencyNs: [[1000]] },
  ],
  devices: [0, 1, 2].map(() => ({ class: 0, server: 0, bytes: 10 })),
  applications: 1,
  hostBytes: 1000,
  linkBytesPerNs: 1000,
  networkBytesPerNs: 1000,
  sloNs: 1e9,
  holds: [[BUSY], [IDLE], [IDLE]],
};

function parts(shape: Shape, ratio = 0.8) {
  const { topology, table } = workflowTopology(shape);
  const placeable = new Placeable(topology, table);
  const residency = new Residency(table, placeable);
  const work = new PlannedWork(topology, placeable);
  const demand = new ComponentDemand(shape.components.length, 1e12);
  const rule = { kind: 'by-work', least: 0, ratio } as const;
  const spreading = new Spreading({ rule, halfLifeNs: 1e12, demand, residency, work, placeable });
  const called = (component: number, times: number) => {
    for (let i = 0; i < times; i++) demand.saw(0, component);
  };
  return { spreading, residency, work, called };
}

describe('Spreading', () => {
  it('gives the component whose devices have most to do of it, by calls and by how long they take', () => {
    const { spreading, called } = parts(SHAPE);
    expect(spreading.next(1)).toBeUndefined();
    called(BUSY, 4);
    expect(spreading.next(1)?.component).toBe(BUSY);
    // Nobody holds it: three calls of it are three thousand on one device.
    called(LONG, 3);
    expect(spreading.next(1)?.component).toBe(LONG);
  });

  it('lets leave what the other devices have less to do of than a part of that, and nothing that the device needs', () => {
    const { spreading, work, called } = parts(SHAPE);
    called(BUSY, 4);
    called(IDLE, 3);
    expect(spreading.next(1)?.mayGo(IDLE)).toBe(true);
    called(IDLE, 1);
    // The other device would have 400, as the one that is to be relieved.
    expect(spreading.next(1)?.mayGo(IDLE)).toBe(false);
    const other = parts(SHAPE);
    other.called(BUSY, 4);
    other.work.add(1, { component: IDLE, rows: 1, fromNs: 0 });
    expect(other.spreading.next(1)?.mayGo(IDLE)).toBe(false);
    expect(work.rowsOf(1, IDLE)).toBe(0);
  });

  it('keeps the last device of what is called', () => {
    const { spreading, called } = parts({ ...SHAPE, holds: [[BUSY], [IDLE], []] });
    called(BUSY, 100);
    expect(spreading.next(1)?.mayGo(IDLE)).toBe(true);
    called(IDLE, 1);
    expect(spreading.next(1)?.mayGo(IDLE)).toBe(false);
  });

  it('leaves the disk to what tasks wait for', () => {
    const { spreading, called } = parts({ ...SHAPE, hostBytes: 25 });
    // The server keeps the two components that devices held at the start.
    called(LONG, 3);
    expect(spreading.next(1)).toBeUndefined();
  });
});

describe('a core that spreads components', () => {
  const requests = (gapNs: number) =>
    Array.from({ length: 30 }, (_, i) => ({
      atNs: 1 + gapNs * i,
      run: { requestBytes: 0, calls: [call(BUSY)] },
    }));
  const told = (policy: Partial<WorkflowPolicy>, gapNs = 101) =>
    story({
      shape: SHAPE,
      requests: requests(gapNs),
      coreOf: (topology, { decisions, table, streams }) =>
        new DynamicCore(topology, decisions, { table, streams, policy: { ...DYORC_POLICY, ...policy } }),
    });
  const spreading = { kind: 'by-work', least: 0.1, ratio: 0.7 } as const;

  it('loads on an idle device what a busy one has much to do of, though no task asks for it, and not what has little', () => {
    const loads = (policy: Partial<WorkflowPolicy>, gapNs?: number) =>
      told(policy, gapNs).flatMap(({ event, what }) => (event === 'load' ? [what] : []));
    expect(loads({ spreading: { kind: 'never' } })).toEqual([]);
    // Each request ends before the next comes. Of late the device was busy nearly all the time.
    expect(loads({ spreading, halfLifeNs: 2000 })).toContain(BUSY);
    expect(loads({ spreading, halfLifeNs: 2000 }, 10_000)).toEqual([]);
  });
});
