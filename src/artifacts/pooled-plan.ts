import type { Cluster } from './cluster.js';
import type { Boundary, Emitted, TensorSpec } from './common.js';
import type { ObjectiveKind, PlannerOptions } from './pooled-spec.js';

/** How models are cut into partitions over pools of GPUs. It needs nothing else to be simulated. */
export interface PooledPlan extends Emitted {
  kind: 'pooled-plan';
  status: 'optimal' | 'feasible';
  /** false when a wall-clock limit ended the search. */
  reproducible?: boolean;
  /** The baseline this is a plan of; its bound is then the baseline's own. */
  baseline?: 'no-partitioning' | 'dart-r';
  /** literal: solved as PPipe A.1/A.2 is printed; its bound holds for plans of as few pipelines per sequence of classes. */
  formulation?: 'literal';
  /** What is to be known of the plan: classes a model cannot use, figures that were derived rather than measured. */
  notes?: string[];
  objective: PlanObjective;
  cluster: Cluster;
  planner: PlannerOptions;
  models: PlannedModel[];
  classes: Record<string, ClassUse>;
  /** One entry for every virtual GPU that serves. */
  placement: Placement[];
}

export interface PlanObjective {
  kind: ObjectiveKind;
  /** Throughput: the least of throughput/weight over the models, per second. Cost: per hour. Power: watts. */
  value: number;
  /** Proven bound on the value of any plan. */
  bound: number;
  /** bound/value − 1 for throughput, value/bound − 1 for cost and power. */
  gap: number;
}

export interface PlannedModel {
  name: string;
  sloMs: number;
  /** Withheld from the SLO when planning. */
  sloMarginMs: number;
  weight: number;
  /** The rate asked for. */
  rps?: number;
  throughputRps: number;
  /** Time withheld for each request of a batch after the first. */
  batchFormationUsPerRequest?: number;
  /** Number of blocks the model has. */
  blocks: number;
  boundary?: Boundary;
  inputs?: TensorSpec[];
  outputs?: TensorSpec[];
  inputBytes?: number;
  pipelines: PlannedPipeline[];
}

export interface PlannedPipeline {
  throughputRps: number;
  /** The unified batch size; of the first partition where batches are free. */
  batch: number;
  /** Execution and transfer of one full batch from end to end, batch formation not counted. */
  latencyUs: number;
  partitions: PlannedPartition[];
}

export interface PlannedPartition {
  /** Half-open range [first, end) of blocks. */
  blocks?: [number, number];
  /** Half-open range [first, end) of layers, at layer granularity. */
  layers?: [number, number];
  device: string;
  /** v: its virtual GPUs are 1/v of a GPU each. */
  virtual: number;
  virtualGpus: number;
  /** virtualGpus / virtual. */
  gpus: number;
  batch: number;
  /** Execution latency at batch 1 … batch; null where the profile has no such batch. */
  latencyUsByBatch: (number | null)[];
  /** Of all its virtual GPUs together. */
  throughputRps: number;
  /** Bytes one request sends on after this partition, as sent; 0 after the last. */
  transferBytes: number;
  /** The tensors that cross after this partition, before any conversion of the boundary. */
  tensors?: TensorSpec[];
}

export interface ClassUse {
  /** An emulated device class, as its profiles say. */
  emulated?: true;
  /** Whole GPUs the plan occupies. */
  used: number;
  /** GPUs there are, less those taken. */
  count: number;
  /** Change of the LP bound per GPU more. */
  shadowPrice?: number;
  /** Change of the objective's value, re-solved, with one GPU more. */
  oneMore?: number;
}

export interface Placement {
  /** Name of the server, e.g. `L4-0`. */
  server: string;
  /** GPU on the server, from 0. */
  gpu: number;
  class: string;
  virtual: number;
  /** Index into models. */
  model: number;
  /** Index into the model's pipelines. */
  pipeline: number;
  /** Index into the pipeline's partitions. */
  partition: number;
}
