import type { Emitted } from './common.js';
import type { GateVerdicts } from './gate-check.js';
import type { AccuracyInterval, GearObjective } from './gear-plan.js';
import type { PlanObjective } from './pooled-plan.js';
import type { WorkflowPlanObjective } from './workflow-plan.js';

/** ComparisonDocument is a comparison as it is written to a file and printed as JSON. */
export interface ComparisonDocument extends Emitted, GateVerdicts {
  readonly kind: 'comparison';
  /** False when an interruption left cases unsolved. */
  readonly complete: boolean;
  /** The number of cases that were asked for. */
  readonly cases: number;
  /** How far the figures of the profiles can be trusted. */
  readonly notes?: readonly string[];
  /** The currency of the costs, where the cluster names one. */
  readonly currency?: string;
  readonly rows: readonly CompareRow[];
}

/**
 * CompareRow is the result of a case. Figures are missing where there is no plan, and costs where a class in
 * use has no price.
 */
export interface CompareRow {
  readonly mix: Readonly<Record<string, number>>;
  /** The classes of a pipeline's or a cascade's cluster that have no limit. */
  readonly unlimited?: readonly string[];
  readonly slo?: string;
  /** The SLO of each model or pipeline; none of a cascade that promises no latency. */
  readonly sloMs: readonly number[];
  /** Of a cascade: the accuracy that is promised. */
  readonly sloAccuracy?: number;
  readonly margin?: number;
  readonly status: 'optimal' | 'feasible' | 'infeasible' | 'no-plan-in-time';
  readonly objective?: PlanObjective | GearObjective | WorkflowPlanObjective;
  /** Of a pipeline: the share of its sample's requests in time, and the 99th percentile of their latencies. */
  readonly attainment?: number;
  readonly p99Ms?: number;
  /** Of workflows: the mean latency of the sample, and in `attainment` that of the workflow with the least. */
  readonly meanMs?: number;
  /** Of a cascade: the accuracy expected over the distribution of loads, and the largest p95 of a gear. */
  readonly accuracy?: number;
  readonly accuracyInterval?: AccuracyInterval;
  readonly p95Ms?: number;
  /** Of a pipeline or a cascade without a plan: an SLO that can be met. */
  readonly smallestFeasibleSloMs?: number;
  /** The throughput of all models together; of a cascade the largest rate that the plan was made for. */
  readonly throughputRps?: number;
  readonly models?: readonly {
    readonly name: string;
    readonly throughputRps: number;
    readonly heldRps?: number;
  }[];
  /** The rates that the plan holds in simulation, of all models together; only where such plans were searched. */
  readonly heldRps?: number;
  /** The least held rate per weight, or the price of the plan that holds the rates, and the bound that no plan passes. */
  readonly hold?: { readonly value: number; readonly bound: number };
  /** The cost of a million requests at the held rates; absent where nothing is held. */
  readonly costPerMillionHeld?: number;
  /** The GPUs that the plan occupies, by class. */
  readonly used?: Readonly<Record<string, number>>;
  /** The cost of the GPUs in use. The others need not be bought. */
  readonly hourlyCost?: number;
  /** The cost of a million requests at the planned rates; absent where nothing is served. */
  readonly costPerMillionRequests?: number;
  /** Busy GPU time over the GPU time of the mix, at the planned rates. */
  readonly utilisation?: number;
  readonly utilisationByClass?: Readonly<Record<string, number>>;
  /**
   * frontier says whether the row is on the frontier: among the mixes at the same SLOs and margin, none is
   * cheaper and as good, or better and as cheap. The throughput says how good a plan is, and of a cascade
   * what was made best.
   */
  readonly frontier?: boolean;
  /** The reasons why there is no plan, or why none was found in time. */
  readonly reasons?: readonly string[];
}
