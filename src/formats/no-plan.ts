import type { Emitted } from './common.js';
import type { GearScope } from './gear-plan.js';

/** NoPlan is what `plan solve` prints as JSON where there is no plan. */
export interface NoPlan extends Emitted {
  kind: 'no-plan';
  status: 'infeasible' | 'no-plan-in-time';
  /** The limit that ended a search which found no plan; absent where none did. */
  limit?: 'gap' | 'work' | 'time' | 'interrupted' | 'copies';
  /** Where plans were found, and none held the rates in simulation: how many, and how near the best came to the rates. */
  notHeld?: {
    readonly trials: number;
    /** The share of its rate that every model holds in that plan. */
    readonly heldShare: number;
    /**
     * judgedBy says whether that is by the mean over the seeds of the search, or by the lower end over
     * others.
     */
    readonly judgedBy?: 'mean' | 'lower-end';
  };
  /**
   * The reasons why there is no plan; where a search ended before one was found, at most what was in the way of the plans
   * that it tried.
   */
  reasons: readonly NoPlanReason[];
  /**
   * The notes on the spec and its files, as a plan would have them: classes that no profile has, among
   * others.
   */
  notes?: readonly string[];
  models: readonly NoPlanModel[];
  /** With an explanation: whether the search for SLOs that have a plan was finished. */
  explained?: boolean;
  solver: {
    readonly ms: number;
    readonly phases: Readonly<Record<string, number>>;
    readonly columns: number;
    readonly rounds: number;
    readonly nodes: number;
  };
}

/** NoPlanReason is one reason why there is no plan: a code, the figures, and all of it in words. */
export interface NoPlanReason {
  readonly code:
    | 'weights-exceed-memory'
    | 'no-batch-fills'
    | 'slo-too-short'
    | 'class-too-slow'
    | 'too-few-gpus'
    | 'rate-too-high'
    | 'links-too-busy'
    | 'accuracy-too-high'
    | 'not-held'
    | 'other';
  readonly text: string;
  readonly model?: string;
  /** The stages of a pipeline that it is about. */
  readonly stages?: readonly string[];
  /** The device class. */
  readonly class?: string;
  readonly sloMs?: number;
  /** The rest of the SLO after the margin and the filling of a batch. */
  readonly leftMs?: number;
  /** The latency of the fastest pipeline, or of the whole model on the class. */
  readonly latencyMs?: number;
  readonly overMs?: number;
  /** The whole GPUs that are free, by class. */
  readonly available?: Readonly<Record<string, number>>;
  /** The share of the rates that these GPUs can serve at most. */
  readonly servedShare?: number;
  /** The share of time for which the uplink of the busiest server sends at the mean rate, by the plan that came nearest. */
  readonly busyShare?: number;
  /** The mean rate that was asked for, and the one that the devices of these stages can serve. */
  readonly rps?: number;
  readonly servedRps?: number;
  /** The rate that the model holds in the plan that comes closest, beside its share of `rps`. */
  readonly heldRps?: number;
  readonly heldShare?: number;
  /** The share of its requests that must be in time. */
  readonly attainment?: number;
  /** The memory that the weights take, and the memory that a device has. */
  readonly neededGiB?: number;
  readonly memoryGiB?: number;
  /** Of cascades: which ones the reason is about. */
  readonly scope?: GearScope;
  /** How many cascades were simulated, where the reason rests on that and not on a bound. */
  readonly triedCascades?: number;
  /** The GPUs that are missing at least, by class, where every class grows by the same factor. */
  readonly missing?: Readonly<Record<string, number>>;
}

/** NoPlanModel says which SLOs a model could meet. */
export interface NoPlanModel {
  readonly name: string;
  readonly sloMs: number;
  /** A lower bound on the SLOs that the model can meet; absent where it meets none, or none is known. */
  readonly smallestFeasibleSloMs?: number;
  /** The further objectives of a pipeline. */
  readonly objectives?: readonly NoPlanObjective[];
  /** An SLO at which there is a plan, if the other models get theirs too. */
  readonly feasibleSloMs?: number;
}

/** NoPlanObjective is a further objective of a pipeline, with the SLO that could be met. */
export interface NoPlanObjective {
  readonly sloMs: number;
  readonly attainment: number;
  /** The SLO that can be met, if the other objectives get theirs too. */
  readonly smallestFeasibleSloMs?: number;
}
