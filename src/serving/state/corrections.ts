/**
 * FeedbackCorrection says whether a stage-local scheduler corrects expected durations, and with them the
 * times at which devices are free, by what happened (PPipe §5.4).
 * - none: expected durations are the planned ones.
 * - average: execution times are scaled by a moving average of measured over planned, per pool.
 * - steps: execution and transfer times are scaled so, and `deviations` mean absolute deviations are added.
 */
export type FeedbackCorrection =
  | { kind: 'none' }
  | { kind: 'average'; weight: number }
  | { kind: 'steps'; weight: number; deviations: number };

/**
 * ReservationCorrection says how the reservation scheduler learns from executions and transfers that take longer or
 * shorter than expected (PPipe §5.4, feedback correction).
 * - none: it learns nothing.
 * - average: reservations follow measured times. Expected durations are the planned ones, scaled by a moving
 *   average of measured over planned, plus `deviations` mean absolute deviations.
 */
export type ReservationCorrection =
  | { kind: 'none' }
  | { kind: 'average'; weight: number; deviations: number };
