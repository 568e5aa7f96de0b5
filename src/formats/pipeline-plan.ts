import type { OpenCluster } from './cluster.js';
import type { Emitted, TensorSpec } from './common.js';
import type { LatencyQuantile, PipelineLoad, PipelineMethod, WhenOutput } from './pipeline-spec.js';
import type { PlanServing } from './pooled-spec.js';

/** PipelinePlan says how the stages of a DAG of models are served. It alone is enough for a simulation. */
export interface PipelinePlan extends Emitted {
  kind: 'pipeline-plan';
  /** The name by which clients call it. */
  name: string;
  /** How the plan was found. */
  method: PipelineMethod;
  notes?: string[];
  /** status says whether it is proved that no plan costs less; absent where the spec fixes the plan. */
  status?: 'optimal' | 'feasible';
  /** False where a clock or an interruption ended the search. */
  reproducible?: boolean;
  objective?: PipelineObjective;
  sample?: PlannedSample;
  /** The scheduler that serves the plan. */
  serving: PlanServing;
  cluster: OpenCluster;
  /** Where several pipelines were planned for one cluster: the others. The counts of `cluster` are then those of this one. */
  share?: ClusterShare;
  /** Where there are applications, the least of their SLOs. */
  sloMs: number;
  /**
   * The applications that clients call, where they are not the plan itself by its name. Every request is
   * judged by the SLO of its application.
   */
  applications?: PlannedApplication[];
  /** The share of requests that must be in time, of each application. */
  attainment: number;
  /** The further objectives that the sample meets, with the share that does. */
  objectives?: PlannedObjective[];
  load?: PipelineLoad;
  /** The mean rate that the plan was made for. */
  rps?: number;
  /** The mean rate up to which no device has more work than time. */
  throughputRps: number;
  /** The price of the devices that are up, per hour; absent where a class has no price. */
  hourlyCost?: number;
  /** The price when all standby devices are up too; absent where there are none, or a class has no price. */
  mostHourlyCost?: number;
  /** How many standby devices the tuner needs was found so; absent where the spec says how many. */
  standby?: PlannedStandby;
  longestPath: LongestPath;
  /** The traffic envelope of the load that the plan was made for; absent where that is only a rate. */
  envelope?: EnvelopeWindow[];
  /** Each stage comes after those that lead to it. */
  stages: PlannedStage[];
  /** Each list names targets of one stage, of which exactly one is taken. Other edges are taken independently. */
  exclusive?: string[][];
  /** The sets of devices that hold several stages each. */
  shared?: PlannedShared[];
  classes: Record<string, StageClassUse>;
  /** The virtual GPUs. Each has an entry, or a long row of like ones has one. */
  placement: StagePlacement[];
}

/** ClusterShare names the pipelines that a plan shares its cluster with. */
export interface ClusterShare {
  with: string[];
}

/** PipelineObjective is what a plan that was searched costs per hour, with the proved bound on what any plan costs. */
export interface PipelineObjective {
  kind: 'cost';
  value: number;
  /** No plan that serves the mean rate and holds the objective on the sample, served by the same scheduler, costs less. */
  bound: number;
  /** value/bound − 1; absent where the bound is 0 and the value is not. */
  gap?: number;
}

/** PlannedSample is what a plan makes of the sample that it was searched for, served by its scheduler without its tuner. */
export interface PlannedSample {
  requests: number;
  /** The seed of the arrivals and verdicts of its first draw; those of the others follow. */
  seed: number;
  /** How often the load was drawn. */
  draws: number;
  /** The share of requests in time. */
  attainment: number;
  /** The share of requests in time in the draw where it is least. */
  leastAttainment: number;
  /** How many of the requests are dropped; absent where none is. */
  dropped?: number;
  /** Where the requests that are not in time missed their SLO; absent in older plans. Stages without one are left out. */
  missesByStage?: StageMisses[];
  /** The digest of the draws: of their arrivals, verdicts and applications; absent in older plans. */
  sha256?: string;
  /** Of the latencies of answered requests. */
  p50Ms: number;
  p95Ms: number;
  p99Ms: number;
}

/**
 * StageMisses counts the requests that missed their SLO at a stage: dropped in its queue, or late by the first of their executions
 * that ended after their deadline. The stage `entry` is that of requests that were dropped as they came.
 */
export interface StageMisses {
  stage: string;
  requests: number;
}

/** PlannedApplication is what clients call by name over the stages that it shares with others. */
export interface PlannedApplication {
  name: string;
  sloMs: number;
  /** The share of the load's requests that are its own. All shares sum to 1. */
  share: number;
  /** How much a drop of one of its requests weighs; 1 where absent. */
  weight?: number;
  sample?: ApplicationSample;
}

/** ApplicationSample is what the Estimator gives for the requests of an application in the sample that a plan was searched for. */
export interface ApplicationSample {
  requests: number;
  /** The share of its requests in time. */
  attainment: number;
  /** The share of its requests in time in the draw where it is least. */
  leastAttainment: number;
  /** Absent where no request is its own. */
  p50Ms?: number;
  p95Ms?: number;
  p99Ms?: number;
}

