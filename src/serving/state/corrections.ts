/**
 * Whether expectations follow what really happened (PPipe §5.4), and with them when devices are free.
 * - average: executions, by a moving average of measured over planned, per pool.
 * - steps: executions and transfers, by the same plus `deviations` mean absolute deviations.
 */
export type FeedbackCorrection =
  | { kind: 'none' }
  | { kind: 'average'; weight: number }
  | { kind: 'steps'; weight: number; deviations: number };

/**
 * What is learnt from executions and transfers that take other than expected (§5.4, feedback correction).
 * - none.
 * - average: reservations follow what really happened; expectations are the planned times, scaled by a moving average of
 *   measured over expected plus `deviations` mean absolute deviations.
 */
export type ReservationCorrection =
  | { kind: 'none' }
  | { kind: 'average'; weight: number; deviations: number };
