import { itemAt, largestOf } from '../../collections/index.js';
import type { PipelinePlan, PlannedStage } from '../../formats/index.js';
import { linkGbps, seatsOf } from '../../formats/index.js';
import {
  blendLatencies,
  type Edge,
  filledLatencies,
  type Pool,
  type VirtualDevice,
} from '../../serving/index.js';
import type { TopologyOptions } from '../topology-options.js';

/** StagePool is what a plan says of the pool of one stage. */
export interface StagePool {
  readonly stage: Pick<
    PlannedStage,
    'name' | 'device' | 'virtual' | 'batch' | 'replicas' | 'latencyUsByBatch' | 'others'
  >;
  /** The stage's place among those of the plan. */
  readonly index: number;
  readonly throughputRps: number;
  readonly edges: Edge[];
}

/**
 * stagePool makes the pool of a stage, without its devices. The tensors that the pool sends take as long as
 * on the slowest of its edges.
 */
export function stagePool({ stage, index, throughputRps, edges }: StagePool): Pool {
  const { name, device, virtual, batch } = stage;
  return {
    model: 0,
    stage: { kind: 'stage', name, index },
    deviceClass: device,
    virtual,
    batch,
    ...latenciesOf(stage),
    transferNs: Float64Array.from({ length: batch }, (_, row) =>
      Math.max(0, largestOf(edges.map(({ transferNs }) => itemAt(transferNs, row)))),
    ),
    transferBytes: Math.max(0, largestOf(edges.map(({ transferBytes }) => transferBytes))),
    throughputRps,
    devices: [],
    edges,
  };
}

/** latenciesOf gives how long the replicas of a stage take, and where they are of several classes, those of each. */
function latenciesOf(stage: StagePool['stage']): Pick<Pool, 'latencyNs' | 'classes'> {
  const { batch, others } = stage;
  const first = filledLatencies(stage.latencyUsByBatch, batch);
  if (others === undefined) return { latencyNs: first };
  const all = [stage, ...others];
  const classes = all.map(({ device, virtual, latencyUsByBatch }) => ({
    deviceClass: device,
    virtual,
    latencyNs: filledLatencies(latencyUsByBatch, batch),
  }));
  const latencyNs = first.slice();
  blendLatencies(
    latencyNs,
    classes.map((one, k) => ({ latencyNs: one.latencyNs, devices: all[k]?.replicas as number })),
  );
  return { latencyNs: latencyNs.map(Math.round), classes };
}

/** SentAlong is what goes along an edge: a number of bytes for a row, from a stage to another. */
export interface SentAlong {
  readonly from: Pick<PlannedStage, 'device' | 'batch' | 'others'>;
  readonly to: Pick<PlannedStage, 'device' | 'others'>;
  readonly bytes: number;
}

/**
 * transfersAlong gives how long the rows of a batch take along an edge, by their number. Where stages have devices of several
 * classes, it is the time between those with the slowest links.
 */
export function transfersAlong(
  cluster: PipelinePlan['cluster'],
  { from, to, bytes }: SentAlong,
  transfers: TopologyOptions['transfers'],
): Pick<Edge, 'transferNs' | 'transferBytes'> {
  const rowsNs = classNames(from).flatMap((sender) =>
    classNames(to).map((receiver) => {
      const gbps = linkGbps(cluster, [sender, receiver]);
      return transfers === 'none' || gbps === undefined ? 0 : (8 * bytes) / gbps;
    }),
  );
  const rowNs = largestOf(rowsNs);
  return {
    transferNs: Float64Array.from({ length: from.batch }, (_, row) => Math.round((row + 1) * rowNs)),
    transferBytes: bytes,
  };
}

function classNames({ device, others = [] }: Pick<PlannedStage, 'device' | 'others'>): string[] {
  return [device, ...others.map((other) => other.device)];
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
    const poolClass = pools[pool]?.classes?.findIndex(
      ({ deviceClass, virtual }) => deviceClass === place.class && virtual === place.virtual,
    );
    return {
      name: `${name}/${k}`,
      pool,
      server,
      gpu,
      deviceClass: place.class,
      virtual: place.virtual,
      ...(otherPools.length > 0 ? { otherPools } : {}),
      ...(place.standby === true ? { standby: true } : {}),
      ...(poolClass === undefined ? {} : { poolClass }),
    };
  });
}
