import type { Cluster } from './cluster.js';
import type { EngineFigures } from './engine-profile.js';

/** PooledSpec is the question that `plan solve` answers for pooled pipelines (PPipe §3). */
export interface PooledSpec {
  $schema?: string;
  kind: 'pooled';
  version?: string;
  /** The path of a cluster file, relative to the spec, or the cluster itself. */
  cluster: string | Cluster;
  models: PooledSpecModel[];
  planner?: PlannerOptions;
  /** The scheduler that the plan is to be served by. Default `room-first`. */
  serving?: PlanServing;
}

/** PlanServing says which scheduler serves a plan, in simulations and on a server alike. */
export interface PlanServing {
  scheduler: string;
  /**
   * Choices other than the scheduler's own: as `--policy` takes them, such as `{ "drop": "never", "late.window": 64 }`, or
   * as a policy file has them.
   */
  policy?: Record<string, string | number | boolean | { [key: string]: unknown }>;
  /** The tuner that changes the replicas of a pipeline while it serves. Default none. */
  tuner?: PlanTuner;
  /**
   * The engine's own part of a request's time, where the scheduler is that of another engine. Default
   * nothing.
   */
  engine?: EngineFigures;
  /**
   * How much it counts that a request is in time, by what it sends as `priority`: such as `{ "1": 10, "2": 2 }`. Other
   * priorities, 0 and none weigh 1.
   */
  priorities?: Record<string, number>;
}

/** DEFAULT_SCHEDULER serves plans that name no scheduler, as older versions wrote them. */
export const DEFAULT_SCHEDULER = 'stage-local';

/** PLANNED_SCHEDULER is named in plans of pipelines and in pooled plans whose spec names no scheduler. */
export const PLANNED_SCHEDULER = 'room-first';

/** PLANNED_GEARS is by what gear plans are served whose spec says nothing of it. */
export const PLANNED_GEARS: PlanServing = {
  scheduler: 'gears',
  policy: { drop: 'gear', correction: { kind: 'average', weight: 0.1 } },
};

/** EARLIER_GEARS is what versions before wrote in its place. Such plans are served as they were. */
export const EARLIER_GEARS: PlanServing = { scheduler: 'gears' };

/** PlanTuner is a tuner with the settings that differ from its own (docs/serving.md). */
export type PlanTuner =
  | { kind: 'none' }
  | { kind: 'inferline'; stabilityS?: number; lookBackS?: number; windowS?: number }
  | { kind: 'coarse'; intervalS?: number; windowS?: number; waitS?: number }
  | { kind: 'ds2'; intervalS?: number; warmUpIntervals?: number }
  | {
      kind: 'hpa';
      utilisation?: number;
      tolerance?: number;
      syncS?: number;
      stabilizationS?: number;
      upPods?: number;
      upShare?: number;
    }
  | {
      kind: 'kpa';
      concurrency?: number;
      utilisation?: number;
      stableS?: number;
      panicS?: number;
      panicThreshold?: number;
      maxScaleUpRate?: number;
      maxScaleDownRate?: number;
    }
  | { kind: 'by-rate'; intervalS?: number; utilisation?: number; keepS?: number };

/**
 * PooledSpecModel says how one model is to be served: its SLO, its share of the load, and the device classes it may
 * use.
 */
export interface PooledSpecModel {
  /** The path of the profile, relative to the spec. */
  profile: string;
  sloMs: number;
  /** The model's share of the load; the least throughput/weight is maximised. Default 1. */
  weight?: number;
  /** The rate that must be met (objectives cost and power). */
  rps?: number;
  /** The device classes that this model may use; all where absent or empty. */
  only?: string[];
  not?: string[];
  /** The least share of the model's throughput, 0 to 1, whose pipelines use the class. */
  minShare?: Record<string, number>;
  sloMargin?: number;
  sloMarginMs?: number;
  batchFormation?: BatchFormation;
  /** The share of the model's requests that the plan is to hold in time, in place of that of the planner's `hold`. */
  hold?: number;
}

/** BatchFormation is time withheld from the SLO for a batch to fill: factor·(b − 1)/estimatedRps. */
export type BatchFormation = 'none' | { factor: number; estimatedRps: 'no-partitioning' | number };

/**
 * PlanToHold asks for a plan that holds its promise in simulation: this share of each model's requests in time, of
 * arrivals of this kind (Poisson where it is only a number).
 */
export type PlanToHold = number | { attainment: number; arrivals?: HoldArrivals; cv?: number };

/** HoldArrivals is how the requests arrive that a plan is to hold. */
export type HoldArrivals = 'poisson' | 'uniform' | 'gamma';

/** ObjectiveKind says what is optimised: the most throughput, or the least cost or power at given rates. */
export type ObjectiveKind = 'throughput' | 'cost' | 'power';

/** PlannerOptions holds the settings of the planner. An option that is left out takes its default. */
export interface PlannerOptions {
  /** Default throughput. */
  objective?: ObjectiveKind;
  /** 1 to 5; default 3. */
  maxPartitions?: number;
  /** Default block. */
  granularity?: 'block' | 'layer';
  /** Fraction of each SLO withheld from the planner. Default 0.4. */
  sloMargin?: number;
  sloMarginMs?: number;
  /** All partitions of a pipeline use one batch size (PPipe §5.3). Default true. */
  unifiedBatch?: boolean;
  batchFormation?: BatchFormation;
  /** Bound a partition's rate by its share of its server's link. Default true. */
  linkThroughput?: boolean;
  /** The group of virtual GPUs that fills whole GPUs. Default pool. */
  wholeGpusPer?: 'pool' | 'position' | 'class';
  /** virtualPer says whether virtual sizes may differ between the GPUs of a server. Default gpu. */
  virtualPer?: 'gpu' | 'server';
  /** Search for the plan that holds most in simulation, rather than the one that could serve most. */
  hold?: PlanToHold;
}
