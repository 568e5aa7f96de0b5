import { NS_PER_MS, NS_PER_S } from '../formats/index.js';
import { outcomeRates } from './outcomes.js';
import {
  devicesInUse,
  gpusInUse,
  type MakeValues,
  OUTCOME_KINDS,
  OutcomeIndex,
  type RunShape,
  shareOf,
} from './run-shape.js';
import { StepSums } from './step-sums.js';
import type { Values } from './values.js';

/**
 * WindowFigures describes one window: the requests that arrived in it, the batches that began in it, and the
 * device time that was spent in it.
 */
export interface WindowFigures {
  readonly fromS: number;
  readonly arrived: number;
  readonly inTime: number;
  readonly late: number;
  readonly dropped: number;
  readonly failed: number;
  readonly attainment?: number;
  readonly invalidRate?: number;
  readonly offeredRps: number;
  readonly goodputRps: number;
  readonly latencyMs?: {
    readonly mean: number;
    readonly p50: number;
    readonly p99: number;
    readonly max: number;
  };
  /** The mean parts of the latency, over answered requests. */
  readonly splitMs?: { readonly queueing: number; readonly transfer: number; readonly compute: number };
  readonly batches: number;
  readonly meanBatch?: number;
  /** The busy share of the GPUs, by class. */
  readonly utilisation: number[];
  /** The attainment by model; null where none of its requests ended. */
  readonly attainments: (number | null)[];
  /** The mean number of devices in use, by pool; absent where all were from beginning to end. */
  readonly inUse?: number[];
}

/** How many numbers a window has besides those of its classes and models. */
const FIELDS = 12;
const At = {
  arrived: 0,
  open: 1,
  deviceNs: 2,
  wastedNs: 3,
  transferNs: 4,
  computeNs: 5,
  batches: 6,
  batched: 7,
  latencyNs: 8,
  p50: 9,
  p99: 10,
  queueingNs: 11,
} as const;

/** windowCells counts the numbers of 8 bytes that a fold over this many windows keeps, its latencies aside. */
export function windowCells(
  shape: Pick<RunShape, 'models' | 'classes'> & { readonly pools?: number },
  windows: number,
): number {
  return windows * (FIELDS + 1 + OUTCOME_KINDS * shape.models + 2 * shape.classes + (shape.pools ?? 0));
}

/**
 * WindowFold computes a run's figures by windows of its time. It keeps latencies only for windows with open
 * requests: a window closes when a later one has begun and its last request has ended.
 */
export class WindowFold {
  private readonly count: number;
  private readonly cells: Float64Array;
  private readonly max: Float64Array;
  private readonly outcomes: Float64Array;
  private readonly busyNs: Float64Array;
  private readonly latencies: (Values | undefined)[];
  private readonly spare: Values[] = [];
  /** The GPUs of each class that are in use, and the devices of each pool. */
  private readonly classesInUse: StepSums;
  private readonly poolsInUse: StepSums;
  private newest = 0;
  /** Batches that begin after this instant, and device time after it, do not count. */
  private untilNs: number;

  constructor(
    private readonly shape: RunShape,
    private readonly windowNs: number,
    private readonly make: MakeValues,
  ) {
    this.untilNs = shape.durationNs;
    this.count = Math.max(1, Math.ceil(shape.durationNs / windowNs));
    this.cells = new Float64Array(this.count * FIELDS);
    this.max = new Float64Array(this.count);
    this.outcomes = new Float64Array(this.count * shape.models * OUTCOME_KINDS);
    this.busyNs = new Float64Array(this.count * shape.classes);
    this.latencies = new Array<Values | undefined>(this.count).fill(undefined);
    this.classesInUse = new StepSums(gpusInUse(shape), windowNs, this.count);
    this.poolsInUse = new StepSums(
      shape.scaling === undefined ? [] : devicesInUse(shape),
      windowNs,
      this.count,
    );
  }

  /** scaled reports that a device is in use from now on, or no longer. */
  scaled(atNs: number, device: number, by: 1 | -1): void {
    if (atNs >= this.untilNs) return;
    const { scaling, deviceClass, deviceShare } = this.shape;
    this.classesInUse.change(atNs, deviceClass[device] as number, by * (deviceShare[device] as number));
    for (const pool of scaling?.poolsOf[device] ?? []) this.poolsInUse.change(atNs, pool, by);
  }

  arrived(atNs: number): void {
    const window = this.windowOf(atNs);
    this.cells[window * FIELDS + At.arrived]! += 1;
    this.cells[window * FIELDS + At.open]! += 1;
    for (let before = this.newest; before < window; before++) this.closeIfDone(before);
    this.newest = window;
  }

  answered(
    model: number,
    arrivedNs: number,
    late: boolean,
    latencyNs: number,
    computeNs: number,
    transferNs: number,
  ): void {
    const window = this.windowOf(arrivedNs);
    const row = window * FIELDS;
    this.cells[row + At.computeNs]! += computeNs;
    this.cells[row + At.transferNs]! += transferNs;
    // The stages of a DAG that run side by side may compute for longer than the request takes.
    this.cells[row + At.queueingNs]! += Math.max(0, latencyNs - computeNs - transferNs);
    this.cells[row + At.latencyNs]! += latencyNs;
    if (latencyNs > (this.max[window] as number)) this.max[window] = latencyNs;
    this.valuesOf(window).record(latencyNs);
    this.ended(model, window, late ? OutcomeIndex.late : OutcomeIndex.inTime);
  }

  unanswered(model: number, arrivedNs: number, outcome: 2 | 3): void {
    this.ended(model, this.windowOf(arrivedNs), outcome);
  }

