/** DEFAULT_WORK is the work that a search may do by default, in branch-and-bound nodes. */
export const DEFAULT_WORK = 2000;

/** Stop takes the number of steps made since its last call, and returns whether to stop. */
export type Stop = (steps: number) => boolean;

/** STOP_EVERY is the number of steps after which a search asks its `Stop` again. */
export const STOP_EVERY = 65_536;

/**
 * A search may always make LEAST_STEPS (about a second), and STEPS_PER_UNIT (a few milliseconds) more for each unit of
 * work.
 */
const LEAST_STEPS = 2e8;
const STEPS_PER_UNIT = 2.5e6;

/**
 * allowedSteps is the number of steps that a search over tables or columns may make: 2·10⁸, and 2.5·10⁶ more for each
 * unit of work.
 * @param units the work, as in `PlanOptions.work`
 */
export function allowedSteps(units: number = DEFAULT_WORK): number {
  return LEAST_STEPS + STEPS_PER_UNIT * units;
}

/**
 * stopAfter makes a `Stop` that is true once more than `steps` steps were counted over all its calls, so that
 * a search always ends, and always at the same place, or as soon as `isStopped` is true. A step is one look
 * at a cut, a column, a state or a pair of states.
 */
export function stopAfter(steps: number, isStopped: () => boolean): Stop {
  let left = steps;
  return (made) => {
    left -= made;
    return left < 0 || isStopped();
  };
}
