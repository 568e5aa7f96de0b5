import type { Emitted } from './common.js';
import type { GateVerdicts } from './gate-check.js';
import type { PlanChecks } from './plan-checks.js';

/**
 * Verification compares a load on a server with the simulation of the same arrivals. Its inputs are the load report and
 * the plan. docs/metrics.md defines the figures and the causes.
 */
export interface Verification extends Emitted, PlanChecks, GateVerdicts {
  kind: 'verification';
  requests: number;
  /** The figures of all requests. */
  figures: VerifiedFigure[];
  /** The figures by model, where there are several. */
  models: { name: string; figures: VerifiedFigure[] }[];
  /** The figures by priority, where requests sent some; 0 is the default level. */
  priorities?: { priority: number; figures: VerifiedFigure[] }[];
  /** The batches by partition and size, as planned, simulated and executed. */
  executions: VerifiedExecutions[];
  /** The shares of answers by the models of a cascade; absent where the server did not report them. */
  answeredBy?: VerifiedAnswers[];
  /** The causes of the difference; absent where the server did not report its measurements. */
  causes?: VerifiedCauses;
  /** within says whether the attainments are as near as was asked; absent where nothing was asked. */
  within?: { allowed: number; held: boolean };
  /** The profiles that were written with the measured latencies. */
  corrected?: CorrectedProfile[];
  /** Sentences on what may mislead. */
  notes: string[];
}

/** VerifiedFigureName names a figure that is compared; the unit is last. Shares have none. */
export type VerifiedFigureName =
  | 'attainment'
  | 'dropRate'
  | 'goodputRps'
  | 'throughputRps'
  | 'meanLatencyMs'
  | 'p50LatencyMs'
  | 'p90LatencyMs'
  | 'p95LatencyMs'
  | 'p99LatencyMs'
  | 'batches'
  | 'accuracy';

/** VerifiedFigure is one figure, simulated and live. A side without the figure, such as a latency of none, is absent. */
export interface VerifiedFigure {
  name: VerifiedFigureName;
  simulated?: number;
  live?: number;
  /** Live less simulated; absent where a side is. */
  difference?: number;
}

/** VerifiedAnswers are the shares of answered requests that a model of a cascade answered. */
export interface VerifiedAnswers {
  stage: string;
  simulated: number;
  live: number;
}

/** VerifiedExecutions are the batches of one size of a partition. */
export interface VerifiedExecutions {
  model: string;
  pipeline: number;
  partition: number;
  /** The stage of a pipeline or cascade, which is its only pipeline's partition of that number. */
  stage?: string;
  class: string;
  virtual: number;
  batch: number;
  simulatedBatches: number;
  liveBatches: number;
  plannedUs?: number;
  /** The median of those that were measured on the server. */
  measuredUs?: number;
  /** measuredUs over plannedUs. */
  factor?: number;
}

/** VerifiedCauses says what a difference comes from; the three parts add up to it. */
export interface VerifiedCauses {
  /** The mean time of a request outside the server's scheduling and executing: sending late, HTTP, parsing. */
  frontMs: number;
  /** Absent where the load has no share in time, since no SLO said what that is. */
  attainment?: CauseParts;
  meanLatencyMs: CauseParts;
  /** Of the 95th percentile, to which the front adds its mean. */
  p95LatencyMs: CauseParts;
}

/** CauseParts has the parts of a difference, live less simulated. */
export interface CauseParts {
  /** The change that comes from simulating with the measured executions. */
  executions: number;
  /** The further change that comes from the time outside of scheduling and executing. */
  front: number;
  /** The rest: requests queued otherwise than they would in the simulation. */
  queueing: number;
}

/** CorrectedProfile is a profile that was written with the measured latencies of a model. */
export interface CorrectedProfile {
  model: string;
  path: string;
  cells: { class: string; virtual: number; batch: number; factor: number; measured: number }[];
  /** The cells of the plan's classes that keep their figures, because too few batches were measured. */
  kept: { class: string; virtual: number; batch: number }[];
}
