import type { ComparisonDocument } from '../formats/index.js';
import type { JobsProgress } from '../jobs/index.js';
import type { PlanKind } from '../plans/index.js';
import type { SolveLimits } from './solve-limits.js';

/** CompareOptions says which variants of a spec are compared, and where the comparison is written. */
export interface CompareOptions extends SolveLimits {
  /** Mixes such as `L4=25,T4=75`. A class that is left out has no GPUs. */
  readonly mixes?: readonly string[] | undefined;
  /** A file with one mix per line. Lines that begin with # are comments. */
  readonly mixFile?: string | undefined;
  /** The budget per hour, in the unit of `hourlyCost`; `budgetMixes` says which mixes it gives. */
  readonly budget?: number | undefined;
  /** Sweeps such as `slo=2x..10x`, `slo=50ms..200ms`, `margin=0..0.6` or `accuracy=0.8..0.9`, each with `:steps` if wanted. */
  readonly sweeps?: readonly string[] | undefined;
  /** Searches, for every case, the plan that holds this share of each model's requests in time in simulation. */
  readonly hold?: number | undefined;
  /** Whether to refuse profiles with unfit, emulated or imported figures that a plan could use. */
  readonly strictProfile?: boolean | undefined;
  /** The file that the comparison is written to; it ends in `.json` or `.csv`. */
  readonly output?: string | undefined;
  /** The number of solver threads. By default there are as many as the machine has cores, at most 16. */
  readonly threads?: number;
  /** When it is aborted, the rows that are done are returned. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: JobsProgress) => void;
}

/** Comparison is the result of `compareSpec`. */
export interface Comparison {
  readonly document: ComparisonDocument;
  /** The kind of the plans that are compared. */
  readonly planKind: PlanKind;
  /** limitReached says whether any row missed a limit or gap that was asked for. */
  readonly limitReached: boolean;
  /** nothingHeld says whether plans that hold were asked for, and none was found for any row. */
  readonly nothingHeld: boolean;
}
