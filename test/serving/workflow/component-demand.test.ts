import { describe, expect, it } from 'vitest';
import { ComponentDemand } from '../../../src/serving/workflow/component-demand.js';
import { Residency } from '../../../src/serving/workflow/residency.js';
import { Placeable } from '../../../src/serving/workflow/table.js';
import { type Shape, workflowTopology } from './workflows.js';

describe('ComponentDemand', () => {
  it('counts a call half after a half-life, and expected calls in full', () => {
    const demand = new ComponentDemand(2, 100);
    demand.saw(0, 0);
    demand.saw(100, 0);
    expect(demand.of(0)).toBeCloseTo(1.5, 12);
    demand.saw(300, 1);
    expect(demand.of(0)).toBeCloseTo(1.5 / 4, 12);
    expect(demand.of(1)).toBe(1);
    demand.expects(1, 2);
    demand.expects(1, -1);
    expect(demand.of(1)).toBe(2);
  });
});

describe('Residency', () => {
  const shape: Shape = {
    components: [1, 2, 3].map(() => ({ bytes: 10, loadNs: 1, latencyNs: [[1]] })),
    devices: [0, 1].map(() => ({ class: 0, server: 0, bytes: 100 })),
    applications: 1,
    hostBytes: 1000,
    linkBytesPerNs: 1,
    networkBytesPerNs: 1,
    sloNs: 1,
    holds: [[0, 1, 2], [1]],
  };
  const { topology, table } = workflowTopology(shape);
  const residency = new Residency(table, new Placeable(topology, table));

  it('counts the devices that hold a component', () => {
    const holders = () => [0, 1, 2].map((component) => residency.holders(component));
    expect(holders()).toEqual([1, 2, 1]);
    residency.evict(1, 1);
    residency.load(5, 1, 2);
    expect(holders()).toEqual([1, 1, 2]);
    residency.empty(1);
    expect(holders()).toEqual([1, 1, 1]);
  });

  it('lets the component of the least worth go, and of equal ones the one that was used longest ago', () => {
    for (const [i, component] of [1, 0, 2].entries()) residency.used(10 + i, 0, component);
    const all = () => true;
    expect(residency.least(0, all, () => 0)).toBe(1);
    expect(residency.least(0, all, (component) => [3, 5, 4][component]!)).toBe(0);
    expect(
      residency.least(
        0,
        (component) => component > 0,
        (component) => [3, 5, 4][component]!,
      ),
    ).toBe(2);
    expect(
      residency.least(
        0,
        () => false,
        () => 0,
      ),
    ).toBe(-1);
  });
});
