import { Counter, Registry } from 'prom-client';
import { itemAt } from '../../collections/index.js';
import { stageFields } from '../../formats/index.js';
import { areChains, gearsOf, ownerOf, type Pool, sharingFirst, unreachable } from '../../serving/index.js';
import type { CheckedBundle } from '../bundle/opened-bundle.js';
import { ExecutionTimes } from './execution-times.js';
import type { LiveDriver } from './live-driver.js';
import type { BatchRecord, Ending } from './live-requests.js';
import { type CascadeCounters, cascadeCounters, nvCounters, ownCounters } from './prometheus-counters.js';
import { handOverUs, type PhaseTimes, phasesUs, type RequestTimes } from './request-times.js';

/** BatchSums are the batches of one size and the sums of their phases. */
export interface BatchSums extends PhaseTimes {
  readonly executions: number;
}

/**
 * ModelSums holds what a model's requests and batches add up to since the start, as Triton's statistics extension
 * defines it.
 */
export interface ModelSums {
  /** The requests that were answered, in time or late. */
  success: number;
  /** All other requests, also those that were cancelled or not valid. */
  failure: number;
  /** The rows and the batches that were executed by partitions or stages with which a request may end, and the batches by size. */
  rows: number;
  executions: number;
  readonly batches: Map<number, BatchSums>;
  /** When the last answer was given, in milliseconds since 1970; 0 before the first. */
  lastInferenceMs: number;
  /** The time from arrival to answer of the requests in `success`, and the parts that it consists of. */
  requestUs: number;
  queueUs: number;
  inputUs: number;
  inferUs: number;
  outputUs: number;
  /** The time until requests were dropped or failed. */
  failureUs: number;
}

/** EndedRequests counts requests by how they ended; `refused` are those that were not valid and so not submitted. */
export type EndedRequests = Record<
  'in_time' | 'late' | 'dropped' | 'failed' | 'cancelled' | 'refused',
  number
>;

/**
 * RefusalReason is the `reason` of a request that was not answered: dropped, given up by its client, failed, or not
 * valid.
 */
export type RefusalReason = 'REJECTED' | 'CANCELED' | 'BACKEND' | 'OTHER';

/**
 * Counters holds the server's counters, which docs/metrics.md defines. Models and devices are given by their index in
 * the bundle's topology. The counters' text is made only when it is asked for.
 */
export class Counters {
  readonly registry = new Registry();
  readonly sums: ModelSums[];
  readonly times: ExecutionTimes;
  /** The outcomes of all requests so far. */
  readonly endings: EndedRequests = {
    in_time: 0,
    late: 0,
    dropped: 0,
    failed: 0,
    cancelled: 0,
    refused: 0,
  };
  /** The answers that were not sent, of requests that ended answered. */
  unsentAnswers = 0;
  /** By the first of the models that share pools, all of them: a batch is one of each. */
  private readonly sharers: readonly (readonly number[])[];
  /**
   * countsByBatch says whether rows count as executed by the batches of last partitions. Where routes are no
   * chains, rows may end after several stages, or pass several last ones; and of models that share pools, a
   * batch may hold rows of several.
   */
  private readonly countsByBatch: boolean;
  private readonly nv = nvCounters(this.registry);
  private readonly own = ownCounters(this.registry);
  /** Of a cascade alone: which gear is active, and which models answer. */
  private readonly cascade: CascadeCounters | undefined;

  constructor(
    private readonly bundle: CheckedBundle,
    driver: () => Pick<LiveDriver, 'decideUs' | 'decideCalls'>,
    private readonly onArrival: () => void = () => {},
  ) {
    this.times = new ExecutionTimes(bundle.topology.pools.length);
    const sharing = [...sharingFirst(bundle.topology)];
    this.sharers = sharing.map((_, first) =>
      sharing.flatMap((shared, model) => (shared === first ? [model] : [])),
    );
    this.countsByBatch = areChains(bundle.topology.routes) && this.sharers.every(({ length }) => length <= 1);
    this.sums = bundle.models.map(() => ({
      success: 0,
      failure: 0,
      rows: 0,
      executions: 0,
      batches: new Map(),
      lastInferenceMs: 0,
      requestUs: 0,
      failureUs: 0,
      queueUs: 0,
      inputUs: 0,
      inferUs: 0,
      outputUs: 0,
    }));
    for (const { name: model } of bundle.models) {
      for (const outcome of ['in_time', 'late', 'dropped', 'failed', 'cancelled']) {
        this.own.outcomes.inc({ model, outcome }, 0);
      }
      this.own.unsent.inc({ model }, 0);
      this.nv.success.inc({ model, version: '1' }, 0);
      this.nv.pending.set({ model, version: '1' }, 0);
    }
    if (gearsOf(bundle.topology.routes) !== undefined) this.cascade = this.cascadeCounters();
    new Counter({
      name: 'inferplan_decide_us_total',
      help: 'Time spent in the scheduling core, microseconds',
      registers: [this.registry],
      collect() {
        this.reset();
        this.inc(driver().decideUs);
      },
    });
    new Counter({
      name: 'inferplan_decide_calls_total',
      help: 'Calls of the scheduling core',
      registers: [this.registry],
      collect() {
        this.reset();
        this.inc(driver().decideCalls);
      },
    });
  }

