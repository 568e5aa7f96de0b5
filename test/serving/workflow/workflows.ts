import type { Stream } from '../../../src/random/index.js';
import type { Pool, Topology, VirtualDevice, WorkflowTable } from '../../../src/serving/index.js';
import type { RecordedCall, RecordedRun } from '../../../src/simulator/index.js';

/** Shape says what a cluster for workflows is like; times are in nanoseconds. */
export interface Shape {
  readonly applications: number;
  readonly components: readonly {
    readonly bytes: number;
    readonly loadNs: number;
    readonly diskNs?: number;
    /** By class, the time of batches from 1 on; absent where the class does not run it. */
    readonly latencyNs: readonly (readonly number[] | undefined)[];
  }[];
  readonly devices: readonly { readonly class: number; readonly server: number; readonly bytes: number }[];
  readonly hostBytes: number;
  readonly linkBytesPerNs: number;
  readonly networkBytesPerNs: number;
  readonly sloNs: number;
  /** By device, the components that it holds at the start. */
  readonly holds?: readonly (readonly number[])[];
}

/** workflowTopology makes what a core of workflows is made from. */
export function workflowTopology(shape: Shape): {
  readonly topology: Topology;
  readonly table: WorkflowTable;
} {
  const pools: Pool[] = [];
  const tablePools: { component: number; bytes: number; loadNs: number; diskNs: number }[] = [];
  shape.components.forEach(({ latencyNs, bytes, loadNs, diskNs = 0 }, component) => {
    latencyNs.forEach((times, deviceClass) => {
      if (times === undefined) return;
      pools.push(poolOf(shape, component, deviceClass, times));
      tablePools.push({ component, bytes, loadNs, diskNs });
    });
  });
  const devices = shape.devices.map((device, d): VirtualDevice => {
    const own = pools.flatMap(({ deviceClass }, p) => (deviceClass === `class${device.class}` ? [p] : []));
    const [pool, ...otherPools] = own as [number, ...number[]];
    const server = `server${device.server}`;
    return {
      name: `${server}/gpu${d}/0`,
      pool,
      otherPools,
      server,
      gpu: d,
      deviceClass: `class${device.class}`,
      virtual: 1,
    };
  });
  const topology: Topology = {
    models: Array.from({ length: shape.applications }, (_, i) => ({
      name: `app${i}`,
      sloNs: shape.sloNs,
      throughputRps: 1,
      entries: [],
    })),
    pools,
    devices,
    routes: { kind: 'dag' },
    links: { uplinkOf: new Int32Array(0), downlinkOf: new Int32Array(0), uplinkCount: 0, downlinkCount: 0 },
  };
  const servers = Math.max(...shape.devices.map(({ server }) => server)) + 1;
  const table: WorkflowTable = {
    components: shape.components.map((_, i) => `component${i}`),
    pools: tablePools,
    devices: shape.devices.map(({ bytes, server, class: deviceClass }, d) => ({
      bytes,
      host: server,
      linkBytesPerNs: shape.linkBytesPerNs,
      holds: (shape.holds?.[d] ?? []).map((component) =>
        pools.findIndex(
          (pool, p) => pool.deviceClass === `class${deviceClass}` && tablePools[p]!.component === component,
        ),
      ),
    })),
    hosts: Array.from({ length: servers }, () => ({ bytes: shape.hostBytes })),
    networkBytesPerNs: shape.networkBytesPerNs,
  };
  return { topology, table };
}

function poolOf({ devices }: Shape, component: number, deviceClass: number, times: readonly number[]): Pool {
  const latencyNs = Float64Array.from(times);
  return {
    model: 0,
    owner: `component${component}`,
    stage: { kind: 'component', name: `component${component}`, component },
    deviceClass: `class${deviceClass}`,
    virtual: 1,
    batch: times.length,
    latencyNs,
    transferNs: new Float64Array(times.length),
    transferBytes: 0,
    edges: [],
    throughputRps: 1,
    devices: devices.flatMap((device, d) => (device.class === deviceClass ? [d] : [])),
  };
}

/**
 * randomShape draws a cluster on which every component can run somewhere, and fits beside all inputs of a task, and a
 * batch gives no more than that.
 */
export function randomShape(stream: Stream): Shape {
  const classes = 1 + stream.integer(2);
  const components = Array.from({ length: 1 + stream.integer(4) }, (_, component) => {
    const most = 1 + stream.integer(4);
    const main = stream.integer(classes);
    return {
      bytes: 20 + stream.integer(80),
      loadNs: 1 + stream.integer(400),
      diskNs: stream.integer(600),
      latencyNs: Array.from({ length: classes }, (_, c) =>
        // A device is in some pool, so that the first component runs everywhere.
        component === 0 || c === main || stream.uniform() < 0.7
          ? batchTimes(stream, 1 + stream.integer(most))
          : undefined,
      ),
    };
  });
  const devices = [
    ...Array.from({ length: classes }, (_, c) => c),
    ...Array.from({ length: stream.integer(4) }, () => stream.integer(classes)),
  ].map((one) => ({ class: one, server: stream.integer(2), bytes: 460 + stream.integer(100) }));
  return {
    applications: 1 + stream.integer(2),
    components,
    devices,
    hostBytes: 50 + stream.integer(300),
    linkBytesPerNs: 2 + stream.integer(20),
    networkBytesPerNs: 0.2 + stream.uniform(),
    sloNs: 100 + stream.integer(5000),
  };
}

/** batchTimes draws times of which no larger batch takes less, nor longer than its two parts. */
export function batchTimes(stream: Stream, most: number): number[] {
  const fixed = 5 + stream.integer(100);
  const each = 1 + stream.integer(40);
  return Array.from({ length: most }, (_, b) => fixed + each * (b + 1));
}

/** randomRun draws what a program does, whose calls stand in an order in which it could make them. */
export function randomRun(stream: Stream, { components }: Shape): RecordedRun {
  const calls: RecordedCall[] = [];
  const count = 1 + stream.integer(6);
  for (let call = 0; call < count; call++) {
    const component = stream.integer(components.length);
    const most = Math.max(...components[component]!.latencyNs.map((times) => times?.length ?? 0));
    const earlier = Array.from({ length: call }, (_, i) => i);
    const some = (chance: number) => earlier.filter(() => stream.uniform() < chance);
    const inputs = some(0.4);
    calls.push({
      component,
      rows: 1 + stream.integer(most),
      inputs: inputs.length === 0 ? [-1] : inputs,
      after: some(0.3),
      thinkNs: stream.uniform() < 0.5 ? 0 : stream.integer(50),
      outputBytes: stream.integer(60),
    });
  }
  const requestBytes = stream.integer(60);
  if (stream.uniform() < 0.7) return { requestBytes, calls };
  return { requestBytes, calls, reads: [...calls.keys()].filter(() => stream.uniform() < 0.4) };
}
