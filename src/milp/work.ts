/** Work that a search may do where none is asked for: branch-and-bound nodes. */
export const DEFAULT_WORK = 2000;

/** Whether to stop, told of the steps that were made since it was asked last. */
export type Stop = (steps: number) => boolean;

/** Steps between two questions whether to stop. */
export const STOP_EVERY = 65_536;

/** Steps that a search makes whatever work is allowed, and for each unit of it: a second, and some milliseconds. */
const LEAST_STEPS = 2e8;
const STEPS_PER_UNIT = 2.5e6;

/** Steps that a search may make. @param units as `PlanOptions.work` */
export function allowedSteps(units: number = DEFAULT_WORK): number {
  return LEAST_STEPS + STEPS_PER_UNIT * units;
}

/**
 * What ends a search: its counted steps, so that it always ends, and at the same place every time; or what else asks it to.
 * A step is one look at a cut, a column, a state or a pair of states.
 */
export function stopAfter(steps: number, isStopped: () => boolean): Stop {
  let left = steps;
  return (made) => {
    left -= made;
    return left < 0 || isStopped();
  };
}

/** What a MILP may do within some nodes: a large one passes many checkpoints before its first. */
export function milpWork(nodes: number): { maxNodes: number; maxCheckpoints: number } {
  return { maxNodes: nodes, maxCheckpoints: 5000 + 50 * nodes };
}
