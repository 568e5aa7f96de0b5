import type { HighsEngine } from './lp/index.js';

export const DEFAULT_GAP = 1e-3;

export interface PlanOptions {
  readonly highs: HighsEngine;
  /** Relative gap at which the search stops. Default `DEFAULT_GAP`. */
  readonly gap?: number;
  /** Counted work: branch-and-bound nodes. Default `DEFAULT_WORK`. */
  readonly work?: number;
  /** Milliseconds from any origin; for the phases and `timeLimitMs`. Without it no time is known and none limits. */
  readonly clock?: () => number;
  readonly timeLimitMs?: number;
  /** `literal`: PPipe A.1/A.2 as one MILP, for small problems; `copies` pipelines of each sequence of classes (default 2). */
  readonly formulation?: 'columns' | 'literal';
  readonly copies?: number;
  readonly interrupted?: () => boolean;
  readonly onProgress?: (progress: PlanProgress) => void;
}

export interface PlanProgress {
  readonly phase: string;
  /** Value of the best plan so far. */
  readonly value?: number;
  readonly bound?: number;
}
