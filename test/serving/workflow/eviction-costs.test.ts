import { describe, expect, it } from 'vitest';
import { ComponentDemand } from '../../../src/serving/workflow/component-demand.js';
import { ComponentWorth } from '../../../src/serving/workflow/component-worth.js';
import { EvictionCosts } from '../../../src/serving/workflow/eviction-costs.js';
import { Outlook } from '../../../src/serving/workflow/outlook.js';
import { PlannedWork } from '../../../src/serving/workflow/planned-work.js';
import { Residency } from '../../../src/serving/workflow/residency.js';
import { Placeable } from '../../../src/serving/workflow/table.js';
import { type Shape, workflowTopology } from './workflows.js';

const AT = 1000;
const [SEARCHED, CALLED, RARE, OTHER] = [0, 1, 2, 3] as const;

/**
 * Two devices with room for three components: the first holds two that can leave for the others, which take its last
 * bytes and more.
 */
const SHAPE: Shape = {
  components: [20, 10, 15, 10].map((bytes, c) => ({ bytes, loadNs: 100 * (c + 1), latencyNs: [[50, 60]] })),
  devices: [0, 1].map(() => ({ class: 0, server: 0, bytes: 30 })),
  applications: 1,
  hostBytes: 1000,
  linkBytesPerNs: 1,
  networkBytesPerNs: 1,
  sloNs: 1,
  holds: [[CALLED, RARE], [CALLED]],
};

function parts() {
  const { topology, table } = workflowTopology(SHAPE);
  const placeable = new Placeable(topology, table);
  const residency = new Residency(table, placeable);
  const work = new PlannedWork(topology, placeable);
  const demand = new ComponentDemand(SHAPE.components.length, 1e12);
  for (let i = 0; i < 6; i++) demand.saw(AT, CALLED);
  demand.saw(AT, RARE);
  const worth = new ComponentWorth(demand, residency);
  const costs = (most: number, isByWorth = true) =>
    new EvictionCosts({ residency, work, worth, isByWorth, most });
  const view = (device: number) => new Outlook(work, residency, placeable).viewOf(AT, device);
  const probe = (device: number, component: number) => ({
    at: AT,
    device,
    component,
    view: view(device),
    rows: 1,
    readyNs: AT,
  });
  return { residency, work, demand, worth, costs, probe };
}

describe('EvictionCosts', () => {
  it('counts what leaves by its calls on each device that holds it, times its load', () => {
    const { costs, probe } = parts();
    // The rare one leaves, which gives enough room: it is called once, on one device, and takes 300.
    expect(costs(10).ofNs(probe(0, SEARCHED))).toBe(300);
    // On the second device nothing has to leave.
    expect(costs(10).ofNs(probe(1, SEARCHED))).toBe(0);
  });

  it('counts all that must leave, and a component as often as is asked at most', () => {
    const { residency, costs, probe } = parts();
    residency.takeBytes(0, 5);
    residency.takeBytes(0, 4);
    // Without the last bytes the one that is called has to leave too: three calls on each of its devices, of 200 each.
    expect(costs(10).ofNs(probe(0, SEARCHED))).toBe(300 + 3 * 200);
    expect(costs(2).ofNs(probe(0, SEARCHED))).toBe(300 + 2 * 200);
    expect(costs(0).ofNs(probe(0, SEARCHED))).toBe(0);
  });

  it('counts what is to leave first, which may be what was used longest ago', () => {
    const { residency, costs, probe } = parts();
    residency.used(AT + 1, 0, RARE);
    expect(costs(10, false).ofNs(probe(0, OTHER))).toBe(3 * 200);
    expect(costs(10).ofNs(probe(0, OTHER))).toBe(300);
  });

  it('counts no component that the device needs, and nothing for what is there or comes', () => {
    const { residency, work, costs, probe } = parts();
    work.add(0, { component: RARE, rows: 1, fromNs: AT });
    expect(costs(10).ofNs(probe(0, OTHER))).toBe(3 * 200);
    expect(costs(10).ofNs(probe(0, CALLED))).toBe(0);
    // What is planned and not there is to be loaded already.
    work.add(0, { component: OTHER, rows: 1, fromNs: AT });
    expect(costs(10).ofNs(probe(0, OTHER))).toBe(0);
    residency.load(AT, 1, SEARCHED);
    expect(costs(10).ofNs(probe(1, SEARCHED))).toBe(0);
  });

  it('costs nothing where nobody calls what leaves any more', () => {
    const { demand, costs, probe } = parts();
    demand.saw(AT + 100e12, SEARCHED);
    expect(costs(10).ofNs(probe(0, SEARCHED))).toBeLessThan(1e-20);
  });
});

describe('ComponentWorth', () => {
  it('is what one device more would have of the calls', () => {
    const { worth } = parts();
    expect(worth.heldNs(0, CALLED)).toBe(3 * 200);
    expect(worth.gainedNs(0, CALLED)).toBe(2 * 200);
  });
});
