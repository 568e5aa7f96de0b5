import type { LatencyHistogram } from '../formats/index.js';
import { NS_PER_MS, NS_PER_S } from '../formats/index.js';
import { latencyHistogram } from './latency-histogram.js';
import { outcomeRates } from './outcomes.js';
import type { LatencySummary } from './percentiles.js';
import { type MakeValues, OUTCOME_KINDS, OutcomeIndex, type RunShape } from './run-shape.js';
import { summaryOf, type Values } from './values.js';

/** RequestFigures holds the outcomes of the requests of one model, or of all. docs/metrics.md defines the figures. */
export interface RequestFigures {
  readonly arrived: number;
  readonly inTime: number;
  readonly late: number;
  readonly dropped: number;
  readonly failed: number;
  /** Requests without an outcome when the figures were taken; absent when there are none. */
  readonly unfinished?: number;
  readonly attainment?: number;
  readonly dropRate?: number;
  /** Device time of requests that were dropped or late, over that of all; absent when there was none. */
  readonly invalidRate?: number;
  readonly offeredRps: number;
  readonly throughputRps: number;
  readonly goodputRps: number;
  /** Latencies of answered requests. */
  readonly latencyMs?: LatencySummary;
  readonly latencyHistogram?: LatencyHistogram;
  readonly splitMs?: LatencySplit;
}

/**
 * LatencySplit divides the latency of answered requests into parts. The three means add up to the mean
 * latency.
 */
export interface LatencySplit {
  readonly queueing: LatencySummary;
  readonly transfer: LatencySummary;
  readonly compute: LatencySummary;
}

/** DropCount counts the dropped requests of a model at one place for one reason, each by its index. */
export interface DropCount {
  readonly model: number;
  readonly reason: number;
  /** The pool where the request was dropped; −1 stands for the model's entry. */
  readonly pool: number;
  readonly count: number;
}

/** Latencies keeps the latencies of answered requests and the parts of each. */
class Latencies {
  readonly whole: Values;
  readonly queueing: Values;
  readonly transfer: Values;
  readonly compute: Values;

  constructor(make: MakeValues) {
    this.whole = make();
    this.queueing = make();
    this.transfer = make();
    this.compute = make();
  }

  merge(other: Latencies): void {
    this.whole.merge(other.whole);
    this.queueing.merge(other.queueing);
    this.transfer.merge(other.transfer);
    this.compute.merge(other.compute);
  }

  figures(): Pick<RequestFigures, 'latencyMs' | 'latencyHistogram' | 'splitMs'> {
    if (this.whole.count === 0) return {};
    // Every answered request has all of the parts.
    const summary = (values: Values) => summaryOf(values, NS_PER_MS) as LatencySummary;
    return {
      latencyMs: summary(this.whole),
      latencyHistogram: latencyHistogram(this.whole) as LatencyHistogram,
      splitMs: {
        queueing: summary(this.queueing),
        transfer: summary(this.transfer),
        compute: summary(this.compute),
      },
    };
  }
}

/** RequestShape is what a RequestFold needs to know of a run. */
type RequestShape = Pick<RunShape, 'models' | 'poolBatch' | 'dropReasons'>;

/** RequestFold counts outcomes and keeps latencies, by model. It allocates nothing per request. */
export class RequestFold {
  private readonly arrivals: Float64Array;
  private readonly outcomes: Float64Array;
  /** Device time of each model's ended requests, and of those that were dropped or late. */
  private readonly deviceNs: Float64Array;
  private readonly wastedNs: Float64Array;
  /**
   * Drops by model, then by 1 + the pool where they happened, then by reason. A row is made at a model's
   * first drop.
   */
  private readonly drops: Float64Array[] = [];
  private readonly latencies: Latencies[];

  constructor(
    private readonly shape: RequestShape,
    private readonly make: MakeValues,
  ) {
    this.arrivals = new Float64Array(shape.models);
    this.outcomes = new Float64Array(shape.models * OUTCOME_KINDS);
    this.deviceNs = new Float64Array(shape.models);
    this.wastedNs = new Float64Array(shape.models);
    this.latencies = Array.from({ length: shape.models }, () => new Latencies(make));
  }

