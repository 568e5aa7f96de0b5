import type { Stream } from '../../src/random/index.js';
import type { ComponentPool, Pool, Topology, VirtualDevice, WorkflowTable } from '../../src/serving/index.js';
import type { RecordedCall, RecordedRun } from '../../src/simulator/index.js';

const NS_PER_MS = 1e6;
const GB = 1e9;
const MB = 1e6;
const NONE = -1;

/** Component is a model of the mix: what it takes to hold and load it, and what batches of it take. */
interface Component {
  readonly name: string;
  readonly bytes: number;
  readonly loadMs: number;
  /** A batch of b rows takes `fixedMs` and b times `eachMs`, and has `largest` rows at most. */
  readonly fixedMs: number;
  readonly eachMs: number;
  readonly largest: number;
}

const CARDS = 8;
const COMPONENTS: readonly Component[] = [
  { name: 'intent', bytes: GB, loadMs: 60, fixedMs: 5, eachMs: 1, largest: 16 },
  { name: 'vision', bytes: 2 * GB, loadMs: 100, fixedMs: 10, eachMs: 2, largest: 16 },
  { name: 'language', bytes: 14 * GB, loadMs: 800, fixedMs: 200, eachMs: 15, largest: 16 },
  { name: 'image', bytes: 6 * GB, loadMs: 400, fixedMs: 300, eachMs: 150, largest: 8 },
  { name: 'judge', bytes: 14 * GB, loadMs: 800, fixedMs: 150, eachMs: 10, largest: 16 },
  ...Array.from({ length: CARDS }, (_, card) => ({
    name: `card${card}`,
    bytes: 3 * GB,
    loadMs: 200,
    fixedMs: 60,
    eachMs: 10,
    largest: 8,
  })),
];
const [INTENT, VISION, LANGUAGE, IMAGE, JUDGE, FIRST_CARD] = [0, 1, 2, 3, 4, 5];

/** The applications of the mix: a chat that may draw, a question for experts, and agents that debate (DyOrc, section 8). */
const APPLICATIONS: readonly ((stream: Stream) => RecordedCall[])[] = [chat, experts, debate];

/** GPUS_PER_SERVER is how many devices a server has, each with the same memory. */
const GPUS_PER_SERVER = 8;
const DEVICE_BYTES = 40 * GB;
const HOST_BYTES = 400 * GB;
const LINK_BYTES_PER_NS = 50;
const NETWORK_BYTES_PER_NS = 12.5;

/** MixOptions says how large a cluster is, and how many times an idle request's time its requests may take. */
export interface MixOptions {
  readonly devices: number;
  readonly sloFactor: number;
}

/** mixCluster makes a cluster of equal devices that serves the mix, and is empty at the start. */
export function mixCluster({ devices: count, sloFactor }: MixOptions): {
  readonly topology: Topology;
  readonly table: WorkflowTable;
} {
  const all = Array.from({ length: count }, (_, device) => device);
  const own = COMPONENTS.map((_, pool) => pool);
  const devices = all.map((device): VirtualDevice => {
    const server = `server${Math.floor(device / GPUS_PER_SERVER)}`;
    return {
      name: `${server}/gpu${device}/0`,
      pool: 0,
      otherPools: own.slice(1),
      server,
      gpu: device,
      deviceClass: 'gpu',
      virtual: 1,
    };
  });
  const topology: Topology = {
    models: APPLICATIONS.map((application, a) => ({
      name: application.name,
      sloNs: sloFactor * (IDLE_MS[a] as number) * NS_PER_MS,
      throughputRps: 1,
      entries: [],
    })),
    pools: COMPONENTS.map((component, pool) => poolOf(component, pool, all)),
    devices,
    routes: { kind: 'dag' },
    links: { uplinkOf: new Int32Array(0), downlinkOf: new Int32Array(0), uplinkCount: 0, downlinkCount: 0 },
  };
  const table: WorkflowTable = {
    components: COMPONENTS.map(({ name }) => name),
    pools: COMPONENTS.map(
      ({ bytes, loadMs }, component): ComponentPool => ({
        component,
        bytes,
        loadNs: loadMs * NS_PER_MS,
        diskNs: 5 * loadMs * NS_PER_MS,
      }),
    ),
    devices: all.map((device) => ({
      bytes: DEVICE_BYTES,
      host: Math.floor(device / GPUS_PER_SERVER),
      linkBytesPerNs: LINK_BYTES_PER_NS,
      holds: [],
    })),
    hosts: Array.from({ length: Math.ceil(count / GPUS_PER_SERVER) }, () => ({ bytes: HOST_BYTES })),
    networkBytesPerNs: NETWORK_BYTES_PER_NS,
  };
  return { topology, table };
}

