import { grownCapacity, grownColumn } from '../collections/index.js';
import { type ClassFigures, DeviceFold, type LinkFigures, type PoolFigures } from './device-fold.js';
import { Histogram } from './histogram.js';
import { type DropCount, type RequestFigures, RequestFold } from './request-fold.js';
import { type MakeValues, OutcomeIndex, type RunShape } from './run-shape.js';
import { ExactValues } from './values.js';
import { type WindowFigures, WindowFold } from './window-fold.js';

/**
 * Spent numbers the times in a request's row: those of its executions and transfers so far, and of the devices for it.
 * They lie together, with a fourth that is not used, so that one array is looked up for all.
 */
const Spent = { computeNs: 0, transferNs: 1, deviceNs: 2 } as const;
const SPENT_ROW = 2;

const MOST_ENDED = 512;
const ENDED_WIDTH = 8;

/** RunMetricsOptions says what the metrics of a run keep. */
export interface RunMetricsOptions {
  /**
   * Keeps every latency, for exact quantiles, at 32 bytes for each answered request. By default a histogram
   * is kept.
   */
  readonly exact?: boolean;
  /** Adds figures by windows of this many nanoseconds. */
  readonly windowNs?: number;
  /**
   * The run's warm-up, 0 by default: requests that arrive before this instant, and device time before it, do not count.
   * The durations of the shape and of windows begin with it.
   */
  readonly warmUpNs?: number;
}

/** BatchView lets the metrics read which requests are in a batch of the run. */
export interface BatchView {
  readonly core: { batchTask(batch: number, i: number): number };
  requestOf(task: number): number;
}

/** RunFigures holds all figures of a run. */
export interface RunFigures {
  readonly overall: RequestFigures;
  readonly models: readonly RequestFigures[];
  readonly drops: readonly DropCount[];
  readonly classes: readonly ClassFigures[];
  readonly pools: readonly PoolFigures[];
  readonly links: LinkFigures;
  readonly windows?: readonly WindowFigures[];
}

/**
 * RunMetrics observes a run and computes all figures that docs/metrics.md defines. Times are integer
 * nanoseconds. It keeps three numbers per open request and allocates nothing per event.
 */
export class RunMetrics {
  private readonly requests: RequestFold;
  private readonly devices: DeviceFold;
  private readonly windows: WindowFold | undefined;
  private view: BatchView | undefined;
  /** `spent` has a row of times (Spent) for each request number, of the open request that has the number. */
  private spent = new Float64Array(1024 << SPENT_ROW);
  /**
   * `rows` holds requests that have ended and are yet to be folded: model, outcome, latency, compute, transfer and
   * device time, reason and pool of each. Many are folded in one go, so that the code of the folds stays at hand.
   */
  private readonly rows = new Float64Array(MOST_ENDED * ENDED_WIDTH);
  private endedCount = 0;
  private readonly warmUpNs: number;

  constructor(
    private readonly shape: RunShape,
    { exact = false, windowNs, warmUpNs = 0 }: RunMetricsOptions = {},
  ) {
    this.warmUpNs = warmUpNs;
    const make: MakeValues = exact ? () => new ExactValues() : () => new Histogram();
    this.requests = new RequestFold(shape, make);
    this.devices = new DeviceFold(shape);
    this.windows = windowNs === undefined ? undefined : new WindowFold(shape, windowNs, make);
  }

  begun(view: BatchView): void {
    this.view = view;
  }

  arrived(atNs: number, model: number, request: number): void {
    const row = request << SPENT_ROW;
    if (row >= this.spent.length) this.grow(request + 1);
    const { spent } = this;
    spent[row + Spent.computeNs] = 0;
    spent[row + Spent.transferNs] = 0;
    spent[row + Spent.deviceNs] = 0;
    if (atNs < this.warmUpNs) return;
    this.requests.arrived(model);
    this.windows?.arrived(atNs - this.warmUpNs);
  }

  ended(
    atNs: number,
    model: number,
    request: number,
    arrivedNs: number,
    outcome: number,
    reason: number,
    pool: number,
  ): void {
    if (arrivedNs < this.warmUpNs) return;
    if (this.endedCount === MOST_ENDED) this.foldEnded();
    const row = ENDED_WIDTH * this.endedCount++;
    const { rows, spent } = this;
    const from = request << SPENT_ROW;
    rows[row] = model;
    rows[row + 1] = outcome;
    rows[row + 2] = atNs - arrivedNs;
    rows[row + 3] = spent[from + Spent.computeNs] as number;
    rows[row + 4] = spent[from + Spent.transferNs] as number;
    rows[row + 5] = spent[from + Spent.deviceNs] as number;
    rows[row + 6] = reason;
    rows[row + 7] = pool;
    if (this.windows !== undefined) this.endedInWindow(model, arrivedNs - this.warmUpNs, row);
  }

