import type { LoadAnsweredBy, LoadOutcomes, ModelLoad, PriorityLoad } from '../formats/index.js';
import { NS_PER_MS } from '../formats/index.js';
import {
  ExactValues,
  latencyHistogram,
  noOutcomes,
  outcomeRates,
  type RequestOutcome,
  summarizeLatencies,
} from '../metrics/index.js';
import type { PriorityShare } from '../workload/index.js';
import type { LoadReport } from './types.js';

/**
 * When the p99 of send lateness is larger than this, the figures say more about the client than about the
 * server.
 */
const LATE_CLIENT_MS = 5;

/** Different reasons of failure that are kept; a server may tell each request another. */
const MOST_REASONS = 20;
const OTHER_REASONS = 'other reasons';

/** LoadTally counts how the requests of a load ended. */
export class LoadTally {
  readonly counts = noOutcomes();
  readonly failures: Record<string, number> = {};
  /** The statuses of drops. */
  readonly drops: Record<string, number> = {};
  /** The rows that each model of a cascade answered, where the server reports it. */
  private readonly rowsBy = new Map<string, number>();
  private latencyMs: number[] = [];
  private latenessMs: number[] = [];
  sent = 0;
  private lastEndMs = 0;

  /** joined counts the requests of several tallies together. It gives a single tally itself. */
  static joined(tallies: readonly LoadTally[]): LoadTally {
    const [only, ...others] = tallies;
    if (only !== undefined && others.length === 0) return only;
    const all = new LoadTally();
    for (const tally of tallies) all.add(tally);
    return all;
  }

  /** countSent counts a request that was handed over `latenessMs` after its intended time. */
  countSent(latenessMs: number): void {
    this.sent += 1;
    this.latenessMs.push(latenessMs);
  }

  /**
   * countEnd counts the end of a request.
   * @param endMs the time since the first intended send
   * @param latencyMs the time since the request's intended send, for an answer
   */
  countEnd(outcome: RequestOutcome, endMs: number, latencyMs?: number): void {
    this.counts[outcome] += 1;
    this.lastEndMs = Math.max(this.lastEndMs, endMs);
    if (latencyMs !== undefined) this.latencyMs.push(latencyMs);
  }

  /** countDrop counts a request that the server dropped, by the status that it answered. */
  countDrop(status: number, endMs: number): void {
    this.addDrops(`${status}`, 1);
    this.countEnd('dropped', endMs);
  }

  private addDrops(status: string, requests: number): void {
    this.drops[status] = (this.drops[status] ?? 0) + requests;
  }

  /** countFailure counts a request that failed. Beyond 20 different reasons, further ones count as other reasons. */
  countFailure(why: string, endMs: number): void {
    this.countReason(why, 1);
    this.countEnd('failed', endMs);
  }

  /** countAnsweredBy counts the rows of an answer by the models of a cascade that answered them. */
  countAnsweredBy(stages: readonly string[]): void {
    for (const stage of stages) this.addRows(stage, 1);
  }

  private addRows(stage: string, rows: number): void {
    this.rowsBy.set(stage, (this.rowsBy.get(stage) ?? 0) + rows);
  }

  private countReason(why: string, requests: number): void {
    const isKnown = Object.hasOwn(this.failures, why) || Object.keys(this.failures).length < MOST_REASONS;
    const reason = isKnown ? why : OTHER_REASONS;
    this.failures[reason] = (this.failures[reason] ?? 0) + requests;
  }

  private add({ counts, failures, drops, rowsBy, latencyMs, latenessMs, sent, lastEndMs }: LoadTally): void {
    for (const outcome of Object.keys(counts) as RequestOutcome[]) this.counts[outcome] += counts[outcome];
    for (const [why, requests] of Object.entries(failures)) this.countReason(why, requests);
    for (const [status, requests] of Object.entries(drops)) this.addDrops(status, requests);
    for (const [stage, rows] of rowsBy) this.addRows(stage, rows);
    this.latencyMs = this.latencyMs.concat(latencyMs);
    this.latenessMs = this.latenessMs.concat(latenessMs);
    this.sent += sent;
    this.lastEndMs = Math.max(this.lastEndMs, lastEndMs);
  }

  /** done counts the requests that have ended in any way. */
  get done(): number {
    return Object.values(this.counts).reduce((sum, count) => sum + count, 0);
  }

