import type { HighsEngine } from './lp/index.js';

export const DEFAULT_GAP = 1e-3;

export interface PlanOptions {
  readonly highs: HighsEngine;
  /** The search stops at this relative gap. The default is `DEFAULT_GAP`. */
  readonly gap?: number;
  /** The work that the search may do, in branch-and-bound nodes. The default is `DEFAULT_WORK`. */
  readonly work?: number;
  /**
   * A clock in milliseconds from any origin, for the phases and `timeLimitMs`. Without it, times are unknown and do not
   * limit the search.
   */
  readonly clock?: () => number;
  readonly timeLimitMs?: number;
  /**
   * `literal` solves PPipe A.1/A.2 as one MILP, for small problems, with `copies` pipelines of each sequence of
   * classes (2 by default).
   */
  readonly formulation?: 'columns' | 'literal';
  readonly copies?: number;
  readonly interrupted?: () => boolean;
  readonly onProgress?: (progress: PlanProgress) => void;
}

export interface PlanProgress {
  readonly phase: string;
  /** The value of the best plan so far. */
  readonly value?: number;
  readonly bound?: number;
}
