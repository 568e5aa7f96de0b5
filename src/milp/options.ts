import type { HighsEngine } from '../lp/index.js';

/** DEFAULT_GAP is the relative gap at which a search stops by default: a thousandth. */
export const DEFAULT_GAP = 1e-3;

/** PlanOptions holds the solver and the limits of a search. By default there is no time limit. */
export interface PlanOptions {
  readonly highs: HighsEngine;
  /** The search stops once the plan's relative gap to the bound is this small. The default is 0.001. */
  readonly gap?: number;
  /** The work that the search may do, in branch-and-bound nodes. The default is 2000, and less for large MILPs. */
  readonly work?: number;
  /** A clock in milliseconds from any origin, for the phases and `timeLimitMs`. Without it, all times are 0. */
  readonly clock?: () => number;
  /**
   * The time that planning may take, in milliseconds. It needs a `clock`: without one, each single MILP may take all of
   * it by the solver's own clock, and a plan that this cut short says that its `work` was over.
   */
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

/** PlanProgress is a report during planning: what is being done, and figures of the objective in its own unit. */
export interface PlanProgress {
  readonly phase: string;
  /** The value of the best plan so far. */
  readonly value?: number;
  readonly bound?: number;
}
