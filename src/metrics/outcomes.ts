/** OUTCOMES lists how a request can end (docs/metrics.md). */
export const OUTCOMES = ['inTime', 'late', 'dropped', 'failed', 'cancelled'] as const;
export type RequestOutcome = (typeof OUTCOMES)[number];

/** OutcomeCounts holds how many requests ended in each way. */
export type OutcomeCounts = Record<RequestOutcome, number>;

/** OutcomeRates holds the rates that follow from such counts. `attainment` and `dropRate` are from 0 to 1. */
export interface OutcomeRates {
  /** in time / (in time + late + dropped + failed); undefined when nothing was counted. */
  attainment: number | undefined;
  /** (dropped + late) / the same sum. */
  dropRate: number | undefined;
  /** Requests answered per second. */
  throughputRps: number;
  /** Requests answered in time per second. */
  goodputRps: number;
}

/** noOutcomes makes new counts that are all 0. */
export function noOutcomes(): OutcomeCounts {
  return { inTime: 0, late: 0, dropped: 0, failed: 0, cancelled: 0 };
}

/**
 * outcomeRates computes the rates of docs/metrics.md. Cancelled requests count in none of them.
 * @param seconds the time over which the outcomes were counted; > 0
 */
export function outcomeRates(counts: OutcomeCounts, seconds: number): OutcomeRates {
  const { inTime, late, dropped, failed } = counts;
  const all = inTime + late + dropped + failed;
  return {
    attainment: all === 0 ? undefined : inTime / all,
    dropRate: all === 0 ? undefined : (dropped + late) / all,
    throughputRps: (inTime + late) / seconds,
    goodputRps: inTime / seconds,
  };
}
