import type { Emitted } from './common.js';
import type { EngineFigures } from './engine-profile.js';
import type { PlanChecks } from './plan-checks.js';
import type {
  SimulatedExecution,
  SimulatedScheduler,
  SimulatedVerdicts,
  SimulatedWorkload,
} from './simulation-report.js';

/** SchedulerComparison is a plan simulated under several schedulers, with the same arrivals and fates. */
export interface SchedulerComparison extends Emitted, PlanChecks {
  kind: 'scheduler-comparison';
  /** The seed of the first run of every scheduler; those of the others follow it. */
  seed: number;
  /** How many runs every row counts; 0 where it was interrupted before any was done. */
  runs: number;
  /** The confidence of the intervals, by Student's t; absent where there are no two runs. */
  confidence?: number;
  /**
   * complete says whether it was finished; false when it was interrupted: runs are missing, and schedulers
   * may be.
   */
  complete: boolean;
  workload: SimulatedWorkload;
  /**
   * transfers says whether transfers took the time of the cluster's links, or none, as in the server of a
   * bundle.
   */
  transfers: 'links' | 'none';
  execution: SimulatedExecution;
  /** The engine's own figures, where they were simulated. */
  engine?: EngineFigures;
  /** Where the verdicts of a pipeline's models are from; absent where they were drawn by the plan's probabilities. */
  verdicts?: SimulatedVerdicts;
  /** No percentile of a run differs from the exact one by more than this share; 0 where percentiles are exact. */
  percentileError: number;
  /** The notes of the plan. */
  notes?: string[];
  /** The scheduler that serves the plan where nothing else is asked for. */
  planned: string;
  /** The length of the windows of the rows; absent where none were asked for. */
  windowS?: number;
  /** The choices that were given; absent where none were. */
  choices?: ComparedChoice[];
  /** The priorities of requests; absent where none were asked for. */
  priorities?: ComparedPriority[];
  rows: ComparedScheduler[];
  /** The schedulers that were to be compared and are not. */
  skipped: SkippedScheduler[];
}

/** ComparedFigure is the mean of a figure over runs with its confidence interval; of one run, all are its figure. */
export interface ComparedFigure {
  mean: number;
  low: number;
  high: number;
}

/** ComparedChoice is a choice that was given, with the compared schedulers in which it exists, and the others. */
export interface ComparedChoice {
  /** The choice as it was given; of a policy file, the file and the name of the choice. */
  choice: string;
  applied: string[];
  notApplied: string[];
}

/** ComparedPriority is a priority of requests: 0 is the default level. */
export interface ComparedPriority {
  priority: number;
  /** The share of requests that was drawn for, and how much it counts that one is in time. */
  share: number;
  weight: number;
}

/** SkippedScheduler is a scheduler that was to be compared and is not. */
export interface SkippedScheduler {
  scheduler: string;
  reason: string;
}

/** ComparedScheduler holds the figures of one scheduler over all requests. A figure is absent where a run has none. */
export interface ComparedScheduler {
  scheduler: string;
  /** Every choice of the policy, as it was. */
  policy: SimulatedScheduler['policy'];
  /** The tuner that changed the replicas, with all of its settings. */
  tuner?: NonNullable<SimulatedScheduler['tuner']>;
  goodputRps: ComparedFigure;
  attainment?: ComparedFigure;
  /** The share of requests dropped or late. */
  dropRate?: ComparedFigure;
  /** The share that requests not in time have of the weight of all, where priorities or applications weigh requests. */
  weightedDropRate?: ComparedFigure;
  /** The device time of requests dropped or late over that of all. */
  invalidRate?: ComparedFigure;
  /** The mean latency of answered requests, and its percentiles. */
  meanMs?: ComparedFigure;
  p50Ms?: ComparedFigure;
  p95Ms?: ComparedFigure;
  p99Ms?: ComparedFigure;
  /** How often devices loaded and evicted components; of workflows only, as the next two. */
  loads?: ComparedFigure;
  evictions?: ComparedFigure;
  /** The share of next calls, ends included, that were as expected; absent where the scheduler expects nothing. */
  rightGuesses?: ComparedFigure;
  /** The partial schedules that were looked at to find devices for tasks; absent where the scheduler looks at none. */
  schedules?: ComparedFigure;
  /** The worst window of each length of which a whole one fits into the run. */
  worstWindows: WorstWindow[];
  /**
   * The requests dropped at the `entry`, and at each stage by its name (of pooled plans
   * `<model>/pipeline<p>/partition<q>`), as shares of arrivals; absent where a run had no request.
   */
  dropsByStage?: Record<string, ComparedFigure>;
  /** The figures of each application, where several share their stages. */
  applications?: ComparedApplication[];
  /** The figures by windows of `windowS` seconds, of which the last may be shorter; absent where none were asked for. */
  windows?: ComparedWindow[];
}

/** ComparedApplication holds the figures of the requests of one application. A figure is absent where a run has none. */
export interface ComparedApplication {
  name: string;
  goodputRps: ComparedFigure;
  attainment?: ComparedFigure;
  dropRate?: ComparedFigure;
  invalidRate?: ComparedFigure;
  meanMs?: ComparedFigure;
  p50Ms?: ComparedFigure;
  p95Ms?: ComparedFigure;
  p99Ms?: ComparedFigure;
  /** Where its requests were dropped, as shares of its arrivals. */
  dropsByStage?: Record<string, ComparedFigure>;
}

/**
 * WorstWindow has the worst figures over all windows of one length that lie within the run and in which requests arrived.
 * A figure is absent where a run has no such window.
 */
export interface WorstWindow {
  seconds: number;
  leastGoodputRps?: ComparedFigure;
  leastAttainment?: ComparedFigure;
  largestDropRate?: ComparedFigure;
}

/** ComparedWindow has the requests that arrived in a window. A figure is absent where a run has none. */
export interface ComparedWindow {
  fromS: number;
  offeredRps: ComparedFigure;
  goodputRps: ComparedFigure;
  attainment?: ComparedFigure;
  dropRate?: ComparedFigure;
  invalidRate?: ComparedFigure;
  p99Ms?: ComparedFigure;
}
