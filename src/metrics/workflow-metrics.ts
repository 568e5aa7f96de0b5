import { NS_PER_S } from '../formats/index.js';
import { DeviceTimeFold, type DeviceTimes, DoneByDevice } from './device-times.js';
import { Histogram } from './histogram.js';
import { type DropCount, type RequestFigures, RequestFold } from './request-fold.js';
import { OutcomeIndex, type RunShape, sumOf } from './run-shape.js';
import { ExactValues } from './values.js';

/** WorkflowShape holds the numbers of a plan of workflows that its figures need. */
export interface WorkflowShape
  extends Pick<RunShape, 'models' | 'poolBatch' | 'deviceClass' | 'classes' | 'dropReasons'> {
  /** Keeps every latency, for exact quantiles, at 32 bytes for each answered request; by default a histogram is kept. */
  readonly exact?: boolean;
}

/**
 * WorkflowRequestFigures says how the requests of a workflow ended, or of all. A request that is never late is in time
 * once answered.
 */
export type WorkflowRequestFigures = Omit<RequestFigures, 'invalidRate' | 'splitMs'>;

/** ComponentFigures says what devices of a class executed of a component, and how often they loaded and evicted it. */
export interface ComponentFigures {
  readonly batches: number;
  /** The rows of all batches. */
  readonly rows: number;
  /** The mean rows of a batch; absent where there was none. */
  readonly meanBatch?: number;
  /** The number of batches of 1, 2, … rows. */
  readonly sizes: number[];
  /** Device seconds that its batches took. */
  readonly busyS: number;
  readonly loads: number;
  readonly evictions: number;
}

/** WorkflowFigures holds all figures of a run of workflows. */
export interface WorkflowFigures {
  readonly overall: WorkflowRequestFigures;
  readonly workflows: readonly WorkflowRequestFigures[];
  readonly drops: readonly DropCount[];
  readonly deviceTime: DeviceTimes;
  /** By class: its devices, for how many seconds they executed together, and what they did of the time. */
  readonly classes: readonly {
    readonly devices: number;
    readonly busyS: number;
    readonly deviceTime: DeviceTimes;
  }[];
  readonly pools: readonly ComponentFigures[];
  readonly loads: number;
  readonly evictions: number;
}

/** WorkflowMetrics observes a run of workflows, and computes its figures. Times are integer nanoseconds. */
export class WorkflowMetrics {
  private readonly requests: RequestFold;
  private readonly times: DeviceTimeFold;
  private readonly busyNs: Float64Array;
  private readonly loads: Float64Array;
  private readonly evictions: Float64Array;
  private readonly sizes: readonly Float64Array[];

  constructor(private readonly shape: WorkflowShape) {
    const { exact = false, poolBatch, deviceClass } = shape;
    this.requests = new RequestFold(shape, exact ? () => new ExactValues() : () => new Histogram());
    this.times = new DeviceTimeFold(deviceClass.length);
    this.busyNs = new Float64Array(poolBatch.length);
    this.loads = new Float64Array(poolBatch.length);
    this.evictions = new Float64Array(poolBatch.length);
    this.sizes = Array.from(poolBatch, (batch) => new Float64Array(batch));
  }

  arrived(_atNs: number, model: number): void {
    this.requests.arrived(model);
  }

  ended(
    atNs: number,
    model: number,
    _request: number,
    arrivedNs: number,
    outcome: number,
    reason: number,
    pool: number,
  ): void {
    const { requests } = this;
    if (outcome === OutcomeIndex.dropped) requests.dropped(model, reason, pool);
    else if (outcome === OutcomeIndex.failed) requests.failed(model);
    else requests.answered(model, outcome === OutcomeIndex.late, atNs - arrivedNs, 0, 0);
  }

  started(
    _batch: number,
    pool: number,
    device: number,
    rows: number,
    _handedNs: number,
    startNs: number,
  ): void {
    this.times.begun(startNs, device, DoneByDevice.executing);
    (this.sizes[pool] as Float64Array)[rows - 1]! += 1;
  }

  executed(
    _batch: number,
    pool: number,
    device: number,
    _rows: number,
    _handedNs: number,
    startNs: number,
    endNs: number,
  ): void {
    this.times.ended(endNs, device, DoneByDevice.executing);
    this.busyNs[pool]! += endNs - startNs;
  }

  loadBegun(atNs: number, device: number, pool: number): void {
    this.times.begun(atNs, device, DoneByDevice.loading);
    this.loads[pool]! += 1;
  }

  loaded(atNs: number, device: number): void {
    this.times.ended(atNs, device, DoneByDevice.loading);
  }

  evicted(_atNs: number, _device: number, pool: number): void {
    this.evictions[pool]! += 1;
  }

  /**
   * figures computes the figures of the run so far.
   * @param spanNs the time during which requests arrived, which rates are over; > 0
   * @param endNs the time that devices were there for, from 0 on: nothing was reported later
   */
  figures(spanNs: number, endNs: number): WorkflowFigures {
    const { models, deviceClass, classes } = this.shape;
    const devices = Array.from(deviceClass, (_, device) => device);
    return {
      overall: ofRequests(this.requests.overall(spanNs)),
      workflows: Array.from({ length: models }, (_, model) =>
        ofRequests(this.requests.figuresOf(model, spanNs)),
      ),
      drops: this.requests.dropCounts(),
      deviceTime: this.times.times(endNs, devices),
      classes: Array.from({ length: classes }, (_, index) => {
        const own = devices.filter((device) => deviceClass[device] === index);
        const busyNs = own.reduce((sum, device) => sum + this.times.executedNs(endNs, device), 0);
        return { devices: own.length, busyS: busyNs / NS_PER_S, deviceTime: this.times.times(endNs, own) };
      }),
      pools: this.sizes.map((_, pool) => this.componentFigures(pool)),
      loads: sumOf(this.loads),
      evictions: sumOf(this.evictions),
    };
  }

  private componentFigures(pool: number): ComponentFigures {
    const sizes = [...(this.sizes[pool] as Float64Array)];
    const batches = sumOf(sizes);
    const rows = sizes.reduce((sum, count, i) => sum + count * (i + 1), 0);
    return {
      batches,
      rows,
      ...(batches === 0 ? {} : { meanBatch: rows / batches }),
      sizes,
      busyS: (this.busyNs[pool] as number) / NS_PER_S,
      loads: this.loads[pool] as number,
      evictions: this.evictions[pool] as number,
    };
  }
}

/** ofRequests leaves out where the time of requests went: their tasks run side by side, so that it does not add up. */
function ofRequests({ splitMs: _, invalidRate: __, ...figures }: RequestFigures): WorkflowRequestFigures {
  return figures;
}
