import { largestOf } from '../../collections/index.js';
import {
  classGbps,
  type Fault,
  fault,
  gpuNumber,
  linkGbps,
  type PlannedModel,
  type PlannedPartition,
  type PlannedPipeline,
  type PooledPlan,
} from '../../formats/index.js';
import { differ, faultOf } from '../figures.js';
import { tensorFaults } from '../stages/index.js';
import { checkObjective } from './check.js';
import { placementFaults } from './check-placement.js';
import type { Told } from './check-units.js';

/**
 * ownFigureFaults finds figures of a pooled plan that contradict others of it: cuts that leave a part of the model out, rates
 * and latencies that do not follow from those of partitions and links, batches of other sizes, GPUs that are counted or placed
 * otherwise, a value that is not that of the objective, and tensors that are none.
 * @param plan whose placement has every pool as often as it is planned
 */
export function ownFigureFaults(plan: PooledPlan): Fault[] {
  const { cluster, planner } = plan;
  const told: Told = isNumbered(plan) ? placementFaults(plan, { cluster, planner }) : [];
  const { objective = 'throughput' } = planner;
  checkObjective(plan, { planner: { objective }, cluster }, told);
  return [
    ...told,
    ...plan.models.flatMap((model, m) => modelFaults(plan, model, `/models/${m}`)),
    ...worthFaults(plan),
  ];
}

/**
 * isNumbered says whether any server is named by its class and number, as planners name them; a plan that
 * others made may name them all otherwise.
 */
function isNumbered({ placement }: PooledPlan): boolean {
  return placement.some((place) => !Number.isNaN(gpuNumber(place, 1)));
}

function modelFaults(plan: PooledPlan, model: PlannedModel, at: string): Fault[] {
  const { sloMs, sloMarginMs, rps, throughputRps, blocks, pipelines, inputs, outputs } = model;
  const ends = pipelines.flatMap(({ partitions }) => partitions.at(-1)?.layers?.[1] ?? []);
  const { objective = 'throughput' } = plan.planner;
  return [
    ...faultOf(
      sloMarginMs >= 0 && sloMarginMs < sloMs,
      `is ${sloMarginMs}; the SLO is ${sloMs}`,
      `${at}/sloMarginMs`,
    ),
    ...(objective === 'throughput' ||
    (rps !== undefined && (throughputRps >= rps || !differ(throughputRps, rps)))
      ? []
      : [fault(`is ${throughputRps}; ${rps ?? 'none'} were asked for`, `${at}/throughputRps`)]),
    ...faultOf(new Set(ends).size <= 1, `have ${[...new Set(ends)].join(' and ')} layers`, `${at}/pipelines`),
    ...tensorFaults(inputs, `${at}/inputs`),
    ...tensorFaults(outputs, `${at}/outputs`),
    ...pipelines.flatMap((pipeline, p) =>
      pipelineFaults(
        plan,
        { pipeline, model, blocks: ends.length > 0 ? (ends[0] as number) : blocks },
        `${at}/pipelines/${p}`,
      ),
    ),
  ];
}

function spanFaults(range: readonly [number, number] | undefined, begins: number, path: string): Fault[] {
  if (range === undefined) return [fault('has neither blocks nor layers', path)];
  const [from, to] = range;
  return faultOf(from === begins && to > from, `spans ${from} to ${to}; it must begin at ${begins}`, path);
}

interface OfModel {
  readonly pipeline: PlannedPipeline;
  readonly model: PlannedModel;
  /** The number of blocks or layers. */
  readonly blocks: number;
}

