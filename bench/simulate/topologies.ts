import type { RunShape } from '../../src/metrics/index.js';
import { DROP_REASONS, type Topology } from '../../src/serving/index.js';

const NS_PER_MS = 1e6;
const NS_PER_S = 1e9;
const PER_SERVER = 4;

interface Stage {
  readonly devices: number;
  readonly batch: number;
  /** A batch of b executes for fixedMs + b · perRowMs. */
  readonly fixedMs: number;
  readonly perRowMs: number;
  /** The time of sending one row to the next stage. */
  readonly transferMs?: number;
}

/**
 * topologyWith makes one model's pipelines on servers of four devices. The rate of a pipeline is that of its slowest
 * stage.
 */
export function topologyWith(sloMs: number, pipelines: readonly (readonly Stage[])[]): Topology {
  const topology: Topology = {
    models: [{ name: 'model', sloNs: sloMs * NS_PER_MS, throughputRps: 0, entries: [] }],
    pools: [],
    devices: [],
    links: { uplinkOf: new Int32Array(0), downlinkOf: new Int32Array(0), uplinkCount: 0, downlinkCount: 0 },
    routes: { kind: 'chains' },
  };
  pipelines.forEach((stages, pipeline) => {
    addPipeline(topology, stages, pipeline);
  });
  const linkOf = Int32Array.from(topology.devices, (_, device) => Math.floor(device / PER_SERVER));
  const count = Math.ceil(topology.devices.length / PER_SERVER);
  topology.links = { uplinkOf: linkOf, downlinkOf: linkOf, uplinkCount: count, downlinkCount: count };
  return topology;
}

function addPipeline(topology: Topology, stages: readonly Stage[], pipeline: number): void {
  const entry = topology.pools.length;
  const rps = Math.min(
    ...stages.map((s) => (s.devices * s.batch * 1000) / (s.fixedMs + s.batch * s.perRowMs)),
  );
  stages.forEach((stage, partition) => {
    const { batch, fixedMs, perRowMs, transferMs = 0 } = stage;
    const pool = topology.pools.length;
    const rows = Array.from({ length: batch }, (_, i) => i + 1);
    const devices = Array.from({ length: stage.devices }, () => {
      const device = topology.devices.length;
      const server = `s${Math.floor(device / PER_SERVER)}`;
      const gpu = device % PER_SERVER;
      topology.devices.push({
        name: `${server}/gpu${gpu}/0`,
        pool,
        server,
        gpu,
        deviceClass: 'gpu',
        virtual: 1,
      });
      return device;
    });
    const transferNs = Float64Array.from(rows, (b) => Math.round(b * transferMs * NS_PER_MS));
    topology.pools.push({
      model: 0,
      stage: { kind: 'partition', pipeline, partition },
      deviceClass: 'gpu',
      virtual: 1,
      batch,
      latencyNs: Float64Array.from(rows, (b) => Math.round((fixedMs + b * perRowMs) * NS_PER_MS)),
      transferNs,
      transferBytes: 0,
      edges:
        partition + 1 < stages.length
          ? [{ to: pool + 1, when: { kind: 'always' }, transferNs, transferBytes: 0 }]
          : [],
      throughputRps: rps,
      devices,
    });
  });
  topology.models[0]?.entries.push(entry);
  topology.models[0]!.throughputRps += rps;
}

export function shapeOf({ models, pools, devices, links }: Topology, durationS: number): RunShape {
  const classes = [...new Set(devices.map(({ deviceClass }) => deviceClass))];
  return {
    models: models.length,
    poolBatch: Int32Array.from(pools, ({ batch }) => batch),
    poolDevices: Int32Array.from(pools, (pool) => pool.devices.length),
    deviceClass: Int32Array.from(devices, ({ deviceClass }) => classes.indexOf(deviceClass)),
    deviceShare: Float64Array.from(devices, ({ virtual }) => 1 / virtual),
    classes: classes.length,
    uplinkOf: links.uplinkOf,
    downlinkOf: links.downlinkOf,
    uplinks: links.uplinkCount,
    downlinks: links.downlinkCount,
    dropReasons: DROP_REASONS.length,
    durationNs: durationS * NS_PER_S,
  };
}
