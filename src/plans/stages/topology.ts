import type { PipelinePlan, PlannedStage } from '../../artifacts/index.js';
import { linkGbps, seatsOf } from '../../artifacts/index.js';
import { type Edge, filledLatencies, type Pool, type VirtualDevice } from '../../serving/index.js';
import type { TopologyOptions } from '../topology-options.js';

/** StagePool is what a plan says of the pool of one stage. */
export interface StagePool {
  readonly stage: Pick<PlannedStage, 'name' | 'device' | 'virtual' | 'batch' | 'latencyUsByBatch'>;
  /** The stage's place in the plan. */
  readonly partition: number;
  readonly throughputRps: number;
  readonly edges: Edge[];
}

/** stagePool makes the pool of a stage, without its devices. What it sends takes as long as the slowest of its edges. */
export function stagePool({ stage, partition, throughputRps, edges }: StagePool): Pool {
  const { name, device, virtual, batch, latencyUsByBatch } = stage;
  return {
    ...{ model: 0, pipeline: 0, partition, stage: name, deviceClass: device, virtual, batch },
    latencyNs: filledLatencies(latencyUsByBatch, batch),
    transferNs: Float64Array.from({ length: batch }, (_, row) =>
      Math.max(0, ...edges.map(({ transferNs }) => transferNs[row] as number)),
    ),
    transferBytes: Math.max(0, ...edges.map(({ transferBytes }) => transferBytes)),
    throughputRps,
    devices: [],
    edges,
  };
}

/** SentAlong is what goes along an edge: so many bytes for a row, from a stage to another. */
export interface SentAlong {
  readonly from: Pick<PlannedStage, 'device' | 'batch'>;
  readonly to: Pick<PlannedStage, 'device'>;
  readonly bytes: number;
}

/** transfersAlong gives how long the rows of a batch take along an edge, by their number. */
export function transfersAlong(
  cluster: PipelinePlan['cluster'],
  { from, to, bytes }: SentAlong,
  transfers: TopologyOptions['transfers'],
): Pick<Edge, 'transferNs' | 'transferBytes'> {
  const gbps = linkGbps(cluster, [from.device, to.device]);
  const rowNs = transfers === 'none' || gbps === undefined ? 0 : (8 * bytes) / gbps;
  return {
    transferNs: Float64Array.from({ length: from.batch }, (_, row) => Math.round((row + 1) * rowNs)),
    transferBytes: bytes,
  };
}

/** StagesPlaced is what a plan says of where its stages are. */
type StagesPlaced = Pick<PipelinePlan, 'placement' | 'cluster'> & {
  readonly stages: readonly { readonly name: string }[];
};

/** stageDevices lists the devices of a plan's placement, and adds each to the pools of the stages that it holds. */
export function stageDevices(
  { stages, placement, cluster }: StagesPlaced,
  pools: readonly Pool[],
): VirtualDevice[] {
  const onGpu = new Map<string, number>();
  return Array.from(seatsOf(placement, cluster.devices), ({ place, server, gpu }, device) => {
    const [pool = 0, ...otherPools] = stages.flatMap(({ name }, stage) =>
      place.stages.includes(name) ? [stage] : [],
    );
    for (const served of [pool, ...otherPools]) pools[served]?.devices.push(device);
    const name = `${server}/gpu${gpu}`;
    const k = onGpu.get(name) ?? 0;
    onGpu.set(name, k + 1);
    return {
      ...{ name: `${name}/${k}`, pool, server, gpu, deviceClass: place.class, virtual: place.virtual },
      ...(otherPools.length > 0 ? { otherPools } : {}),
      ...(place.standby === true ? { standby: true } : {}),
    };
  });
}
