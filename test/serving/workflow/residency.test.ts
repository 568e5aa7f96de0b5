import { describe, expect, it } from 'vitest';
import { Residency } from '../../../src/serving/workflow/residency.js';
import { Placeable } from '../../../src/serving/workflow/table.js';
import { type Shape, workflowTopology } from './workflows.js';

/** A server's memory has room for two of three components, which take 5 from there and 100 from the disk. */
const SHAPE: Shape = {
  components: [0, 1, 2].map(() => ({ bytes: 10, loadNs: 5, diskNs: 100, latencyNs: [[1]] })),
  devices: [{ class: 0, server: 0, bytes: 1000 }],
  applications: 1,
  hostBytes: 20,
  linkBytesPerNs: 1,
  networkBytesPerNs: 1,
  sloNs: 1,
  holds: [[]],
};

describe('Residency', () => {
  it('keeps in the memory of a server what was loaded from it last, and reads the rest from the disk', () => {
    const { topology, table } = workflowTopology(SHAPE);
    const residency = new Residency(table, new Placeable(topology, table));
    const loadedAt = (at: number, component: number) => {
      residency.load(at, 0, component);
      residency.loaded(at, 0, component);
      residency.evict(0, component);
    };
    const timesNs = () => [0, 1, 2].map((component) => residency.loadNs(0, component));
    loadedAt(1, 0);
    loadedAt(2, 1);
    loadedAt(3, 0);
    expect(timesNs()).toEqual([5, 5, 105]);
    loadedAt(4, 2);
    expect(timesNs()).toEqual([5, 105, 5]);
    loadedAt(5, 1);
    expect(timesNs()).toEqual([105, 5, 5]);
  });
});