  /** cascadeCounters makes the counters of a cascade, which is the one model that clients call, in its first gear. */
  private cascadeCounters(): CascadeCounters {
    const made = cascadeCounters(this.registry);
    const { name: model } = itemAt(this.bundle.models, 0);
    made.gear.set({ model }, 0);
    made.shifts.inc({ model }, 0);
    for (const { answers: stage } of this.bundle.work)
      if (stage !== undefined) made.answered.inc({ model, stage }, 0);
    return made;
  }

  /** shifted says which gear has become active, by its number in the plan. */
  shifted(gear: number): void {
    const { name: model } = itemAt(this.bundle.models, 0);
    this.cascade?.gear.set({ model }, gear);
    this.cascade?.shifts.inc({ model });
  }

  /** arrived counts a request as in flight, until `ended` or `cancelled` is called for it. */
  arrived(model: number): void {
    this.onArrival();
    this.nv.pending.inc(this.labels(model));
  }

  /** ended counts a request that was answered, dropped or failed, and where its time went. */
  ended(model: number, ending: Ending, times: RequestTimes): void {
    const labels = this.labels(model);
    this.nv.pending.dec(labels);
    const outcome = outcomeName(ending);
    this.own.outcomes.inc({ model: labels.model, outcome });
    this.endings[outcome] += 1;
    switch (ending.kind) {
      case 'answered':
        this.answered(model, times);
        if (!this.countsByBatch) this.rowsEnded(model, ending.rows);
        for (const { model: stage } of ending.answeredBy)
          this.cascade?.answered.inc({ model: labels.model, stage });
        return;
      case 'dropped':
        this.notAnswered(model, 'REJECTED', times);
        this.own.drops.inc({ model: labels.model, reason: ending.reason, place: ending.place });
        return;
      case 'failed':
        this.notAnswered(model, 'BACKEND', times);
        return;
      default:
        unreachable(ending);
    }
  }

  /**
   * endedWith counts a request's outcome by its priority, where the plan has some. Priorities that the plan
   * does not name are 0.
   */
  endedWith(model: number, priority: number, ending: Ending): void {
    const { priorities } = this.bundle.plan.serving ?? {};
    if (priorities === undefined) return;
    const level = Object.hasOwn(priorities, priority) ? priority : 0;
    const labels = { model: itemAt(this.bundle.models, model).name, priority: `${level}` };
    this.own.byPriority.inc({ ...labels, outcome: outcomeName(ending) });
  }

  private notAnswered(model: number, reason: RefusalReason, { tookUs }: RequestTimes): void {
    const sums = itemAt(this.sums, model);
    this.nv.failure.inc({ ...this.labels(model), reason });
    sums.failure += 1;
    sums.failureUs += tookUs;
  }

  private answered(model: number, { tookUs, queueUs, inputUs, inferUs, outputUs }: RequestTimes): void {
    const labels = this.labels(model);
    const sums = itemAt(this.sums, model);
    this.nv.success.inc(labels);
    this.nv.requestUs.inc(labels, tookUs);
    this.nv.queueUs.inc(labels, queueUs);
    this.nv.inputUs.inc(labels, inputUs);
    this.nv.inferUs.inc(labels, inferUs);
    this.nv.outputUs.inc(labels, outputUs);
    sums.success += 1;
    sums.requestUs += tookUs;
    sums.queueUs += queueUs;
    sums.inputUs += inputUs;
    sums.inferUs += inferUs;
    sums.outputUs += outputUs;
    sums.lastInferenceMs = Date.now();
  }