/** Roughly what a request of each application takes on an idle cluster. */
const IDLE_MS = [1000, 600, 900];

function poolOf({ name, fixedMs, eachMs, largest }: Component, pool: number, devices: number[]): Pool {
  const latencyNs = Float64Array.from(
    { length: largest },
    (_, b) => (fixedMs + eachMs * (b + 1)) * NS_PER_MS,
  );
  return {
    model: 0,
    owner: name,
    stage: { kind: 'component', name, component: pool },
    deviceClass: 'gpu',
    virtual: 1,
    batch: largest,
    latencyNs,
    transferNs: new Float64Array(largest),
    transferBytes: 0,
    edges: [],
    throughputRps: 1,
    devices,
  };
}

/** drawnRun draws what the program of an application does for a request. */
export function drawnRun(application: number, stream: Stream): RecordedRun {
  const calls = (APPLICATIONS[application] as (stream: Stream) => RecordedCall[])(stream);
  return { requestBytes: MB / 10, calls };
}

/** applicationsOf draws which application each request is of, each as often as the others. */
export function applicationsOf(requests: number, stream: Stream): number[] {
  return Array.from({ length: requests }, () => stream.integer(APPLICATIONS.length));
}

/** capacityRps is how many requests like these a device could execute in a second, in full batches of what it holds. */
export function capacityRps(runs: readonly RecordedRun[]): number {
  let ms = 0;
  for (const { calls } of runs)
    for (const { component } of calls) {
      const { fixedMs, eachMs, largest } = COMPONENTS[component] as Component;
      ms += fixedMs / largest + eachMs;
    }
  return (1e3 * runs.length) / ms;
}

function chat(stream: Stream): RecordedCall[] {
  const calls = [
    callOf(INTENT, { inputs: [NONE] }),
    callOf(VISION, { inputs: [NONE], outputBytes: MB }),
    callOf(LANGUAGE, { inputs: [NONE, 1], after: [0] }),
  ];
  if (stream.uniform() < 0.3) calls.push(callOf(IMAGE, { inputs: [2], after: [2], outputBytes: 3 * MB }));
  return calls;
}

function experts(stream: Stream): RecordedCall[] {
  // Some experts are asked much more often than others.
  const card = Math.floor(CARDS * stream.uniform() ** 2);
  return [
    callOf(INTENT, { inputs: [NONE] }),
    callOf(FIRST_CARD + card, { inputs: [NONE], after: [0] }),
    callOf(LANGUAGE, { inputs: [NONE, 1] }),
  ];
}

function debate(stream: Stream): RecordedCall[] {
  const calls: RecordedCall[] = [];
  let before: number[] = [];
  for (let round = 0; round < 3; round++) {
    const agents = [0, 1, 2].map((agent) => calls.length + agent);
    for (const _ of agents)
      calls.push(callOf(LANGUAGE, { inputs: before.length === 0 ? [NONE] : before, after: before }));
    before = agents;
    if (stream.uniform() < 0.6) break;
  }
  calls.push(callOf(JUDGE, { inputs: before, after: before }));
  return calls;
}

function callOf(
  component: number,
  { inputs, after = [], outputBytes = MB / 10 }: Partial<RecordedCall> & Pick<RecordedCall, 'inputs'>,
): RecordedCall {
  return { component, rows: 1, inputs, after, thinkNs: 0, outputBytes };
}
