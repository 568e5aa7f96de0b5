import type { Cluster } from './cluster.js';

/** The question `plan solve` answers for pooled pipelines (PPipe §3). */
export interface PooledSpec {
  $schema?: string;
  kind: 'pooled';
  version?: string;
  /** A cluster file's path, relative to the spec, or the cluster itself. */
  cluster: string | Cluster;
  models: PooledSpecModel[];
  planner?: PlannerOptions;
}

export interface PooledSpecModel {
  /** Path relative to the spec. */
  profile: string;
  sloMs: number;
  /** Share of the load; the least throughput/weight is maximised. Default 1. */
  weight?: number;
  /** Rate that must be met (objectives cost and power). */
  rps?: number;
  /** Device classes this model may use; all where absent or empty. */
  only?: string[];
  not?: string[];
  /** Least share of the model's throughput whose pipelines use the class, 0 to 1. */
  minShare?: Record<string, number>;
  sloMargin?: number;
  sloMarginMs?: number;
  batchFormation?: BatchFormation;
}

/** Time withheld from the SLO for a batch to fill: factor·(b − 1)/estimatedRps. */
export type BatchFormation = 'none' | { factor: number; estimatedRps: 'no-partitioning' | number };

export type ObjectiveKind = 'throughput' | 'cost' | 'power';

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
  /** What fills whole GPUs. Default pool. */
  wholeGpusPer?: 'pool' | 'position' | 'class';
  /** Whether virtual sizes may differ between the GPUs of a server. Default gpu. */
  virtualPer?: 'gpu' | 'server';
}
