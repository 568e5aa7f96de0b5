import { checkPlacement } from '../../checks/index.js';
import {
  linkGbps,
  NS_PER_MS,
  NS_PER_US,
  type PlannedPipeline,
  type PooledPlan,
  seatsOf,
  stageIndex,
  stageName,
  stageRoute,
  writtenStageName,
} from '../../formats/index.js';
import {
  type Edge,
  filledLatencies,
  linksByServer,
  type Pool,
  publishedLinks,
  type StageTopology,
  type VirtualDevice,
} from '../../serving/index.js';
import { checkDeviceCount } from '../stages/index.js';
import type { TopologyOptions } from '../topology-options.js';

/**
 * topologyOf makes the topology of a pooled plan, for the live runtime and the simulator alike. Pools are
 * ordered by model, pipeline and partition, and devices as in the plan's placement (by the published rules: by
 * pool). It is pure, and its cost is linear in the plan.
 * @throws InputError with every contradiction in the plan, or where it has more than a million virtual GPUs
 */
export function topologyOf(plan: PooledPlan, options: TopologyOptions = {}): StageTopology {
  checkPlacement(plan);
  checkDeviceCount(plan);
  const pools = plan.models.flatMap((model, m) =>
    model.pipelines.flatMap((pipeline, p) => poolsOf(plan, pipeline, m, p, options)),
  );
  pools.forEach((pool, i) => {
    const following = pools[i + 1];
    if (following?.model === pool.model && stageRoute(following.stage) === stageRoute(pool.stage))
      pool.edges.push(alwaysTo(i + 1, pool));
  });
  const devices = devicesOf(plan, pools, options);
  const models = plan.models.map((model, m) => ({
    name: model.name,
    sloNs: sloNs(options.sloMs ?? model.sloMs, options),
    throughputRps: model.throughputRps,
    entries: pools.flatMap((pool, i) => (pool.model === m && stageIndex(pool.stage) === 0 ? [i] : [])),
  }));
  const { sharing = options.rules === 'published' ? 'worker-groups' : 'servers' } = options;
  const links =
    sharing === 'worker-groups' ? publishedLinks(pools, perServerOf(plan)) : linksByServer(devices);
  return { models, pools, devices, links, routes: { kind: 'chains' } };
}

function alwaysTo(to: number, { transferNs, transferBytes }: Pool): Edge {
  return { to, when: { kind: 'always' }, transferNs, transferBytes };
}

function perServerOf({ cluster }: PooledPlan): (deviceClass: string) => number {
  return (deviceClass) => cluster.devices[deviceClass]?.perServer ?? 1;
}

/**
 * sloNs converts an SLO to nanoseconds, and by the published rules cuts it to whole microseconds. It rounds
 * before it cuts, so that a value just below a whole microsecond, by the last bits of a double, is not cut to
 * the one before.
 */
function sloNs(sloMs: number, { rules }: TopologyOptions): number {
  const ns = Math.round(sloMs * NS_PER_MS);
  return rules === 'published' ? Math.floor(ns / NS_PER_US) * NS_PER_US : ns;
}

function poolsOf(
  plan: PooledPlan,
  pipeline: PlannedPipeline,
  m: number,
  p: number,
  options: TopologyOptions,
): Pool[] {
  return pipeline.partitions.map((part, k) => {
    const nextClass = pipeline.partitions[k + 1]?.device;
    const gbps = nextClass === undefined ? undefined : linkGbps(plan.cluster, [part.device, nextClass]);
    const perRowNs = options.transfers === 'none' || gbps === undefined ? 0 : (8 * part.transferBytes) / gbps;
    const rowNs = options.rules === 'published' ? NS_PER_US * Math.round(perRowNs / NS_PER_US) : perRowNs;
    return {
      model: m,
      stage: { kind: 'partition', pipeline: p, partition: k },
      deviceClass: part.device,
      virtual: part.virtual,
      batch: part.batch,
      latencyNs: filledLatencies(part.latencyUsByBatch, part.batch),
      transferNs: Float64Array.from({ length: part.batch }, (_, i) => Math.round((i + 1) * rowNs)),
      transferBytes: part.transferBytes,
      throughputRps: pipeline.throughputRps,
      devices: [],
      edges: [],
    };
  });
}

function devicesOf(plan: PooledPlan, pools: Pool[], { rules }: TopologyOptions): VirtualDevice[] {
  const poolOf = new Map(pools.map(({ model, stage }, i) => [`${model}/${stageName(stage)}`, i]));
  const onGpu = new Map<string, number>();
  const seats = Array.from(seatsOf(plan.placement, plan.cluster.devices), (seat) => ({
    ...seat,
    pool: poolOf.get(`${seat.place.model}/${writtenStageName(seat.place)}`) as number,
  }));
  if (rules === 'published') seats.sort((a, b) => a.pool - b.pool);
  return seats.map(({ place, server, gpu, pool }, device) => {
    pools[pool]?.devices.push(device);
    const name = `${server}/gpu${gpu}`;
    const k = onGpu.get(name) ?? 0;
    onGpu.set(name, k + 1);
    return { name: `${name}/${k}`, pool, server, gpu, deviceClass: place.class, virtual: place.virtual };
  });
}
