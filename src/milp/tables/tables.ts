import {
  BYTES_PER_GIB,
  type Cluster,
  classGbps,
  type DeviceClass,
  type Profile,
  slowerGbps,
} from '../../formats/index.js';
import type { PooledProblem, ProblemModel } from '../problem.js';
import { blockRows } from './block-rows.js';
import { layerRows } from './layer-rows.js';
import type { SpanLatencies } from './span-latencies.js';

/** Slot is a device class and a virtual size, on which one partition can run. */
export interface Slot {
  readonly classIndex: number;
  readonly className: string;
  /** The size v stands for 1/v of a GPU. */
  readonly virtual: number;
  readonly perServer: number;
  /** The bandwidth of the server's link in Gbit/s; undefined if transfers are free (one device in all, or no cuts). */
  readonly gbps: number | undefined;
  /** The memory of the whole GPU; undefined if the cluster does not say. */
  readonly memoryBytes: number | undefined;
}

/** ClassTable holds the classes of the cluster with the GPUs that are free. */
export interface ClassTable {
  readonly names: readonly string[];
  /** The number of GPUs of each class that are not taken. */
  readonly available: readonly number[];
  readonly perServer: readonly number[];
  /** The cost of one GPU in the objective's unit; 0 if the objective is throughput. */
  readonly unitCost: readonly number[];
}

/**
 * ModelTable is one model as numbers in flat arrays, by blocks or by layers: `units` are blocks or layers. Cut j lies
 * after unit j − 1; cut 0 is the model's start and cut `units` its end.
 */
export interface ModelTable {
  readonly index: number;
  readonly name: string;
  readonly units: number;
  /** The bytes of one request that cross cut j; 0 at both ends, and NaN if the model cannot be cut there. */
  readonly cutBytes: Float64Array;
  /** The valid cuts in order, including both ends. */
  readonly cuts: Int32Array;
  readonly slots: readonly Slot[];
  /** The batch sizes, ascending. */
  readonly batches: readonly number[];
  /**
   * The latencies of partitions by slot and batch: entry slot · batches.length + batch. An entry is undefined if it was
   * not profiled.
   */
  readonly latencies: readonly (SpanLatencies | undefined)[];
  readonly weightPrefix: Float64Array;
  /** The SLO less the margin. */
  readonly allowedUs: number;
  /** The SLO less the margin and batch formation, by batch. */
  readonly budgetUs: Float64Array;
  readonly batchFormationUsPerRequest: number;
  readonly weight: number;
  readonly rps: number | undefined;
  /** The minimum share by class index; 0 if none is asked for. */
  readonly minShare: Float64Array;
}

/** ProblemTables are the tables of a problem: its classes, and its models in order. */
export interface ProblemTables {
  readonly classes: ClassTable;
  readonly tables: readonly ModelTable[];
}

/**
 * classesOf lists the cluster's classes in its order, with their free GPUs (`count` − `taken`). A GPU costs its hourly
 * cost or its watts, as the objective says, and 0 for throughput or if the cluster does not say.
 */
export function classesOf(problem: PooledProblem): ClassTable {
  const names = Object.keys(problem.cluster.devices);
  const classes = names.map((name) => problem.cluster.devices[name] as DeviceClass);
  const { objective } = problem.planner;
  return {
    names,
    available: classes.map((c) => Math.max(0, c.count - (c.taken ?? 0))),
    perServer: classes.map((c) => c.perServer ?? 1),
    unitCost: classes.map((c) =>
      objective === 'throughput' ? 0 : ((objective === 'cost' ? c.hourlyCost : c.powerWatts) ?? 0),
    ),
  };
}

/**
 * modelTable makes the table of one model, in µs, bytes and requests/s. Slots are the virtual sizes that the cluster
 * names, of the classes that the model may use and that have free GPUs: classes as in the cluster, sizes ascending. A
 * block counts as at least 1 µs; layers that were measured count as they are.
 * @param estimatedRps the rate that `batchFormation: { estimatedRps: no-partitioning }` stands for; if it is left out
 *   or 0, only batches of one have any budget, unless the factor is 0
 */
