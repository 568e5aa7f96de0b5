import { noOutcomes, outcomeRates, type RequestOutcome, summarizeLatencies } from '../metrics/index.js';
import type { LoadReport, ModelLoad } from './types.js';

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
  private readonly latencyMs: number[] = [];
  private readonly latenessMs: number[] = [];
  sent = 0;
  private lastEndMs = 0;
  private stoppedShort = false;

  /** countUnsent counts that the client gave up sending the rest of the load. */
  countUnsent(): void {
    this.stoppedShort = true;
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

  countFailure(why: string, endMs: number): void {
    const isKnown = Object.hasOwn(this.failures, why) || Object.keys(this.failures).length < MOST_REASONS;
    const reason = isKnown ? why : OTHER_REASONS;
    this.failures[reason] = (this.failures[reason] ?? 0) + 1;
    this.countEnd('failed', endMs);
  }

  /** done counts the requests that have ended in any way. */
  get done(): number {
    return Object.values(this.counts).reduce((sum, count) => sum + count, 0);
  }

  /** ofModel gives what became of one model's requests, where this tally has only those. */
  ofModel(name: string, sloMs: number | undefined): ModelLoad {
    const { attainment, dropRate } = outcomeRates(this.counts, 1);
    const latencyMs = summarizeLatencies(this.latencyMs);
    return {
      name,
      ...(sloMs === undefined ? {} : { sloMs }),
      sent: this.sent,
      answered: this.counts.inTime + this.counts.late,
      ...this.counts,
      ...(attainment === undefined ? {} : { attainment }),
      ...(dropRate === undefined ? {} : { dropRate }),
      ...(latencyMs === undefined ? {} : { latencyMs }),
    };
  }

  report(
    asked: Pick<
      LoadReport,
      'url' | 'model' | 'models' | 'arrivals' | 'seed' | 'rows' | 'sloMs' | 'rps' | 'durationS'
    >,
    sendingS: number,
  ): LoadReport {
    const elapsedS = Math.max(Math.min(asked.durationS, sendingS), this.lastEndMs / 1e3);
    const { attainment, dropRate, throughputRps, goodputRps } = outcomeRates(this.counts, elapsedS);
    const latencyMs = summarizeLatencies(this.latencyMs);
    const sendLatenessMs = summarizeLatencies(this.latenessMs);
    const sentRps = this.sent / sendingS;
    const warnings: string[] = [];
    if (this.stoppedShort)
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
      throughputRps,
      goodputRps,
      ...(attainment === undefined ? {} : { attainment }),
      ...(dropRate === undefined ? {} : { dropRate }),
      ...(latencyMs === undefined ? {} : { latencyMs }),
      sentRps,
      ...(sendLatenessMs === undefined ? {} : { sendLatenessMs }),
      warnings,
    };
  }
}
