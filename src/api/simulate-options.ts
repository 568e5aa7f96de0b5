import type { JobsProgress } from '../jobs/index.js';
import type { SimulationProgress, SimulationSettings } from '../simulation/index.js';
import type { Strictness } from '../specs/index.js';

/** SimulateOptions adds to the settings of a run what is reported and where it is written. */
export interface SimulateOptions extends SimulationSettings, Strictness {
  /**
   * The number of runs, 1 to 1000, whose seeds follow one another; 1 by default. Of several, the report has the first
   * one's figures, and the means of all with their confidence intervals.
   */
  readonly runs?: number | undefined;
  /** Adds figures by windows of a given number of seconds. */
  readonly windows?: number | undefined;
  /** The share in time, of all requests and of each model, that `checks` of the report judges; of several runs by its interval. */
  readonly failUnder?: number | undefined;
  /** The file that the run's timeline is written to, as Chrome trace JSON. */
  readonly timeline?: string | undefined;
  /** The file that the report is written to. */
  readonly output?: string | undefined;
  /** When it is aborted, the requests that have arrived are served to their end and reported. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: SimulationProgress) => void;
  /** Receives a note where this host has too few cores to run all devices of a bundle, which a simulation gives cores. */
  readonly onNote?: (text: string) => void;
  /** Receives how many of several runs are done. */
  readonly onRuns?: (progress: JobsProgress) => void;
}
