import { itemAt } from '../collections/index.js';
import { NS_PER_S } from '../formats/index.js';
import { devicesInUse, gpusInUse, type RunShape, shareOf, sumOf } from './run-shape.js';
import { StepSums } from './step-sums.js';

/**
 * ClassFigures says how busy the virtual GPUs of a class were, each weighted by its share of a GPU. Where devices come and
 * go, those are counted that are in use at the beginning, and they are available while they are in use.
 */
export interface ClassFigures {
  readonly virtualGpus: number;
  /** The number of whole GPUs that the virtual GPUs make up: Σ 1/v. */
  readonly gpus: number;
  /** GPU seconds during which a batch was executing. */
  readonly busyGpuS: number;
  /** Busy GPU seconds over available GPU seconds, in [0, 1]. */
  readonly utilisation: number;
}

/** PoolFigures holds the executions of a pool. */
export interface PoolFigures {
  readonly batches: number;
  readonly requests: number;
  /** The mean number of requests in a batch, over batches. */
  readonly meanBatch?: number;
  /** The number of batches of 1, 2, … requests. */
  readonly sizes: number[];
  readonly utilisation: number;
  /** How many of its devices were in use; absent where all were from beginning to end. */
  readonly inUse?: DevicesInUse;
}

/** DevicesInUse says how many devices of a pool were in use: the fewest, the mean over time, and the most. */
export interface DevicesInUse {
  readonly least: number;
  readonly mean: number;
  readonly most: number;
}

/**
 * LinkFigures gives the share of the time, from 0 to 1, during which links were in use: the mean of all links of a
 * direction, and that of the busiest.
 */
export interface LinkFigures {
  readonly uplink: { readonly mean: number; readonly busiest: number };
  readonly downlink: { readonly mean: number; readonly busiest: number };
}

/**
 * DeviceFold adds up the busy time (ns) of devices and links between the run's beginning, 0, and its end, and counts by
 * size all batches that began after 0, also after that end. It allocates nothing per batch.
 */
export class DeviceFold {
  private readonly busyNs: Float64Array;
  private readonly poolBusyNs: Float64Array;
  private readonly upNs: Float64Array;
  private readonly downNs: Float64Array;
  /** The index where each pool's sizes begin. Batches of b requests are counted b − 1 places after it. */
  private readonly sizesAt: Int32Array;
  private readonly sizes: Float64Array;
  /** Device time after this instant does not count. */
  private untilNs: number;
  /** The devices of each pool that are in use, and the GPUs of each class, over the run. */
  private readonly poolsInUse: StepSums;
  private readonly classesInUse: StepSums;
  private readonly least: Float64Array;
  private readonly most: Float64Array;

  constructor(private readonly shape: RunShape) {
    this.untilNs = shape.durationNs;
    this.busyNs = new Float64Array(shape.deviceClass.length);
    this.poolBusyNs = new Float64Array(shape.poolBatch.length);
    this.upNs = new Float64Array(shape.uplinks);
    this.downNs = new Float64Array(shape.downlinks);
    const { poolBatch } = shape;
    this.sizesAt = new Int32Array(poolBatch.length + 1);
    for (let pool = 0; pool < poolBatch.length; pool++)
      this.sizesAt[pool + 1] = (this.sizesAt[pool] as number) + (poolBatch[pool] as number);
    this.sizes = new Float64Array(itemAt(this.sizesAt, poolBatch.length));
    const inUse = devicesInUse(shape);
    this.poolsInUse = new StepSums(inUse, shape.durationNs, 1);
    this.classesInUse = new StepSums(gpusInUse(shape), shape.durationNs, 1);
    this.least = inUse.slice();
    this.most = inUse.slice();
  }

  /** scaled reports that a device is in use from now on, or no longer. */
  scaled(atNs: number, device: number, by: 1 | -1): void {
    if (atNs >= this.untilNs) return;
    const { scaling, deviceClass, deviceShare } = this.shape;
    this.classesInUse.change(atNs, deviceClass[device] as number, by * (deviceShare[device] as number));
    for (const pool of scaling?.poolsOf[device] ?? []) {
      this.poolsInUse.change(atNs, pool, by);
      const now = this.poolsInUse.valueOf(pool);
      this.least[pool] = Math.min(this.least[pool] as number, now);
      this.most[pool] = Math.max(this.most[pool] as number, now);
    }
  }

  executed(pool: number, device: number, size: number, startNs: number, endNs: number): void {
    const ns = this.within(startNs, endNs);
    this.busyNs[device]! += ns;
    this.poolBusyNs[pool]! += ns;
    if (startNs >= 0) this.sizes[(this.sizesAt[pool] as number) + size - 1]! += 1;
  }

  transferred(fromDevice: number, toDevice: number, startNs: number, endNs: number): void {
    const ns = this.within(startNs, endNs);
    this.upNs[this.shape.uplinkOf[fromDevice] as number]! += ns;
    if (toDevice >= 0) this.downNs[this.shape.downlinkOf[toDevice] as number]! += ns;
  }

  /** endAt ends the run earlier than planned. Events that ended after this instant must not have been reported before. */
  endAt(untilNs: number): void {
    this.untilNs = untilNs;
  }

  /** close adds up the devices in use until the end of the run. Figures are asked for after it. */
  close(spanNs: number): void {
    this.poolsInUse.addUpAll(spanNs);
    this.classesInUse.addUpAll(spanNs);
  }

  classFigures(index: number): ClassFigures {
    let virtualGpus = 0;
    let gpus = 0;
    let busyNs = 0;
    for (let device = 0; device < this.busyNs.length; device++) {
      if (this.shape.deviceClass[device] !== index) continue;
      const share = this.shape.deviceShare[device] as number;
      busyNs += share * (this.busyNs[device] as number);
      if (this.shape.scaling?.inUse[device] === 0) continue;
      virtualGpus += 1;
      gpus += share;
    }
    const utilisation = shareOf(busyNs, this.classesInUse.sumOf(0, index));
    return { virtualGpus, gpus, busyGpuS: busyNs / NS_PER_S, utilisation };
  }

  poolFigures(spanNs: number): PoolFigures[] {
    return Array.from(this.shape.poolDevices, (_, pool) => {
      const sizes = Array.from(
        this.sizes.subarray(this.sizesAt[pool] as number, this.sizesAt[pool + 1] as number),
      );
      const batches = sumOf(sizes);
      const requests = sizes.reduce((sum, count, i) => sum + count * (i + 1), 0);
      const inUseNs = this.poolsInUse.sumOf(0, pool);
      const utilisation = shareOf(this.poolBusyNs[pool] as number, inUseNs);
      return {
        batches,
        requests,
        ...(batches === 0 ? {} : { meanBatch: requests / batches }),
        sizes,
        utilisation,
        ...(this.shape.scaling === undefined
          ? {}
          : {
              inUse: {
                least: this.least[pool] as number,
                mean: inUseNs / spanNs,
                most: this.most[pool] as number,
              },
            }),
      };
    });
  }

  linkFigures(spanNs: number): LinkFigures {
    const shares = (busyNs: Float64Array) => ({
      mean: shareOf(sumOf(busyNs), busyNs.length * spanNs),
      busiest: shareOf(
        busyNs.reduce((most, ns) => Math.max(most, ns), 0),
        spanNs,
      ),
    });
    return { uplink: shares(this.upNs), downlink: shares(this.downNs) };
  }

  private within(startNs: number, endNs: number): number {
    return Math.max(0, Math.min(endNs, this.untilNs) - Math.max(0, startNs));
  }
}
