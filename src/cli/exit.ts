/** EXIT holds the exit codes that docs/design.md lists. */
export const EXIT = {
  done: 0,
  fault: 1,
  badInput: 2,
  infeasible: 3,
  limitWithPlan: 4,
  limitWithoutPlan: 5,
  checkFailed: 6,
  missing: 7,
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
