import type { HighsEngine } from './highs.js';

export interface PlanOptions {
  readonly highs: HighsEngine;
  /** Relative gap at which the search stops. Default 0.001. */
  readonly gap?: number;
  /** Counted work: branch-and-bound nodes. Default `DEFAULT_WORK`. */
  readonly work?: number;
  /** Milliseconds from any origin; for the phases and `timeLimitMs`. Without it no time is known and none limits. */
  readonly clock?: () => number;
  readonly timeLimitMs?: number;
  readonly interrupted?: () => boolean;
  readonly onProgress?: (progress: PlanProgress) => void;
}

export interface PlanProgress {
  readonly phase: string;
  /** Value of the best plan so far. */
  readonly value?: number;
  readonly bound?: number;
}
