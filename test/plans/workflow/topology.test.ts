import { describe, expect, it } from 'vitest';
import { stageName } from '../../../src/formats/index.js';
import { subclustersOf, workflowTableOf, workflowTopologyOf } from '../../../src/plans/index.js';
import { madePlan } from './made-workflows.js';

const GIB = 1024 ** 3;

describe('workflowTopologyOf()', () => {
  const made = () => workflowTopologyOf(madePlan());

  it('has a model for each workflow, which is never late without an SLO', () => {
    const topology = made();
    expect(topology.models).toEqual([
      { name: 'chat', sloNs: 200e6, throughputRps: 15, entries: [] },
      { name: 'search', sloNs: Number.POSITIVE_INFINITY, throughputRps: 5, entries: [] },
    ]);
    expect(topology.routes).toEqual({ kind: 'workflow' });
  });

  it('has a pool for each component on each of its classes, with the latency of the next larger batch where one was not measured', () => {
    const told = made().pools.map(({ stage, deviceClass, batch, latencyNs, devices }) => ({
      stage: stageName(stage),
      deviceClass,
      batch,
      devices,
      latencyNs: [...latencyNs],
    }));
    expect(told).toEqual([
      { stage: 'answer', deviceClass: 'big', batch: 2, devices: [0, 1], latencyNs: [10e6, 12e6] },
      { stage: 'answer', deviceClass: 'small', batch: 1, devices: [2], latencyNs: [30e6] },
      { stage: 'draw', deviceClass: 'big', batch: 2, devices: [0, 1], latencyNs: [40e6, 40e6] },
    ]);
  });

  it('has the devices of the placement, each in all pools of its class', () => {
    expect(made().devices.map(({ name, pool, otherPools }) => [name, pool, otherPools])).toEqual([
      ['big-0/gpu0/0', 0, [2]],
      ['big-0/gpu1/0', 0, [2]],
      ['small-0/gpu0/0', 1, []],
    ]);
  });

  it('leaves out the pools of classes that have no devices', () => {
    const plan = madePlan();
    const { pools } = workflowTopologyOf({ ...plan, placement: plan.placement.slice(0, 2) });
    expect(pools.map(({ stage, deviceClass }) => `${stageName(stage)} on ${deviceClass}`)).toEqual([
      'answer on big',
      'draw on big',
    ]);
  });

  it('refuses devices that run no component', () => {
    const plan = madePlan();
    const [draw] = plan.components.slice(1);
    expect(() => workflowTopologyOf({ ...plan, components: [draw!] })).toThrow(
      'Cannot use the devices of small: no component runs on that class',
    );
  });
});

describe('workflowTableOf()', () => {
  it('says what components need, what devices and servers hold, and how fast outputs pass', () => {
    expect(workflowTableOf(madePlan())).toEqual({
      components: ['answer', 'draw'],
      pools: [
        { component: 0, bytes: 2 * GIB, loadNs: 500e6, diskNs: 2e9 },
        { component: 0, bytes: 2 * GIB, loadNs: 500e6, diskNs: 2e9 },
        { component: 1, bytes: 3 * GIB, loadNs: 750e6, diskNs: 3e9 },
      ],
      devices: [
        { bytes: 4 * GIB, host: 0, linkBytesPerNs: 10, holds: [0] },
        { bytes: 4 * GIB, host: 0, linkBytesPerNs: 10, holds: [2] },
        // Without a rate between its devices, a server's is that of its link.
        { bytes: 3 * GIB, host: 1, linkBytesPerNs: 0.5, holds: [] },
      ],
      // Memory that the cluster does not limit has no limit.
      hosts: [{ bytes: 8 * GIB }, { bytes: Number.POSITIVE_INFINITY }],
      // The slowest link, which is that of the small server: 4 Gbps.
      networkBytesPerNs: 0.5,
    });
  });

  it('holds what never moves where it is asked for, which is what is held at the start where a device says no other', () => {
    const { devices } = workflowTableOf(madePlan(), 'static');
    expect(devices.map(({ holds }) => holds)).toEqual([[0], [2], [1]]);
  });

  it('has the network of the classes that have devices, and none where the cluster names no rate', () => {
    const plan = madePlan();
    const big = { ...plan, placement: plan.placement.slice(0, 2) };
    expect(workflowTableOf(big).networkBytesPerNs).toBe(1);
    const { networkGbps: _, ...cluster } = plan.cluster;
    expect(workflowTableOf({ ...big, cluster }).networkBytesPerNs).toBe(Number.POSITIVE_INFINITY);
  });
});

describe('subclustersOf()', () => {
  it('is one group with everything where a plan has no others', () => {
    const plan = madePlan();
    expect(subclustersOf(plan)).toEqual([
      { topology: workflowTopologyOf(plan), table: workflowTableOf(plan), devices: [0, 1, 2] },
    ]);
  });

  it('gives each group its devices, and of a server that several have the memory in proportion to them', () => {
    const plan = madePlan();
    const placement = plan.placement.map((device, i) => ({ ...device, subcluster: i === 1 ? 1 : 0 }));
    const [first, second] = subclustersOf({ ...plan, placement });
    expect([first?.devices, second?.devices]).toEqual([[0, 2], [1]]);
    expect(first?.table.hosts).toEqual([{ bytes: 4 * GIB }, { bytes: Number.POSITIVE_INFINITY }]);
    expect(second?.table.hosts).toEqual([{ bytes: 4 * GIB }]);
    expect(second?.topology.pools.map(({ stage }) => stageName(stage))).toEqual(['answer', 'draw']);
    expect(second?.table.devices).toEqual([{ bytes: 4 * GIB, host: 0, linkBytesPerNs: 10, holds: [1] }]);
  });
});