  /** cancelled counts a request whose client has left before its answer. */
  cancelled(model: number): void {
    const labels = this.labels(model);
    this.nv.pending.dec(labels);
    this.nv.failure.inc({ ...labels, reason: 'CANCELED' });
    this.own.outcomes.inc({ model: labels.model, outcome: 'cancelled' });
    this.endings.cancelled += 1;
    itemAt(this.sums, model).failure += 1;
  }

  /** refused counts a request that was not valid and so not submitted. */
  refused(model: number): void {
    this.nv.failure.inc({ ...this.labels(model), reason: 'OTHER' });
    this.endings.refused += 1;
    itemAt(this.sums, model).failure += 1;
  }

  /** unsent counts an answer that could not be sent, such as for want of memory. */
  unsent(model: string): void {
    this.unsentAnswers += 1;
    this.own.unsent.inc({ model });
  }

  /**
   * batch counts a batch that ended, and the time that its device was busy. Its rows count as executed where it is of
   * the last partition (those of a DAG count when they are answered); a failed batch counts as busy time alone.
   */
  batch(record: BatchRecord): void {
    const pool = itemAt(this.bundle.topology.pools, record.pool);
    const place = this.place(pool);
    this.own.busyUs.inc({ device: this.deviceName(record.device) }, record.busyUs);
    if (record.phases === undefined) return;
    this.own.batchSize.observe(place, record.size);
    this.own.handOverUs.inc(place, handOverUs(record.phases));
    this.times.record(record.pool, record.size, record.busyUs);
    if (!this.mayEnd(record.pool)) return;
    for (const model of itemAt(this.sharers, pool.model))
      this.executed(model, record.size, phasesUs(record.phases));
    if (this.countsByBatch) this.rowsEnded(pool.model, record.size);
  }

  private executed(model: number, size: number, phases: PhaseTimes): void {
    this.nv.executions.inc(this.labels(model));
    const { batches } = itemAt(this.sums, model);
    batches.set(size, withBatch(batches.get(size), phases));
    itemAt(this.sums, model).executions += 1;
  }

  /** mayEnd says whether a request may end with the stage of a pool: what this gives is then an answer. */
  private mayEnd(index: number): boolean {
    const { pools, routes } = this.bundle.topology;
    const { model, edges } = itemAt(pools, index);
    if (areChains(routes)) return edges.length === 0;
    const answers = itemAt(this.bundle.models, model).outputKeys;
    return itemAt(this.bundle.work, index).outputs.some(({ key, endKey = key }) => answers.includes(endKey));
  }

  /** rowsEnded counts rows that were executed to the end. */
  private rowsEnded(model: number, rows: number): void {
    this.nv.rows.inc(this.labels(model), rows);
    itemAt(this.sums, model).rows += rows;
  }

  /** executionFailed counts a batch of a pool that failed on its device, or was lost with it. */
  executionFailed(pool: number): void {
    this.own.failures.inc(this.place(itemAt(this.bundle.topology.pools, pool)));
  }

  device(device: number, up: boolean): void {
    this.own.up.set({ device: this.deviceName(device) }, up ? 1 : 0);
  }

  /** restarted counts an executor that was started again after it had ended by itself. */
  restarted(device: number): void {
    this.own.restarts.inc({ device: this.deviceName(device) });
  }

  private place(pool: Pool) {
    return { model: ownerOf(this.bundle.topology, pool), ...stageFields(pool.stage) };
  }

  private deviceName(device: number): string {
    return itemAt(this.bundle.topology.devices, device).name;
  }

  private labels(model: number): { model: string; version: string } {
    return { model: itemAt(this.bundle.models, model).name, version: '1' };
  }
}

function withBatch(sums: BatchSums | undefined, { inputUs, inferUs, outputUs }: PhaseTimes): BatchSums {
  return {
    executions: (sums?.executions ?? 0) + 1,
    inputUs: (sums?.inputUs ?? 0) + inputUs,
    inferUs: (sums?.inferUs ?? 0) + inferUs,
    outputUs: (sums?.outputUs ?? 0) + outputUs,
  };
}

function outcomeName(ending: Ending): Exclude<keyof EndedRequests, 'cancelled' | 'refused'> {
  switch (ending.kind) {
    case 'answered':
      return ending.inTime ? 'in_time' : 'late';
    case 'dropped':
    case 'failed':
      return ending.kind;
  }
}
