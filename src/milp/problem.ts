import type {
  BatchFormation,
  Cluster,
  ObjectiveKind,
  PooledPlan,
  PooledSpecModel,
  Profile,
} from '../formats/index.js';

/**
 * PooledProblem is a pooled planning problem with every default filled in and every file read. `resolvePooled` makes
 * it.
 */
export interface PooledProblem {
  readonly cluster: Cluster;
  readonly models: readonly ProblemModel[];
  readonly planner: ResolvedPlanner;
}

/** ProblemModel is one model of a problem: its profile, and its part of the spec with every default filled in. */
export interface ProblemModel {
  readonly profile: Profile;
  readonly spec: PooledSpecModel;
  readonly name: string;
  readonly sloUs: number;
  /** The part of the SLO that is withheld from the planner. */
  readonly sloMarginUs: number;
  readonly weight: number;
  /** The rate to meet; undefined if the objective is throughput and none was given. */
  readonly rps: number | undefined;
  readonly batchFormation: BatchFormation;
  /**
   * The device classes that the model may use, in the cluster's order: those of the cluster that its profile has and
   * that `only` and `not` allow.
   */
  readonly classes: readonly string[];
  /** The minimum share of its throughput by class; only shares above 0 are listed. */
  readonly minShare: Readonly<Record<string, number>>;
  /** Why the model cannot use some classes of the cluster, and how far the figures of its profile can be trusted. */
  readonly notes: readonly string[];
}

/**
 * WholeGpusPer says whose virtual GPUs may share a GPU: those of one partition of one pipeline (`pool`), those of one
 * model at one place in its pipelines, such as all second partitions (`position`), or all on a device class (`class`).
 */
export type WholeGpusPer = 'pool' | 'position' | 'class';

/** ResolvedPlanner holds the planner's settings of a spec with their defaults. `sloMargin` is a part of the SLO. */
export interface ResolvedPlanner {
  readonly objective: ObjectiveKind;
  readonly maxPartitions: number;
  readonly granularity: 'block' | 'layer';
  readonly sloMargin: number;
  readonly sloMarginMs: number | undefined;
  readonly unifiedBatch: boolean;
  readonly batchFormation: BatchFormation;
  readonly linkThroughput: boolean;
  readonly wholeGpusPer: WholeGpusPer;
  readonly virtualPer: 'gpu' | 'server';
}

/**
 * PlanBody is a plan as the planner makes it. The head of the file (`$schema`, `tool`, `inputs`) is added by its
 * writer.
 */
export type PlanBody = Omit<PooledPlan, '$schema' | 'tool' | 'inputs'>;

/** SolverReport is the cost of a solve. Times are in milliseconds, and all are 0 if no clock was handed in. */
export interface SolverReport {
  readonly ms: number;
  readonly phases: Readonly<Record<string, number>>;
  /** The columns in the LP at the end. `rounds` counts pricing rounds, `nodes` branch-and-bound nodes. */
  readonly columns: number;
  readonly rounds: number;
  readonly nodes: number;
}

/** InfeasibilityCause is a reason why no plan exists, as a code with its figures. */
export type InfeasibilityCause =
  | { readonly code: 'weights-exceed-memory' | 'no-batch-fills'; readonly model: string }
  | {
      readonly code: 'slo-too-short';
      readonly model: string;
      readonly sloMs: number;
      /** The rest of the SLO after the margin and the filling of a batch. */
      readonly leftMs: number;
      /** The latency of the fastest pipeline. */
      readonly latencyMs: number;
    }
  | {
      readonly code: 'class-too-slow';
      readonly model: string;
      readonly class: string;
      /** The latency of the whole model on the class, and by how much it is too long. */
      readonly latencyMs: number;
      readonly overMs: number;
    }
  | {
      readonly code: 'too-few-gpus';
      /** The whole GPUs that are free, by class. */
      readonly available: Readonly<Record<string, number>>;
      /** The share of the rates that these can serve at most, where the LP proves it. */
      readonly servedShare?: number;
      /** The GPUs that are missing at least, by class, where every class grows by the same factor. */
      readonly missing?: Readonly<Record<string, number>>;
    };

/**
 * SearchLimit names what ended a search: the gap was small enough, its work or time was over, it was interrupted, or it
 * tried plans with so many copies of a pipeline alone.
 */
export type SearchLimit = 'gap' | 'work' | 'time' | 'interrupted' | 'copies';

/**
 * PooledOutcome is the result of a search. `limit` names what ended a search that proved no optimum. A plan is checked
 * only by `checkedOutcome`.
 */
export type PooledOutcome =
  | {
      readonly status: 'optimal' | 'feasible';
      readonly plan: PlanBody;
      readonly limit?: SearchLimit;
      readonly notes: readonly string[];
      readonly solver: SolverReport;
    }
  | {
      readonly status: 'infeasible';
      readonly reasons: readonly string[];
      /** The same reasons as codes with their figures, one for each; absent for `dart-r`. */
      readonly causes?: readonly InfeasibilityCause[];
      /** A lower bound on each model's feasible SLOs; undefined if its weights fit nowhere, and for `dart-r`. */
      readonly smallestFeasibleSloMs: readonly (number | undefined)[];
      readonly solver: SolverReport;
    }
  | {
      readonly status: 'no-plan-in-time';
      /** Absent where plans were found, and none held what it was to hold in simulation. */
      readonly limit?: SearchLimit;
      readonly solver: SolverReport;
    };