function pipelineFaults(plan: PooledPlan, { pipeline, model, blocks }: OfModel, at: string): Fault[] {
  const { partitions, batch, latencyUs } = pipeline;
  const { maxPartitions = 3, unifiedBatch = true } = plan.planner;
  const batches = partitions.map((partition) => partition.batch);
  let [totalUs, next] = [0, 0];
  const faults = partitions.flatMap((partition, k) => {
    const after = partitions[k + 1];
    const range = partition.layers ?? partition.blocks;
    const begins = next;
    // The blocks after a partition without a range are not reported as missing too.
    next = range?.[1] ?? (after?.layers ?? after?.blocks)?.[0] ?? blocks;
    totalUs += fullUs(partition) + partition.batch * transferUs(plan, partition, after);
    const path = `${at}/partitions/${k}`;
    return [
      ...spanFaults(range, begins, path),
      ...partitionFaults(plan, { partition, before: partitions[k - 1], after }, path),
    ];
  });
  const formationUs = (model.batchFormationUsPerRequest ?? 0) * (largestOf(batches) - 1);
  const allowedUs = 1e3 * (model.sloMs - model.sloMarginMs);
  const wholeUs = latencyUs + formationUs;
  return [
    ...faults,
    ...faultOf(next === blocks, `ends at ${next} of ${blocks}`, at),
    ...faultOf(
      partitions.length <= maxPartitions || plan.baseline !== undefined,
      `has ${partitions.length} partitions, more than ${maxPartitions}`,
      at,
    ),
    ...faultOf(batch === batches[0], `is ${batch}; its first partition has ${batches[0]}`, `${at}/batch`),
    ...faultOf(
      !unifiedBatch || new Set(batches).size === 1,
      `has batches ${batches.join(', ')}, not one`,
      at,
    ),
    ...(differ(latencyUs, totalUs)
      ? [fault(`is ${latencyUs}; its partitions give ${totalUs}`, `${at}/latencyUs`)]
      : []),
    ...(wholeUs > allowedUs && differ(wholeUs, allowedUs)
      ? [fault(`takes ${wholeUs} us with batch formation; the SLO leaves ${allowedUs}`, at)]
      : []),
  ];
}

interface Among {
  readonly partition: PlannedPartition;
  readonly before: PlannedPartition | undefined;
  readonly after: PlannedPartition | undefined;
}

function partitionFaults(plan: PooledPlan, { partition, before, after }: Among, at: string): Fault[] {
  const { batch, device, virtual, virtualGpus, latencyUsByBatch, throughputRps, transferBytes } = partition;
  const { cluster, planner } = plan;
  const allowed = cluster.devices[device]?.virtual ?? [1];
  const us = fullUs(partition);
  const linkUs =
    planner.linkThroughput === false
      ? 0
      : Math.max(before?.transferBytes ?? 0, after === undefined ? 0 : transferBytes) *
        crossingUs(classGbps(cluster, device)) *
        virtual *
        (cluster.devices[device]?.perServer ?? 1);
  const rps =
    virtualGpus * Math.min((1e6 * batch) / us, linkUs > 0 ? 1e6 / linkUs : Number.POSITIVE_INFINITY);
  return [
    ...faultOf(
      allowed.includes(virtual),
      `is ${virtual}, which is not a virtual size of ${device}`,
      `${at}/virtual`,
    ),
    ...faultOf(
      latencyUsByBatch.length === batch,
      `lists ${latencyUsByBatch.length} batches, not ${batch}`,
      `${at}/latencyUsByBatch`,
    ),
    ...(differ(throughputRps, rps)
      ? [fault(`is ${throughputRps}; its virtual GPUs give ${rps}`, `${at}/throughputRps`)]
      : []),
    ...faultOf(
      after !== undefined || transferBytes === 0,
      `is ${transferBytes}; nothing follows`,
      `${at}/transferBytes`,
    ),
    ...tensorFaults(partition.tensors, `${at}/tensors`),
  ];
}

function fullUs({ batch, latencyUsByBatch }: PlannedPartition): number {
  return latencyUsByBatch[batch - 1] ?? Number.NaN;
}

/** crossingUs is the time that a byte takes over a link. */
function crossingUs(gbps: number | undefined): number {
  return gbps === undefined ? 0 : 8 / gbps / 1e3;
}

function transferUs(
  { cluster }: PooledPlan,
  { device, transferBytes }: PlannedPartition,
  after: PlannedPartition | undefined,
): number {
  if (after === undefined) return 0;
  const [own, next] = [classGbps(cluster, device), classGbps(cluster, after.device)];
  // The planner takes no time for a transfer of which it does not know both links.
  if (own === undefined || next === undefined) return 0;
  return transferBytes * crossingUs(linkGbps(cluster, [device, after.device]));
}

/** worthFaults finds worths of one GPU more that no objective has. */
function worthFaults({ classes, objective: { kind } }: PooledPlan): Fault[] {
  return Object.entries(classes).flatMap(([name, { shadowPrice, oneMore }]) => [
    ...(shadowPrice === undefined || (shadowPrice >= 0 && kind === 'throughput')
      ? []
      : [fault(`is ${shadowPrice}; a GPU more lowers no ${kind}`, `/classes/${name}/shadowPrice`)]),
    ...(oneMore === undefined || (kind === 'throughput' ? oneMore >= 0 : oneMore <= 0)
      ? []
      : [fault(`is ${oneMore}, by which one GPU more makes the plan worse`, `/classes/${name}/oneMore`)]),
  ]);
}
