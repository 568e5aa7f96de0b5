import type { CascadeMethod, CascadeObjective, CascadeSlo, CertaintyMeasure } from './cascade-spec.js';
import type { OpenCluster } from './cluster.js';
import type { Emitted, TensorSpec } from './common.js';
import type { StageClassUse, StageInput, StagePlacement } from './pipeline-plan.js';
import type { PlanServing } from './pooled-spec.js';
import type { FigureOverRuns } from './simulation-report.js';

/** GearPlan says with which cascade of models each range of loads is served, and which devices hold which models. */
export interface GearPlan extends Emitted {
  kind: 'gear-plan';
  /** The name by which clients call it. */
  name: string;
  /** How the plan was found. */
  method: CascadeMethod;
  notes?: string[];
  /** status says whether it is proved that no plan is better. */
  status: 'optimal' | 'feasible';
  /** false where an interruption ended the search. */
  reproducible?: boolean;
  /** The gears that the search was allowed to simulate (`--work`), where a limit was given. */
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
  /** Where that lies for samples like those of the records. */
  accuracyInterval?: AccuracyInterval;
  /** The same, weighed by requests: what clients see. */
  requestAccuracy: number;
  /**
   * The model of the family that is right about most records by itself, whether or not a gear uses it; absent before
   * version 1.5.
   */
  bestSingle?: SingleAccuracy;
  /** The largest p95 of a gear. */
  p95Ms: number;
  /** The latency that is held at every steady load, as simulations confirm; absent where none is promised. */
  promise?: GearPromise;
  /** The price of the devices, per hour; absent where the class has no price. */
  hourlyCost?: number;
  /** How certainty follows from a model's scores. */
  certainty: CertaintyMeasure;
  switching: GearSwitching;
  /** The models that gears use, from cheaper to dearer ones. */
  stages: GearStage[];
  /** The gears by load, from the lowest range to the highest. */
  gears: Gear[];
  classes: Record<string, StageClassUse>;
  /** The devices. Each has an entry, or a long row of like ones has one. */
  placement: StagePlacement[];
}

/** SingleAccuracy is how often a model is right by itself, whatever the load. */
export interface SingleAccuracy {
  model: string;
  /** The share of right answers over the records. */
  accuracy: number;
}

/**
 * isOfBestSingle returns whether a plan is of a version that names the best single model, as plans that were made from records
 * do then.
 */
export function isOfBestSingle({ version }: Pick<GearPlan, 'version'>): boolean {
  return Number(version.split('.')[1]) >= 5;
}

/**
 * AccuracyInterval is where the share of right answers lies with a confidence of 95 % for samples like those that were
 * counted, by Wilson's score. It does not reckon with the cascades having been chosen by the same samples.
 */
export interface AccuracyInterval {
  low: number;
  high: number;
  /** The samples that were counted. */
  samples: number;
}

/**
 * GearPromise says within which latency the share of requests is answered that is promised, at steady Poisson loads in all
 * ranges, and how that was confirmed: the whole plan was simulated as it is served, with gears that switch.
 */
export interface GearPromise {
  latencyMs: number;
  quantile: number;
  arrivals: 'poisson';
  /** The confidence of the intervals. */
  confidence: number;
  /** The runs at each rate, of seeds that follow its first. */
  runs: number;
  /** The ends and the middle of each range, the lowest rate first. */
  rates: PromisedRate[];
}

/** PromisedRate is what the runs at a rate gave. Nothing was chosen by their seeds. */
export interface PromisedRate {
  rps: number;
  firstSeed: number;
  /** The requests that all runs counted. */
  requests: number;
  /** The share in time over the runs, whose lower end is at least the one that is promised. */
  attainment: FigureOverRuns;
}

/** GearObjective is what was made best, with the proved bound on what any plan reaches. */
export interface GearObjective {
  kind: CascadeObjective;
  value: number;
  /** The bound on any plan's value: from above for accuracy, from below else. No bound on latency counts waiting. */
  bound: number;
  /**
   * The share by which the larger of value and bound exceeds the smaller; absent where the smaller is 0 and the larger is not,
   * and for a latency above its bound, whose bound no plan comes near.
   */
  gap?: number;
  /** Of which plans the bound is one, and among which an optimal plan is the best. */
  scope?: GearScope;
}

/** GearScope says which cascades a proof is about. */
export interface GearScope {
  /** Cascades of up to this many models, each of which comes once. */
  mostModels: number;
  /** Models come in any order, or from cheaper to dearer ones. */
  orders: 'any' | 'cheaper-first';
  /** All thresholds, or this many quantiles of each model's certainties. */
  thresholds: 'all' | number;
}

/** scopeText says in words which cascades a proof is about. */
export function scopeText({ mostModels, orders, thresholds }: GearScope): string {
  if (mostModels === 1) return 'single models';
  const order = orders === 'any' ? 'in any order' : 'from cheaper to dearer ones';
  const levels = thresholds === 'all' ? 'any thresholds' : `${thresholds} thresholds each`;
  return `cascades of up to ${mostModels} models ${order}, with ${levels}`;
}

/**
 * gearObjective says how far a value is from its bound. It has no gap where the smaller of both is 0 and the larger is not,
 * because no ratio says it, nor for a latency above its bound, because the bound knows no waiting and so tells no distance.
 */
export function gearObjective({
  kind,
  value,
  bound,
  scope,
}: Pick<GearObjective, 'kind' | 'value' | 'bound'> & {
  readonly scope?: GearScope | undefined;
}): GearObjective {
  const [less, more] = [Math.min(value, bound), Math.max(value, bound)];
  const isTold = value === bound || (less !== 0 && kind !== 'latency');
  return {
    kind,
    value,
    bound,
    ...(isTold ? { gap: value === bound ? 0 : more / less - 1 } : {}),
    ...(scope === undefined ? {} : { scope }),
  };
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
  accuracyInterval?: AccuracyInterval;
  /** The bytes of the model's weights, where the profile has them. */
  weightBytes?: number;
  /** How far the rows of a batch may be from those of a request alone, as the profile says. */
  batchTolerance?: number;
  /** Why its batches are taken on trust, as the profile says. */
  trustBatch?: string;
  /** The outputs that are no tensors, such as the sequence of a ZipMap: they are not served. */
  unservedOutputs?: string[];
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
  accuracyInterval?: AccuracyInterval;
  /** The load that the gear was planned for is higher than that of its range by this share, so that the promise is held. */
  headroom?: number;
  /** The largest p95 of the simulations in the range. */
  p95Ms: number;
  /** The share of the time in which the busiest device was busy, simulated at the highest rate of the range. */
  utilization: number;
  /** The limit that keeps a more accurate cascade from being used. */
  limitedBy?: GearLimit;
}

/** GearStep is one model of a gear's cascade. */
export interface GearStep {
  stage: string;
  /** Requests of a lower certainty go on to the next step; absent in the last. */
  threshold?: number;
  /** The share of requests that come to the step. */
  visits: number;
  /** A batch starts when this many requests wait. */
  minQueue: number;
  /** The share of the step's requests that each device which holds the model serves, in the order of the placement. */
  loadShares: number[];
}

/** GearLimit says why the next more accurate cascade is not used in a range. */
export interface GearLimit {
  /** The next more accurate cascade's accuracy. */
  accuracy: number;
  /**
   * The kind of limit: the cascade needs more time than devices have (load), or requests would be late
   * (latency).
   */
  by: 'load' | 'latency';
  /** The model that needs most of the time. */
  stage: string;
}
