import { NS_PER_MS } from '../../formats/index.js';
import {
  filledLatencies,
  linksByServer,
  type Pool,
  type Topology,
  type VirtualDevice,
} from '../../serving/index.js';
import { type PlacedPool, type PlacedWorkflows, placedPools } from './placed.js';

/**
 * workflowTopologyOf makes the topology of workflows: a model for each, a pool for each component on each class that
 * has devices, and the devices as the placement lists them, each in all pools of its class (DyOrc §6.1). Its pools are
 * those of `workflowTableOf`. It is pure, and its cost is linear in pools times devices.
 * @throws RangeError where a component has no latency at its largest batch, or a class has devices that run no component
 */
export function workflowTopologyOf(plan: PlacedWorkflows): Topology {
  const pools = placedPools(plan).map((pool) => poolOf(pool, plan));
  const devices = devicesOf(plan, pools);
  return {
    models: plan.workflows.map(({ name, sloMs, share }) => ({
      name,
      sloNs: sloMs === undefined ? Number.POSITIVE_INFINITY : Math.round(sloMs * NS_PER_MS),
      throughputRps: share * plan.rps,
      entries: [],
    })),
    pools,
    devices,
    links: linksByServer(devices),
    routes: { kind: 'workflow' },
  };
}

function poolOf({ component, name, onClass }: PlacedPool, { placement, rps }: PlacedWorkflows): Pool {
  const { device, batch, latencyUsByBatch } = onClass;
  return {
    model: 0,
    owner: name,
    stage: { kind: 'component', name, component },
    deviceClass: device,
    virtual: 1,
    batch,
    latencyNs: filledLatencies(latencyUsByBatch, batch),
    transferNs: new Float64Array(batch),
    transferBytes: 0,
    edges: [],
    throughputRps: rps,
    devices: placement.flatMap((place, i) => (place.class === device ? [i] : [])),
  };
}

function devicesOf({ placement }: PlacedWorkflows, pools: readonly Pool[]): VirtualDevice[] {
  const ofClass = new Map<string, number[]>();
  for (const [p, { deviceClass }] of pools.entries())
    ofClass.set(deviceClass, [...(ofClass.get(deviceClass) ?? []), p]);
  return placement.map(({ server, gpu, class: deviceClass }) => {
    const [pool, ...otherPools] = ofClass.get(deviceClass) ?? [];
    if (pool === undefined)
      throw new RangeError(`Cannot use the devices of ${deviceClass}: no component runs on that class`);
    return { name: `${server}/gpu${gpu}/0`, pool, otherPools, server, gpu, deviceClass, virtual: 1 };
  });
}