/** PlannedObjective is what a spec asks of its sample besides the SLO, and what a plan holds of it. */
export interface PlannedObjective {
  sloMs: number;
  /** The share of requests that must be answered within `sloMs`. */
  attainment: number;
  /** The share of the sample's requests that is. */
  sampleAttainment: number;
}

/**
 * PlannedStandby says for which load a plan has standby devices: as many as its tuner had in use at most when its load
 * came at `loadFactor` times its rate, drawn with seeds by which nothing was planned, as far as its cluster has them.
 */
export interface PlannedStandby {
  loadFactor: number;
  /** The seed of the first draw; those of the others follow. */
  seed: number;
  draws: number;
}

/** LongestPath is the way through the pipeline that takes longest when every batch is full and nothing waits. */
export interface LongestPath {
  stages: string[];
  /** Executions and transfers of full batches. */
  latencyUs: number;
}

/** EnvelopeWindow is the largest number of requests that came within any window of a length. */
export interface EnvelopeWindow {
  windowUs: number;
  requests: number;
}

/** PlannedStage is a model of the pipeline and how it is served. */
export interface PlannedStage {
  name: string;
  /** The name of the model, as its profile has it. */
  model: string;
  /** The class of its devices. */
  device: string;
  /** v: its replicas are 1/v of a GPU each. */
  virtual: number;
  /** The largest batch that it executes. */
  batch: number;
  /** The devices that serve it and are up, those that it shares with other stages included. */
  replicas: number;
  /** Devices that are down until they are activated. */
  standby?: number;
  /** The execution latency at batch 1 … batch; null where the profile has no such batch. */
  latencyUsByBatch: (number | null)[];
  /** The quantile of the profile's latencies that these are; medians where absent. */
  latencyQuantile?: LatencyQuantile;
  /** How far the rows of a batch may be from those of a request alone, as the profile says. */
  batchTolerance?: number;
  /** Why its batches are taken on trust, as the profile says. */
  trustBatch?: string;
  /** The outputs that are no tensors, such as the sequence of a ZipMap: they are not served. */
  unservedOutputs?: string[];
  /** The bytes of the model's weights, where the profile has them. */
  weightBytes?: number;
  /** The model's inputs and where they come from, where the profile has them. */
  inputs?: StageInput[];
  outputs?: TensorSpec[];
  /** The edges that lead on; none after which a request ends. */
  next: PlannedEdge[];
  /** The probability that a request visits the stage. */
  scaleFactor: number;
  /** The throughput of one replica with full batches, in tasks per second, while it serves no other stage. */
  throughputRps: number;
  /** The share of its replicas' time that it needs at the plan's mean rate. */
  maxProvisioningRatio?: number;
  /** Its replicas of further classes; the fields above are those of the first. */
  others?: OtherReplicas[];
}

/** OtherReplicas are replicas of a stage of another class than its first. */
export interface OtherReplicas {
  device: string;
  /** v: they are 1/v of a GPU each. */
  virtual: number;
  replicas: number;
  /** The execution latency at batch 1 … the stage's batch; null where the profile has no such batch. */
  latencyUsByBatch: (number | null)[];
  /** The throughput of one of them with full batches, in tasks per second. */
  throughputRps: number;
}

/** StageInput is an input of a stage's model. */
export interface StageInput extends TensorSpec {
  /** `stage.tensor` or `request.tensor`; of several, the first whose stage was visited counts. */
  from: string[];
}

/** PlannedEdge leads from a stage to a later one. It is always taken where it has no probability. */
export interface PlannedEdge {
  to: string;
  probability?: number;
  when?: WhenOutput;
  /** The bytes that one task sends along it. */
  transferBytes: number;
}

/** PlannedShared is a set of like devices that hold several stages each. */
export interface PlannedShared {
  stages: string[];
  /** The bytes of the weights of all its models, where the profiles have them. */
  weightBytes?: number;
  /** The share of the devices' time that all its stages need at the plan's mean rate. */
  maxProvisioningRatio?: number;
}

/** StageClassUse says how many GPUs of a class the plan uses. */
export interface StageClassUse {
  /** emulated says whether the class is emulated, as its profiles say. */
  emulated?: true;
  /** The whole GPUs that are up. */
  used: number;
  /** The whole GPUs that only hold standby devices. */
  standby?: number;
  /** The GPUs that exist, less those taken; absent where there is no limit. */
  count?: number;
}

/** StagePlacement puts a virtual GPU on a GPU of a server, or a row of like ones on consecutive GPUs. */
export interface StagePlacement {
  /** The name of the server, e.g. `L4-0`. */
  server: string;
  /** The GPU on the server, counted from 0. */
  gpu: number;
  /** The number of consecutive GPUs that have such a virtual GPU, as in pooled plans. By default 1. */
  count?: number;
  class: string;
  virtual: number;
  /** The names of the stages whose models it holds. */
  stages: string[];
  /** standby says whether it is down until it is activated. */
  standby?: true;
}