  private endedInWindow(model: number, arrivedNs: number, row: number): void {
    const windows = this.windows as WindowFold;
    const { rows } = this;
    const outcome = rows[row + 1] as number;
    const isLate = outcome === OutcomeIndex.late;
    windows.used(arrivedNs, rows[row + 5] as number, isLate || outcome === OutcomeIndex.dropped);
    if (isLate || outcome === OutcomeIndex.inTime)
      windows.answered(
        model,
        arrivedNs,
        isLate,
        rows[row + 2] as number,
        rows[row + 3] as number,
        rows[row + 4] as number,
      );
    else windows.unanswered(model, arrivedNs, outcome === OutcomeIndex.dropped ? 2 : 3);
  }

  /** foldEnded folds the requests that have ended since it was called last, in their order. */
  private foldEnded(): void {
    const { rows, requests } = this;
    const end = ENDED_WIDTH * this.endedCount;
    for (let row = 0; row < end; row += ENDED_WIDTH) {
      const model = rows[row] as number;
      const outcome = rows[row + 1] as number;
      const isLate = outcome === OutcomeIndex.late;
      const isDropped = outcome === OutcomeIndex.dropped;
      requests.used(model, rows[row + 5] as number, isLate || isDropped);
      if (isDropped) requests.dropped(model, rows[row + 6] as number, rows[row + 7] as number);
      else if (outcome === OutcomeIndex.failed) requests.failed(model);
      else
        requests.answered(
          model,
          isLate,
          rows[row + 2] as number,
          rows[row + 3] as number,
          rows[row + 4] as number,
        );
    }
    this.endedCount = 0;
  }

  executed(
    batch: number,
    pool: number,
    device: number,
    size: number,
    _handedNs: number,
    startNs: number,
    endNs: number,
  ): void {
    const { spent } = this;
    const tookNs = endNs - startNs;
    const shareNs = (tookNs * (this.shape.deviceShare[device] as number)) / size;
    for (let i = 0; i < size; i++) {
      const row = this.requestIn(batch, i) << SPENT_ROW;
      spent[row + Spent.computeNs]! += tookNs;
      spent[row + Spent.deviceNs]! += shareNs;
    }
    const { warmUpNs } = this;
    this.devices.executed(pool, device, size, startNs - warmUpNs, endNs - warmUpNs);
    this.windows?.executed(device, size, startNs - warmUpNs, endNs - warmUpNs);
  }

  transferred(
    batch: number,
    _pool: number,
    fromDevice: number,
    toDevice: number,
    size: number,
    _handedNs: number,
    startNs: number,
    endNs: number,
  ): void {
    const { spent } = this;
    for (let i = 0; i < size; i++)
      spent[(this.requestIn(batch, i) << SPENT_ROW) + Spent.transferNs]! += endNs - startNs;
    const { warmUpNs } = this;
    this.devices.transferred(fromDevice, toDevice, startNs - warmUpNs, endNs - warmUpNs);
  }

  private requestIn(batch: number, i: number): number {
    const view = this.view as BatchView;
    return view.requestOf(view.core.batchTask(batch, i));
  }

  /**
   * scaled reports that a device is asked to come up, is up, or is on standby again (0). It is in use, and paid for, from
   * when it is asked (1) until it is on standby.
   */
  scaled(atNs: number, device: number, state: number): void {
    if (state === 2) return;
    const countedNs = Math.max(0, atNs - this.warmUpNs);
    this.devices.scaled(countedNs, device, state === 1 ? 1 : -1);
    this.windows?.scaled(countedNs, device, state === 1 ? 1 : -1);
  }

  /**
   * endAt reports that the run is interrupted now: no more requests come, and device time counts until then.
   */
  endAt(atNs: number): void {
    this.devices.endAt(atNs - this.warmUpNs);
    this.windows?.endAt(atNs - this.warmUpNs);
  }

  /**
   * figures computes the figures of the run. It is called once, after the last event, because it closes all
   * windows.
   * @param spanNs the time during which requests that count arrived, which rates and utilisations are over: the run's
   *   duration, or how far an interrupted run came; > 0
   */
  figures(spanNs: number): RunFigures {
    const { models, classes } = this.shape;
    this.foldEnded();
    this.devices.close(spanNs);
    return {
      overall: this.requests.overall(spanNs),
      models: Array.from({ length: models }, (_, model) => this.requests.figuresOf(model, spanNs)),
      drops: this.requests.dropCounts(),
      classes: Array.from({ length: classes }, (_, i) => this.devices.classFigures(i)),
      pools: this.devices.poolFigures(spanNs),
      links: this.devices.linkFigures(spanNs),
      ...(this.windows === undefined ? {} : { windows: this.windows.figures(spanNs) }),
    };
  }

  private grow(requests: number): void {
    this.spent = grownColumn(this.spent, grownCapacity(this.spent.length, requests << SPENT_ROW));
  }
}