export function modelTable(problem: PooledProblem, index: number, estimatedRps?: number): ModelTable {
  const model = problem.models[index] as ProblemModel;
  const { profile } = model;
  const rows = problem.planner.granularity === 'layer' ? layerRows(profile) : blockRows(profile);
  const slots = slotsOf(problem.cluster, model);
  const batches = batchesOf(profile, slots);
  const formation = formationUsPerRequest(model, estimatedRps);
  const names = Object.keys(problem.cluster.devices);
  return {
    index,
    name: model.name,
    units: rows.units,
    cutBytes: rows.cutBytes,
    cuts: Int32Array.from([...rows.cutBytes.keys()].filter((j) => !Number.isNaN(rows.cutBytes[j] as number))),
    slots,
    batches,
    latencies: slots.flatMap((slot) => batches.map((b) => rows.latencies(slot.className, slot.virtual, b))),
    weightPrefix: prefixSums(rows.weightBytes),
    allowedUs: model.sloUs - model.sloMarginUs,
    budgetUs: Float64Array.from(batches, (b) => model.sloUs - model.sloMarginUs - fillUs(formation, b)),
    batchFormationUsPerRequest: formation,
    weight: model.weight,
    rps: model.rps,
    minShare: Float64Array.from(names, (name) => model.minShare[name] ?? 0),
  };
}

function formationUsPerRequest({ batchFormation }: ProblemModel, estimatedRps: number | undefined): number {
  if (batchFormation === 'none') return 0;
  const { factor, estimatedRps: given } = batchFormation;
  const rps = given === 'no-partitioning' ? estimatedRps : given;
  // Without partitioning the rate is 0, so no batch ever fills, and only batches of one remain.
  if (rps === undefined || rps <= 0) return factor === 0 ? 0 : Number.POSITIVE_INFINITY;
  return (factor * 1e6) / rps;
}

/** A batch of one never waits, whatever the rate is. */
function fillUs(perRequestUs: number, batch: number): number {
  return batch === 1 ? 0 : perRequestUs * (batch - 1);
}

function slotsOf(cluster: Cluster, model: ProblemModel): Slot[] {
  const names = Object.keys(cluster.devices);
  return names.flatMap((className, classIndex) => {
    const device = cluster.devices[className] as DeviceClass;
    if (!model.classes.includes(className) || device.count - (device.taken ?? 0) <= 0) return [];
    const profiled = model.profile.devices[className]?.blockLatencyUs ?? {};
    return [...(device.virtual ?? [1])]
      .sort((a, b) => a - b)
      .filter((virtual) => profiled[virtual] !== undefined)
      .map((virtual) => ({
        classIndex,
        className,
        virtual,
        perServer: device.perServer ?? 1,
        gbps: classGbps(cluster, className),
        memoryBytes: device.memoryGiB === undefined ? undefined : device.memoryGiB * BYTES_PER_GIB,
      }));
  });
}

function batchesOf(profile: Profile, slots: readonly Slot[]): number[] {
  const sizes = slots.flatMap(({ className, virtual }) =>
    Object.keys(profile.devices[className]?.blockLatencyUs[virtual] ?? {}).map(Number),
  );
  return [...new Set(sizes)].sort((a, b) => a - b);
}

function prefixSums(row: readonly number[]): Float64Array {
  const sums = new Float64Array(row.length + 1);
  row.forEach((value, i) => {
    sums[i + 1] = (sums[i] as number) + value;
  });
  return sums;
}

/** transferUs is the time in µs of one request's bytes over a link of `gbps` (10⁹ bits/s); 0 if no link is known. */
export function transferUs(bytes: number, gbps: number | undefined): number {
  return gbps === undefined ? 0 : (8 * bytes) / (gbps * 1000);
}

/** slowerLink is the bandwidth in Gbit/s between two classes; undefined if the cluster names none. */
export function slowerLink(a: Slot, b: Slot): number | undefined {
  return slowerGbps(a.gbps, b.gbps);
}

/**
 * virtualGpuRps is the rate (requests/s) of one virtual GPU: 10⁶·b/latency and, under `linkThroughput`, at most what
 * its even share of its server's link lets in or out (X of PPipe A.2, with the link's bound of the published plans).
 * Bytes are those of one request. It keeps its six positional arguments because enumeration calls it millions of times.
 */
export function virtualGpuRps(
  slot: Slot,
  batch: number,
  latencyUs: number,
  inBytes: number,
  outBytes: number,
  linkThroughput: boolean,
): number {
  const compute = (1e6 * batch) / latencyUs;
  if (!linkThroughput) return compute;
  const sharers = slot.virtual * slot.perServer;
  const worst = Math.max(transferUs(inBytes, slot.gbps), transferUs(outBytes, slot.gbps)) * sharers;
  return worst > 0 ? Math.min(compute, 1e6 / worst) : compute;
}

/** fitsMemory says whether the weights of a partition fit into 1/v of the GPU's memory; true if that is not known. */
export function fitsMemory(slot: Slot, weightBytes: number): boolean {
  return slot.memoryBytes === undefined || weightBytes * slot.virtual <= slot.memoryBytes;
}
