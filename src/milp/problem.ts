import type {
  BatchFormation,
  Cluster,
  ObjectiveKind,
  PooledPlan,
  PooledSpecModel,
  Profile,
} from '../artifacts/index.js';

/** A pooled planning problem with nothing left open: no files, every default filled in. Made by `resolvePooled`. */
export interface PooledProblem {
  readonly cluster: Cluster;
  readonly models: readonly ProblemModel[];
  readonly planner: ResolvedPlanner;
}

export interface ProblemModel {
  readonly profile: Profile;
  readonly spec: PooledSpecModel;
  readonly name: string;
  readonly sloUs: number;
  /** Withheld from the SLO. */
  readonly sloMarginUs: number;
  readonly weight: number;
  /** Rate to meet; undefined where the objective is throughput and none was given. */
  readonly rps: number | undefined;
  readonly batchFormation: BatchFormation;
  /** Device classes it may use: in the cluster, in the profile, allowed by `only` and `not`; in the cluster's order. */
  readonly classes: readonly string[];
  /** Least share of its throughput by class; only shares above 0. */
  readonly minShare: Readonly<Record<string, number>>;
  /** Why classes of the cluster are not usable by it. */
  readonly notes: readonly string[];
}

export type WholeGpusPer = 'pool' | 'position' | 'class';

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

/** A plan as the planner leaves it: the head of an emitted file (`$schema`, `tool`, `inputs`) is the writer's. */
export type PlanBody = Omit<PooledPlan, '$schema' | 'tool' | 'inputs'>;

/** Milliseconds by phase; empty where no clock was handed in. */
export interface SolverReport {
  readonly ms: number;
  readonly phases: Readonly<Record<string, number>>;
  /** Columns known at the end, pricing rounds, branch-and-bound nodes. */
  readonly columns: number;
  readonly rounds: number;
  readonly nodes: number;
}

export type SearchLimit = 'gap' | 'work' | 'time' | 'interrupted';

/** What a search came to. A plan is always feasible and checked; `limit` says what ended a search that proved no optimum. */
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
      /** By model, in order; undefined where no SLO would do. */
      readonly smallestFeasibleSloMs: readonly (number | undefined)[];
      readonly solver: SolverReport;
    }
  | { readonly status: 'no-plan-in-time'; readonly limit: SearchLimit; readonly solver: SolverReport };
