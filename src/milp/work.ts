/** The work that a search may do by default, in branch-and-bound nodes. */
export const DEFAULT_WORK = 2000;

/** Stop is told the number of steps since its last call, and says whether to stop. */
export type Stop = (steps: number) => boolean;

/** A search asks whether to stop after this many steps. */
export const STOP_EVERY = 65_536;

/**
 * A search may always make LEAST_STEPS (about a second), and STEPS_PER_UNIT (a few milliseconds) more for each unit of
 * work.
 */
const LEAST_STEPS = 2e8;
const STEPS_PER_UNIT = 2.5e6;

/**
 * allowedSteps is the number of steps that a search may make.
 * @param units the work, as in `PlanOptions.work`
 */
export function allowedSteps(units: number = DEFAULT_WORK): number {
  return LEAST_STEPS + STEPS_PER_UNIT * units;
}

/**
 * stopAfter ends a search after a counted number of steps, so that it always ends, and always at the same place, unless
 * `isStopped` ends it earlier. One look at a cut, a column, a state or a pair of states is a step.
 */
export function stopAfter(steps: number, isStopped: () => boolean): Stop {
  let left = steps;
  return (made) => {
    left -= made;
    return left < 0 || isStopped();
  };
}

/**
 * milpWork limits a MILP to a number of nodes. A large MILP passes many checkpoints before its first node, so these are
 * limited too.
 */
export function milpWork(nodes: number): { maxNodes: number; maxCheckpoints: number } {
  return { maxNodes: nodes, maxCheckpoints: 5000 + 50 * nodes };
}
