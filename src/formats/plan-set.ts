import type { Emitted } from './common.js';
import type { PipelineObjective } from './pipeline-plan.js';

/** PlanSet is what `plan solve` prints for several pipelines that share a cluster. */
export interface PlanSet extends Emitted {
  kind: 'plan-set';
  /** status says whether it is proved that no plans for all of them cost less. */
  status: 'optimal' | 'feasible';
  /** The sum of the costs per hour, with the proved bound. */
  objective: PipelineObjective;
  /** A plan for each pipeline, in the order of the specs. */
  plans: PlanInSet[];
  /** The GPUs of each class that all plans use together, and those that are free, where there is a limit. */
  classes: Record<string, ClassInSet>;
}

/** PlanInSet is the plan of one pipeline of several. */
export interface PlanInSet {
  name: string;
  /** The plan's file, where it was written. */
  file?: string;
  hourlyCost: number;
  /** The share of the sample's requests in time. */
  attainment: number;
  /** The GPUs that it uses, by class. */
  used: Record<string, number>;
}

/** ClassInSet says how many GPUs of a class all plans use together, of how many. */
export interface ClassInSet {
  used: number;
  count?: number;
}