  used(arrivedNs: number, deviceNs: number, wasted: boolean): void {
    const row = this.windowOf(arrivedNs) * FIELDS;
    this.cells[row + At.deviceNs]! += deviceNs;
    if (wasted) this.cells[row + At.wastedNs]! += deviceNs;
  }

  executed(device: number, size: number, startNs: number, endNs: number): void {
    const { classes, deviceClass, deviceShare } = this.shape;
    if (startNs >= this.untilNs) return;
    const index = deviceClass[device] as number;
    const share = deviceShare[device] as number;
    let from = Math.max(0, startNs);
    const first = this.windowOf(from);
    if (startNs >= 0) {
      this.cells[first * FIELDS + At.batches]! += 1;
      this.cells[first * FIELDS + At.batched]! += size;
    }
    const end = Math.min(endNs, this.untilNs);
    for (let window = first; from < end; window++) {
      const until = Math.min(end, (window + 1) * this.windowNs);
      this.busyNs[window * classes + index]! += share * (until - from);
      from = until;
    }
  }

  /** endAt ends the run earlier than planned. Events that ended after this instant must not have been reported before. */
  endAt(untilNs: number): void {
    this.untilNs = untilNs;
  }

  /**
   * figures gives the windows that had begun by the end of the run.
   * @param spanNs how far the run came
   */
  figures(spanNs: number): WindowFigures[] {
    for (let window = 0; window < this.count; window++) this.close(window);
    this.classesInUse.addUpAll(spanNs);
    this.poolsInUse.addUpAll(spanNs);
    const reached = Math.min(this.count, Math.max(1, Math.ceil(spanNs / this.windowNs)));
    return Array.from({ length: reached }, (_, window) => this.figuresOf(window, spanNs));
  }

  private figuresOf(window: number, spanNs: number): WindowFigures {
    const row = window * FIELDS;
    const cell = (at: number): number => this.cells[row + at] as number;
    const fromNs = window * this.windowNs;
    const lengthNs = Math.min(this.windowNs, spanNs - fromNs);
    const all = this.outcomesOf(window);
    const { attainment, goodputRps } = outcomeRates(all, lengthNs / NS_PER_S);
    const answered = all.inTime + all.late;
    const mean = (totalNs: number): number => totalNs / answered / NS_PER_MS;
    const utilisation = Array.from({ length: this.shape.classes }, (_, i) =>
      shareOf(this.busyNs[window * this.shape.classes + i] as number, this.classesInUse.sumOf(window, i)),
    );
    const attainments = Array.from(
      { length: this.shape.models },
      (_, model) => outcomeRates(this.outcomesOf(window, model), 1).attainment ?? null,
    );
    const { inTime, late, dropped, failed } = all;
    return {
      fromS: fromNs / NS_PER_S,
      arrived: cell(At.arrived),
      inTime,
      late,
      dropped,
      failed,
      ...(attainment === undefined ? {} : { attainment }),
      ...(cell(At.deviceNs) === 0 ? {} : { invalidRate: cell(At.wastedNs) / cell(At.deviceNs) }),
      offeredRps: cell(At.arrived) / (lengthNs / NS_PER_S),
      goodputRps,
      ...(answered === 0
        ? {}
        : {
            latencyMs: {
              mean: mean(cell(At.latencyNs)),
              p50: cell(At.p50) / NS_PER_MS,
              p99: cell(At.p99) / NS_PER_MS,
              max: (this.max[window] as number) / NS_PER_MS,
            },
            splitMs: {
              queueing: mean(cell(At.queueingNs)),
              transfer: mean(cell(At.transferNs)),
              compute: mean(cell(At.computeNs)),
            },
          }),
      batches: cell(At.batches),
      ...(cell(At.batches) === 0 ? {} : { meanBatch: cell(At.batched) / cell(At.batches) }),
      utilisation,
      attainments,
      ...(this.shape.scaling === undefined
        ? {}
        : {
            inUse: Array.from(
              this.shape.poolDevices,
              (_, pool) => this.poolsInUse.sumOf(window, pool) / lengthNs,
            ),
          }),
    };
  }

  private outcomesOf(window: number, only?: number) {
    const counts = [0, 0, 0, 0];
    const { models } = this.shape;
    for (let model = only ?? 0; model < (only === undefined ? models : only + 1); model++)
      for (let kind = 0; kind < OUTCOME_KINDS; kind++)
        counts[kind]! += this.outcomes[(window * models + model) * OUTCOME_KINDS + kind] as number;
    const [inTime = 0, late = 0, dropped = 0, failed = 0] = counts;
    return { inTime, late, dropped, failed, cancelled: 0 };
  }

  private ended(model: number, window: number, outcome: number): void {
    this.outcomes[(window * this.shape.models + model) * OUTCOME_KINDS + outcome]! += 1;
    this.cells[window * FIELDS + At.open]! -= 1;
    if (window < this.newest) this.closeIfDone(window);
  }

  private windowOf(atNs: number): number {
    const window = Math.floor(atNs / this.windowNs);
    return window < this.count ? window : this.count - 1;
  }

  private valuesOf(window: number): Values {
    let values = this.latencies[window];
    if (values === undefined) {
      values = this.spare.pop() ?? this.make();
      this.latencies[window] = values;
    }
    return values;
  }

  private closeIfDone(window: number): void {
    if (this.cells[window * FIELDS + At.open] === 0) this.close(window);
  }

  private close(window: number): void {
    const values = this.latencies[window];
    if (values === undefined) return;
    this.cells[window * FIELDS + At.p50] = values.quantile(0.5) as number;
    this.cells[window * FIELDS + At.p99] = values.quantile(0.99) as number;
    values.clear();
    this.spare.push(values);
    this.latencies[window] = undefined;
  }
}
