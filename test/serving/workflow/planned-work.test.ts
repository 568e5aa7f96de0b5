import { describe, expect, it } from 'vitest';
import { PlannedWork } from '../../../src/serving/workflow/planned-work.js';
import { Placeable } from '../../../src/serving/workflow/table.js';
import { type Shape, workflowTopology } from './workflows.js';

const SHAPE: Shape = {
  components: [1, 2].map(() => ({ bytes: 10, loadNs: 1, latencyNs: [[5, 6, 7, 8]] })),
  devices: [{ class: 0, server: 0, bytes: 100 }],
  applications: 1,
  hostBytes: 1000,
  linkBytesPerNs: 1,
  networkBytesPerNs: 1,
  sloNs: 1,
};

function plannedWork(countsExpected: boolean): PlannedWork {
  const { topology, table } = workflowTopology(SHAPE);
  return new PlannedWork(topology, new Placeable(topology, table), countsExpected);
}

describe('PlannedWork', () => {
  it('lets expected rows join the batches of known ones where they count as work', () => {
    const work = plannedWork(true);
    work.add(0, { component: 1, rows: 1, fromNs: 0 });
    work.expect(0, { component: 1, rows: 2, fromNs: 9 });
    expect(work.planned(0)).toEqual([{ component: 1, rows: 3, fromNs: 0 }]);
    work.withdrawExpected(0, 1, 2);
    expect(work.planned(0)).toEqual([{ component: 1, rows: 1, fromNs: 0 }]);
  });

  it('keeps expected rows beside the batches where they do not, and needs their components behind those of known ones', () => {
    const work = plannedWork(false);
    work.expect(0, { component: 0, rows: 2, fromNs: 9 });
    work.add(0, { component: 1, rows: 1, fromNs: 0 });
    const before = work.versionOf(0);
    work.expect(0, { component: 0, rows: 1, fromNs: 9 });
    expect(work.versionOf(0)).toBeGreaterThan(before);
    expect(work.planned(0)).toEqual([{ component: 1, rows: 1, fromNs: 0 }]);
    expect(work.needed(0)).toEqual([1, 0, 0]);
    expect([work.rowsOf(0, 0), work.rowsOf(0, 1)]).toEqual([3, 1]);
    work.withdrawExpected(0, 0, 2);
    expect([work.rowsOf(0, 0), work.needed(0)]).toEqual([1, [1, 0]]);
    work.empty(0);
    expect([work.rowsOf(0, 0), work.needed(0)]).toEqual([0, []]);
  });

  it('takes back the component that is asked for, whatever was expected after it', () => {
    const work = plannedWork(false);
    for (const component of [0, 1]) work.expect(0, { component, rows: 1, fromNs: 9 });
    work.withdrawExpected(0, 0, 1);
    expect(work.needed(0)).toEqual([1]);
  });
});
