/** Work that a search may do where none is asked for: branch-and-bound nodes. */
export const DEFAULT_WORK = 2000;

/** Whether to stop, told of the steps that were made since it was asked last. */
export type Stop = (steps: number) => boolean;

/** Steps between two questions whether to stop. */
export const STOP_EVERY = 65_536;

/** Steps that a search makes whatever work is allowed, and for each unit of it: some seconds, and some milliseconds. */
const LEAST_STEPS = 1e9;
const STEPS_PER_UNIT = 5e6;

/**
 * Counted work: steps of enumerations, pricing and tables, so that each of them ends, and at the same place every time.
 * A step is one look at a column, a state or a pair of states.
 */
export class Work {
  private steps = 0;
  private readonly most: number;

  /** @param units as `PlanOptions.work` */
  constructor(units: number = DEFAULT_WORK) {
    this.most = LEAST_STEPS + STEPS_PER_UNIT * units;
  }

  /** Books steps. @returns whether all that may be made are made */
  spend(steps: number): boolean {
    this.steps += steps;
    return this.isSpent;
  }

  get isSpent(): boolean {
    return this.steps > this.most;
  }
}
