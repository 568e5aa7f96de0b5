import type { Cluster } from './cluster.js';
import type { Boundary, Emitted, TensorSpec } from './common.js';
import type {
  BatchFormation,
  HoldArrivals,
  ObjectiveKind,
  PlannerOptions,
  PlanServing,
} from './pooled-spec.js';
import type { FigureOverRuns } from './simulation-report.js';

/**
 * PooledPlan says how models are cut into partitions over pools of GPUs. It alone is enough for a simulation,
 * unless execution times are to vary as in its profiles.
 */
export interface PooledPlan extends Emitted {
  kind: 'pooled-plan';
  status: 'optimal' | 'feasible';
  /** reproducible says whether the search can be repeated: false when a wall-clock limit ended it. */
  reproducible?: boolean;
  /** The baseline that made this plan; its bound is then the baseline's own. */
  baseline?: 'no-partitioning' | 'dart-r';
  /**
   * `literal` means that PPipe A.1/A.2 was solved as printed; the bound holds for as few pipelines per class
   * sequence.
   */
  formulation?: 'literal';
  /**
   * Notes on the plan: classes that a model cannot use, figures that were derived rather than measured, figures that
   * are unfit, emulated or imported.
   */
  notes?: string[];
  /** The scheduler that serves the plan; `stage-local` where there is none. */
  serving?: PlanServing;
  objective: PlanObjective;
  cluster: Cluster;
  planner: PlannerOptions;
  models: PlannedModel[];
  classes: Record<string, ClassUse>;
  /** The rates that the plan was seen to hold in simulation; only of a plan that was searched for that. */
  hold?: PlanHold;
  /** The virtual GPUs that serve. Each has an entry, or a long row of like ones has one. */
  placement: Placement[];
}

/** PlanObjective says what the plan reaches, and how far that may be from the best. */
export interface PlanObjective {
  kind: ObjectiveKind;
  /** For throughput, the least throughput/weight over the models, per second. For cost: per hour. For power: watts. */
  value: number;
  /** A proven bound on the value of any plan. */
  bound: number;
  /** bound/value − 1 for throughput, value/bound − 1 for cost and power. */
  gap: number;
}

/**
 * PlanHold says what a plan holds: at the models' `heldRps`, together, each model's share of requests in time reaches
 * `attainment` in simulations by the plan's scheduler.
 */
export interface PlanHold {
  /** The least heldRps/weight of the models; the plan's price where rates were asked for. */
  value: number;
  /** No plan can hold more, or hold the rates for less: the LP with nothing withheld from the SLOs. */
  bound: number;
  /** How many plans of the planner were simulated. */
  trials: number;
  /** How many plans were simulated with GPUs moved between the pools of the best one; absent where a price was asked for. */
  variants?: number;
  /** How many GPUs are in other pools than the planner put them in. */
  moved?: number;
  /** The simulations that confirm it, one for each seed. */
  runs: HoldRuns;
  /** The held rates of each model, in order. */
  models: HeldModel[];
}

/** HoldRuns describes the simulations that confirm what a plan holds. */
export interface HoldRuns {
  seeds: number[];
  arrivals: HoldArrivals;
  /** The coefficient of variation of the gaps between gamma arrivals. */
  cv?: number;
  /** For so long arrive the requests that count. */
  durationS: number;
  /** The load before the measured part; absent in plans of earlier versions, whose runs began idle. */
  warmUp?: WarmUp;
  /** The confidence of the intervals of attainments. */
  confidence: number;
}

/**
 * WarmUp says how a run begins whose figures are to be those of any time of a long run. Its requests do not count. Lengths
 * are in SLOs: a model's own, and then the longest of all models.
 */
export interface WarmUp {
  /** For this many of its SLOs, each model gets twice its rate, which fills its queues. */
  fillSlos: number;
  /** For this many of the longest SLO, all models then get their rates. */
  settleSlos: number;
}

