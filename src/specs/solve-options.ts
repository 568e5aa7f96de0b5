import type { Baseline } from '../milp/index.js';
import type { EngineScheduler } from '../serving/index.js';
import type { SolveLimits } from './solve-limits.js';
import type { TimingRound } from './timing-round.js';

/** SolveOptions says how a spec is solved, and where the plan is written. */
export interface SolveOptions extends SolveLimits {
  /** The file that the plan is written to; when it is left out, nothing is written. */
  readonly output?: string | undefined;
  /**
   * Whether to re-solve for one GPU more or less and for other SLOs; of an infeasible spec, for SLOs that
   * would have a plan.
   */
  readonly explain?: boolean | undefined;
  /** For cascades: whether to plan for fewer and more devices and for other latencies too. */
  readonly frontier?: boolean | undefined;
  /** Plans this baseline of PPipe (section 7.1) instead. The plan names it. */
  readonly baseline?: Baseline | undefined;
  /** `literal` solves PPipe's formulation (A.1/A.2) as printed, for small specs. The default is `columns`. */
  readonly formulation?: 'columns' | 'literal' | undefined;
  /**
   * Whether to time the partitions of the plan on this machine, add the figures to the profiles, and solve again until
   * every partition of the plan was timed.
   */
  readonly measure?: boolean | undefined;
  /**
   * The most times as long, or as short, that the whole model may take while partitions are timed as it took when it was
   * profiled; 2 by default. Beyond that nothing is timed, and the notes say so.
   */
  readonly mostDrift?: number | undefined;
  /** Whether to refuse profiles with unfit, emulated or imported figures that a plan could use. */
  readonly strictProfile?: boolean | undefined;
  /** Receives what each round of timing found. */
  readonly onTimed?: (round: TimingRound) => void;
  /**
   * Searches for the plan that holds this share of each model's requests in time in simulation, in place of that of the
   * spec's `planner.hold`.
   */
  readonly hold?: number | undefined;
  /** Plans for another engine, by the scheduler that stands for it. The plan names it. */
  readonly for?: EngineScheduler | undefined;
  /** The file of the engine's own figures: an engine profile. The plan has its figures. */
  readonly engine?: string | undefined;
  /** The number of threads for that search. By default there are as many as the machine has cores, at most 16. */
  readonly threads?: number | undefined;
  /** When it is aborted, the best plan and the explanation so far are returned. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (doing: string) => void;
  /** Receives a note where this host measured the devices and has too few cores to run all that the plan uses. */
  readonly onNote?: (text: string) => void;
}
