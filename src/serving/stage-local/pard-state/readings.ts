/**
 * Readings says what PARD's paper leaves open and is read otherwise here than docs/pard.md says ("What the
 * paper leaves open"). Benches and tests give some, to show what a reading is worth. A reading that is absent
 * is as docs/pard.md says.
 */
export interface Readings {
  /** The _d_k_ of a task that is decided is that of the batch with all that is collected and it, not of the planned batch. */
  readonly formingBatch?: boolean;
  /** A batch that runs is expected to take as long as the planned one. */
  readonly runningAsPlanned?: boolean;
  /** An idle device waits for a planned batch, up to the last moment at which its most urgent task would be in time. */
  readonly idleWaits?: boolean;
  /** The interval over which T_in is counted. */
  readonly loadIntervalNs?: number;
  /** Over how many intervals T_s and ε are. */
  readonly smoothedIntervals?: number;
  /**
   * The waits that F is made from: those of one request at all stages together (of requests that came into a batch of the last
   * stage of a chain), or uniform ones from 0 to _d_i_. Else they are drawn from what was observed, stage by stage.
   */
  readonly waits?: 'joint' | 'uniform';
  /** The queueing delays of tasks that were dropped count too. */
  readonly countsDropped?: boolean;
}