  /** ofModel gives the figures of one model's requests. The tally must hold only those. */
  ofModel(name: string, sloMs: number | undefined): ModelLoad {
    return { name, ...(sloMs === undefined ? {} : { sloMs }), ...this.outcomes(sloMs !== undefined) };
  }

  /** ofPriority gives the figures of the requests of one priority. The tally must hold only those. */
  ofPriority({ priority, share }: PriorityShare, hasSlo: boolean): PriorityLoad {
    return { priority, share, ...this.outcomes(hasSlo) };
  }

  /** outcomes has no attainment where no SLO says what is in time. */
  private outcomes(hasSlo: boolean): LoadOutcomes {
    const { attainment, dropRate } = outcomeRates(this.counts, 1);
    return {
      sent: this.sent,
      answered: this.counts.inTime + this.counts.late,
      ...this.counts,
      ...(attainment === undefined || !hasSlo ? {} : { attainment }),
      ...(dropRate === undefined ? {} : { dropRate }),
      ...this.latencies(),
    };
  }

  /** latencies summarizes the latencies of answered requests, where there are any. */
  private latencies(): Pick<ModelLoad, 'latencyMs' | 'latencyHistogram'> {
    const latencyMs = summarizeLatencies(this.latencyMs);
    const values = new ExactValues();
    for (const ms of this.latencyMs) values.record(NS_PER_MS * ms);
    const histogram = latencyHistogram(values);
    return {
      ...(latencyMs === undefined ? {} : { latencyMs }),
      ...(histogram === undefined ? {} : { latencyHistogram: histogram }),
    };
  }

  /** answeredBy lists the models of a cascade that answered, that of the most rows first, where the server reports it. */
  private answeredBy(): { answeredBy?: LoadAnsweredBy[] } {
    const all = [...this.rowsBy.values()].reduce((sum, rows) => sum + rows, 0);
    if (all === 0) return {};
    const stages = [...this.rowsBy].map(([stage, rows]) => ({ stage, rows, share: rows / all }));
    return { answeredBy: stages.sort((a, b) => b.rows - a.rows || (a.stage < b.stage ? -1 : 1)) };
  }

  /**
   * report makes the report of the load from what was counted.
   * @param asked what the report says of the load, as it is
   * @param sending `seconds` is the time during which the client was sending
   */
  report(
    asked: Pick<
      LoadReport,
      'url' | 'model' | 'models' | 'arrivals' | 'seed' | 'rows' | 'tensors' | 'sloMs' | 'rps' | 'durationS'
    >,
    sending: {
      readonly seconds: number;
      /** stoppedShort says whether the client gave up sending the rest of the load. */
      readonly stoppedShort: boolean;
      /** hasSlo says whether every request was of a model with an SLO. Without, there is no attainment. */
      readonly hasSlo: boolean;
    },
  ): LoadReport {
    const { seconds: sendingS, stoppedShort, hasSlo } = sending;
    const elapsedS = Math.max(Math.min(asked.durationS, sendingS), this.lastEndMs / 1e3);
    const { attainment, dropRate, throughputRps, goodputRps } = outcomeRates(this.counts, elapsedS);
    const share = attainment === undefined || !hasSlo ? {} : { attainment };
    const sendLatenessMs = summarizeLatencies(this.latenessMs);
    const sentRps = this.sent / sendingS;
    const warnings: string[] = [];
    if (stoppedShort)
      warnings.push('the client could not keep up with the rate and stopped sending before all was sent');
    if (sendLatenessMs !== undefined && sendLatenessMs.p99 > LATE_CLIENT_MS) {
      const late = sendLatenessMs.p99.toFixed(1);
      warnings.push(`the client itself sent late (p99 ${late} ms): latencies include its own delay`);
    }
    return {
      ...asked,
      elapsedS,
      sent: this.sent,
      answered: this.counts.inTime + this.counts.late,
      ...this.counts,
      failures: this.failures,
      ...(this.counts.dropped === 0 ? {} : { drops: this.drops }),
      throughputRps,
      goodputRps,
      ...share,
      overall: share,
      ...(dropRate === undefined ? {} : { dropRate }),
      ...this.latencies(),
      ...this.answeredBy(),
      sentRps,
      ...(sendLatenessMs === undefined ? {} : { sendLatenessMs }),
      warnings,
    };
  }
}
