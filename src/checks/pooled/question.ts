import type {
  BatchFormation,
  Cluster,
  ObjectiveKind,
  PlannerOptions,
  PooledPlan,
  Profile,
} from '../../formats/index.js';

/** CheckedPlan is a pooled plan without the head of its file. */
export type CheckedPlan = Omit<PooledPlan, '$schema' | 'tool' | 'inputs'>;

/**
 * PooledQuestion is what a pooled plan answers: its spec with every default filled in, its cluster and its profiles. It is
 * stated here once more, so that the checker needs no type of the planner.
 */
export interface PooledQuestion {
  readonly cluster: Cluster;
  readonly models: readonly CheckedModel[];
  readonly planner: AskedPlanner;
}

/** CheckedModel is one model of a question. */
export interface CheckedModel {
  readonly profile: Profile;
  readonly name: string;
  readonly sloUs: number;
  /** The part of the SLO that is withheld from the planner. */
  readonly sloMarginUs: number;
  readonly weight: number;
  readonly rps: number | undefined;
  readonly batchFormation: BatchFormation;
  /** The device classes that it may use. */
  readonly classes: readonly string[];
  /** The minimum share of its throughput by class. */
  readonly minShare: Readonly<Record<string, number>>;
}

/** AskedPlanner holds the settings of the planner that bound a plan. */
export interface AskedPlanner {
  readonly objective: ObjectiveKind;
  readonly maxPartitions: number;
  readonly granularity: 'block' | 'layer';
  readonly unifiedBatch: boolean;
  readonly linkThroughput: boolean;
  readonly wholeGpusPer: NonNullable<PlannerOptions['wholeGpusPer']>;
  readonly virtualPer: NonNullable<PlannerOptions['virtualPer']>;
}
