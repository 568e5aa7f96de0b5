import type { Confirmed } from './trial.js';

/** HeldConfirmation is what became of the plans that looked best, once other seeds had judged them. */
export interface HeldConfirmation {
  /** The best plan whose promise holds; undefined where there is none. */
  readonly confirmed: Confirmed | undefined;
  /** isCut says whether the time was over before all was tried. */
  readonly isCut: boolean;
  /** isUnconfirmed says whether the time was over before a plan that may hold the rates was confirmed. */
  readonly isUnconfirmed: boolean;
  /** How many plans were simulated beyond those of the search before. */
  readonly simulated: number;
  /** The rates that the plan held which came closest to all of them, where plans were judged that failed. */
  readonly closestRps?: readonly number[] | undefined;
}
