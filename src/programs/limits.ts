/** ProgramLimits says how much one run of a program, or all of one application together, may take. */
export interface ProgramLimits {
  /** The calls of one run. */
  readonly tasks: number;
  /** How long a run may go on without giving control back, in milliseconds. */
  readonly continuationMs: number;
  /** How long a run may take in all, in milliseconds, calls included. */
  readonly runMs: number;
  /** The heap of all runs of the application together, in MiB, without what typed arrays hold. */
  readonly heapMiB: number;
  /**
   * The memory that the typed arrays of all runs together may hold once a continuation is over, in MiB,
   * values that were read included.
   */
  readonly arraysMiB: number;
  /** How long the module may take to load, and its thread to come to its next event where no continuation runs, in milliseconds. */
  readonly loadMs: number;
}

/** PROGRAM_LIMITS are the limits of a program for which no others are given. A recorded run has 4,096 tasks at most. */
export const PROGRAM_LIMITS: ProgramLimits = {
  tasks: 256,
  continuationMs: 1000,
  runMs: 600_000,
  heapMiB: 256,
  arraysMiB: 1024,
  loadMs: 10_000,
};