/** HeldModel says what one model holds, and by which settings it was planned for that. */
export interface HeldModel {
  name: string;
  /** The share of requests that must be in time. */
  attainment: number;
  /** The attainment over the runs, whose lower end is at least `attainment`; absent where the model is not served. */
  simulated?: FigureOverRuns;
  /** The share of the SLO that was withheld from the planner. */
  sloMargin: number;
  batchFormation: BatchFormation;
  /** The largest batch that was planned; absent where every measured one could be. */
  mostBatch?: number;
  /** The model was planned for this multiple of its weight, or of its rate. */
  headroom: number;
}

/** PlannedModel holds the pipelines of one model, and the SLO and rates that they were planned for. */
export interface PlannedModel {
  name: string;
  sloMs: number;
  /** The time that is withheld from the SLO when planning. */
  sloMarginMs: number;
  weight: number;
  /** The rate that was asked for. */
  rps?: number;
  throughputRps: number;
  /** The promised rate: the largest that the plan holds in simulation, or the one that was asked for. */
  heldRps?: number;
  /** The time that is withheld for each request of a batch after the first. */
  batchFormationUsPerRequest?: number;
  /** The number of blocks of the model. */
  blocks: number;
  boundary?: Boundary;
  /** How far the rows of a batch may be from those of a request alone, as the profile says. */
  batchTolerance?: number;
  /** Why its batches are taken on trust, as the profile says. */
  trustBatch?: string;
  /** The outputs that are no tensors, such as the sequence of a ZipMap: they are not served. */
  unservedOutputs?: string[];
  inputs?: TensorSpec[];
  outputs?: TensorSpec[];
  inputBytes?: number;
  pipelines: PlannedPipeline[];
}

/** PlannedPipeline is a chain of partitions, in the order in which a request passes them. */
export interface PlannedPipeline {
  throughputRps: number;
  /** The unified batch size; where batches are free, that of the first partition. */
  batch: number;
  /** The time for execution and transfer of one full batch from end to end, without batch formation. */
  latencyUs: number;
  partitions: PlannedPartition[];
}

/** PlannedPartition is a run of blocks (or layers) with the pool of like virtual GPUs that serves it. */
export interface PlannedPartition {
  /** The half-open range [first, end) of blocks. */
  blocks?: [number, number];
  /** The half-open range [first, end) of layers, at layer granularity. */
  layers?: [number, number];
  device: string;
  /** v: its virtual GPUs are 1/v of a GPU each. */
  virtual: number;
  virtualGpus: number;
  /** virtualGpus / virtual. */
  gpus: number;
  batch: number;
  /** The execution latency at batch 1 … batch; null where the profile has no such batch. */
  latencyUsByBatch: (number | null)[];
  /** The throughput of all its virtual GPUs together. */
  throughputRps: number;
  /** The bytes that one request sends on after this partition, as sent; 0 after the last. */
  transferBytes: number;
  /** The tensors that cross after this partition, before any conversion of the boundary. */
  tensors?: TensorSpec[];
}

/**
 * ClassUse says how many GPUs of a class the plan uses, and what one more would be worth, in the unit of the
 * objective.
 */
export interface ClassUse {
  /** emulated says whether the class is emulated, as its profiles say. */
  emulated?: true;
  /** The whole GPUs that the plan occupies. */
  used: number;
  /** The GPUs that exist, less those taken. */
  count: number;
  /** The change of the LP bound per additional GPU, for throughput only. */
  shadowPrice?: number;
  /** The change of the objective's value, solved again, with one GPU more. Only an explained plan has it. */
  oneMore?: number;
}

/** Placement puts a virtual GPU of a partition on a GPU of a server, or a row of like ones on consecutive GPUs. */
export interface Placement {
  /** The name of the server, e.g. `L4-0`. */
  server: string;
  /** The GPU on the server, counted from 0. */
  gpu: number;
  /**
   * The number of consecutive GPUs that have such a virtual GPU: this one, the next ones of its server, then those of
   * the class's next servers. By default 1.
   */
  count?: number;
  class: string;
  virtual: number;
  /** The index of the model in `models`. */
  model: number;
  /** The index of the pipeline in the model's pipelines. */
  pipeline: number;
  /** The index of the partition in the pipeline's partitions. */
  partition: number;
}