  arrived(model: number): void {
    this.arrivals[model]! += 1;
  }

  answered(model: number, late: boolean, latencyNs: number, computeNs: number, transferNs: number): void {
    this.outcomes[model * OUTCOME_KINDS + (late ? OutcomeIndex.late : OutcomeIndex.inTime)]! += 1;
    const { whole, queueing, transfer, compute } = this.latencies[model] as Latencies;
    whole.record(latencyNs);
    // The stages of a DAG that run side by side may compute for longer than the request takes.
    queueing.record(Math.max(0, latencyNs - computeNs - transferNs));
    transfer.record(transferNs);
    compute.record(computeNs);
  }

  failed(model: number): void {
    this.outcomes[model * OUTCOME_KINDS + OutcomeIndex.failed]! += 1;
  }

  dropped(model: number, reason: number, pool: number): void {
    this.outcomes[model * OUTCOME_KINDS + OutcomeIndex.dropped]! += 1;
    const { dropReasons, poolBatch } = this.shape;
    let counts = this.drops[model];
    if (counts === undefined) {
      counts = new Float64Array((poolBatch.length + 1) * dropReasons);
      this.drops[model] = counts;
    }
    counts[(pool + 1) * dropReasons + reason]! += 1;
  }

  /** used adds the device time of a request that has ended. */
  used(model: number, deviceNs: number, wasted: boolean): void {
    this.deviceNs[model]! += deviceNs;
    if (wasted) this.wastedNs[model]! += deviceNs;
  }

  /**
   * figuresOf gives a model's figures so far.
   * @param spanNs the time during which requests arrived
   */
  figuresOf(model: number, spanNs: number): RequestFigures {
    return this.figures([model], spanNs);
  }

  overall(spanNs: number): RequestFigures {
    return this.figures(
      this.latencies.map((_, model) => model),
      spanNs,
    );
  }

  dropCounts(): DropCount[] {
    const { dropReasons } = this.shape;
    return this.drops.flatMap((counts, model) =>
      Array.from(counts).flatMap((count, i) =>
        count === 0 ? [] : [{ model, reason: i % dropReasons, pool: Math.floor(i / dropReasons) - 1, count }],
      ),
    );
  }

  private figures(models: readonly number[], spanNs: number): RequestFigures {
    const count = (outcome: number): number =>
      models.reduce((sum, m) => sum + (this.outcomes[m * OUTCOME_KINDS + outcome] as number), 0);
    const total = (column: Float64Array): number => models.reduce((sum, m) => sum + (column[m] as number), 0);
    const arrived = total(this.arrivals);
    const counts = {
      inTime: count(OutcomeIndex.inTime),
      late: count(OutcomeIndex.late),
      dropped: count(OutcomeIndex.dropped),
      failed: count(OutcomeIndex.failed),
    };
    const unfinished = arrived - counts.inTime - counts.late - counts.dropped - counts.failed;
    const { attainment, dropRate, throughputRps, goodputRps } = outcomeRates(
      { ...counts, cancelled: 0 },
      spanNs / NS_PER_S,
    );
    const device = total(this.deviceNs);
    return {
      arrived,
      ...counts,
      ...(unfinished === 0 ? {} : { unfinished }),
      ...(attainment === undefined ? {} : { attainment }),
      ...(dropRate === undefined ? {} : { dropRate }),
      ...(device === 0 ? {} : { invalidRate: total(this.wastedNs) / device }),
      offeredRps: arrived / (spanNs / NS_PER_S),
      throughputRps,
      goodputRps,
      ...this.together(models).figures(),
    };
  }

  private together(models: readonly number[]): Latencies {
    if (models.length === 1) return this.latencies[models[0] as number] as Latencies;
    const all = new Latencies(this.make);
    for (const model of models) all.merge(this.latencies[model] as Latencies);
    return all;
  }
}
