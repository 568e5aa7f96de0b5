import type { CascadeMethod, CascadeObjective, CascadeSlo, CertaintyMeasure } from './cascade-spec.js';
import type { OpenCluster } from './cluster.js';
import type { Emitted, TensorSpec } from './common.js';
import type { StageClassUse, StageInput, StagePlacement } from './pipeline-plan.js';
import type { PlanServing } from './pooled-spec.js';

/** GearPlan says with which cascade of models each range of loads is served, and which devices hold which models. */
export interface GearPlan extends Emitted {
  kind: 'gear-plan';
  /** The name by which clients call it. */
  name: string;
  /** How the plan was found. */
  method: CascadeMethod;
  notes?: string[];
  /** Whether it is proved that no plan is better. */
  status: 'optimal' | 'feasible';
  /** false where an interruption ended the search. */
  reproducible?: boolean;
  /** The gears that the search was allowed to simulate (`--work`), where it was told. */
  work?: number;
  objective: GearObjective;
  /** The scheduler that serves the plan. */
  serving: PlanServing;
  cluster: OpenCluster;
  slo: CascadeSlo;
  /** The time from arrival to deadline: the latency that is promised, or else the largest p95 of a gear. */
  sloMs: number;
  /** The largest rate that the plan was made for. */
  maxRps: number;
  /** The accuracy expected over the distribution of loads: that of each gear, weighed by the share of time. */
  accuracy: number;
  /** The same, weighed by requests: what clients see. */
  requestAccuracy: number;
  /** The largest p95 of a gear. */
  p95Ms: number;
  /** The price of the devices, per hour; absent where the class has no price. */
  hourlyCost?: number;
  /** How certainty follows from a model's scores. */
  certainty: CertaintyMeasure;
  switching: GearSwitching;
  /** The models that gears use, each after those that lead to it. */
  stages: GearStage[];
  /** The gears by load, from the lowest range to the highest. */
  gears: Gear[];
  classes: Record<string, StageClassUse>;
  /** The devices. Each has an entry, or a long row of like ones has one. */
  placement: StagePlacement[];
}

/** GearObjective is what was made best, with the proved bound on what any plan reaches. */
export interface GearObjective {
  kind: CascadeObjective;
  value: number;
  /** The bound on any plan's value: from above for accuracy, from below else. */
  bound: number;
  /** The distance of value and bound, over the bound; absent where the bound is 0 and the value is not. */
  gap?: number;
}

/**
 * gearObjective says how far a value is from its bound. It has no gap where the bound is 0 and the value is not, because
 * no ratio says it.
 */
export function gearObjective({ kind, value, bound }: Omit<GearObjective, 'gap'>): GearObjective {
  if (bound === 0) return { kind, value, bound, ...(value === 0 ? { gap: 0 } : {}) };
  return { kind, value, bound, gap: Math.abs(value - bound) / bound };
}

/** GearSwitching says when a gear gives way to another (CascadeServe §5). */
export interface GearSwitching {
  /** Arrivals are counted over intervals of this length. */
  intervalMs: number;
  /** A gear for lower loads waits while the rate is below alpha times the length of the first queue. */
  alpha: number;
}

/** GearStage is one model of the family and how it is served. */
export interface GearStage {
  name: string;
  /** The name of the model, as its profile has it. */
  model: string;
  /** The class of its devices. */
  device: string;
  virtual: number;
  /** The largest batch that it executes. */
  batch: number;
  /** The devices that hold it. */
  replicas: number;
  /** The execution latency at batch 1 … batch; null where the profile has no such batch. */
  latencyUsByBatch: (number | null)[];
  /** The share of right answers of the model alone. */
  accuracy: number;
  /** The bytes of the model's weights, where the profile has them. */
  weightBytes?: number;
  /** How far the rows of a batch may be from those of a request alone, as the profile says. */
  batchTolerance?: number;
  /** The model's inputs, all of which come from the request, where the profile has them. */
  inputs?: StageInput[];
  outputs?: TensorSpec[];
  /** The output that holds the scores of the classes. */
  output?: string;
  /** The bytes of one request's inputs. */
  transferBytes: number;
}

/** Gear says how a range of loads is served. */
export interface Gear {
  fromRps: number;
  toRps: number;
  /** The share of time in which the load is in the range. */
  share: number;
  cascade: GearStep[];
  /** A batch that is shorter than its `minQueue` starts when its first request has waited so long. */
  timeoutMs: number;
  /** The share of right answers over the records. */
  accuracy: number;
  /** Simulated at the highest rate of the range. */
  p95Ms: number;
  /** The share of its time that the busiest device needs at the highest rate of the range, with its best batches. */
  utilization: number;
  /** What keeps a more accurate cascade from being used. */
  limitedBy?: GearLimit;
}

/** GearStep is one model of a gear's cascade. */
export interface GearStep {
  stage: string;
  /** Requests of a lower certainty go on to the next step; absent in the last. */
  threshold?: number;
  /** The share of requests that come to the step. */
  visits: number;
  /** A batch starts when so many requests wait. */
  minQueue: number;
  /** The share of the step's requests that each device which holds the model serves, in the order of the placement. */
  loadShares: number[];
}

/** GearLimit says why the next more accurate cascade is not used in a range. */
export interface GearLimit {
  /** The next more accurate cascade's accuracy. */
  accuracy: number;
  /** It needs more time than devices have (load), or requests would be late (latency). */
  by: 'load' | 'latency';
  /** The model that needs most of the time. */
  stage: string;
}
