import type { OpenCluster } from './cluster.js';
import type { PlanServing } from './pooled-spec.js';

/** CascadeSpec is the question that `plan solve` answers for a family of models that are served as cascades. */
export interface CascadeSpec {
  $schema?: string;
  kind: 'cascade';
  version?: string;
  /** The name by which clients call it. Default `cascade`. */
  name?: string;
  /** The path of a cluster file, relative to the spec, or the cluster itself. */
  cluster: string | OpenCluster;
  /** The family, in any order. */
  models: CascadeModel[];
  /** The path of the records, relative to the spec: what each model says of each labelled sample, as CSV. */
  records: string;
  /** How a served model's certainty is computed. Default `top-2`. */
  certainty?: CertaintyMeasure;
  slo: CascadeSlo;
  load: CascadeLoad;
  planner?: CascadePlanner;
  /** The scheduler that the plan is to be served by. Default `gears`. */
  serving?: PlanServing;
}

/** CascadeModel is one model of the family. */
export interface CascadeModel {
  /** Its name, as the records have it. */
  name: string;
  /** The path of the profile, relative to the spec. */
  profile: string;
  /** The memory that a replica takes; that of the profile's weights where absent. */
  memoryGiB?: number;
  /** The output that holds the scores of the classes; needed where the model has several. */
  output?: string;
}

/**
 * CertaintyMeasure says how certainty follows from the scores of a sample's classes: the largest probability less the
 * second largest (top-2), 1 less the entropy over its largest value (entropy), or the largest score less the second
 * largest, without a softmax (logits).
 */
export type CertaintyMeasure = 'top-2' | 'entropy' | 'logits';

/** CascadeSlo is what is promised at every load: a latency, an accuracy, or both. */
export interface CascadeSlo {
  latencyMs?: number;
  /** The share of requests that are answered within the latency. Default 0.95. */
  quantile?: number;
  /** The least share of right answers that is expected over the distribution of loads. */
  accuracy?: number;
}

/** The share of requests that are answered within the latency, where a spec or a plan does not say. */
export const DEFAULT_QUANTILE = 0.95;

/** CascadeLoad says which loads the plan is made for. */
export interface CascadeLoad {
  maxRps: number;
  /** [0, maxRps] is divided into this many ranges of equal size, each of which has a gear. Default 20. */
  ranges?: number;
  /**
   * How often each range occurs: `zipf` (the k-th range is k times as rare as the first), `uniform`, or the path of a
   * CSV file with the columns rps and share. Default zipf.
   */
  distribution?: string;
  /** Arrivals are counted over so long to find the range. Default 100. */
  intervalMs?: number;
}

/** CascadePlanner says how the plan is found. */
export interface CascadePlanner {
  /** Default gears. */
  method?: CascadeMethod;
  /** Default: accuracy where only a latency is promised, else latency. */
  objective?: CascadeObjective;
  /** Thresholds are chosen among this many quantiles of each model's certainties. Default 32. */
  thresholds?: number;
  /** The largest batch that a model executes. Default: the largest that all profiles have. */
  batch?: number;
}

/**
 * CascadeMethod is a way to plan: CascadeServe's gears, made better where that is possible (gears); every assignment of
 * cascades to ranges (exhaustive), or random ones (random), on devices that hold all models; or a baseline: one model
 * (dynba), switching between models (ms+), one cascade for all loads (static).
 */
export type CascadeMethod = 'gears' | 'exhaustive' | 'random' | 'dynba' | 'ms+' | 'static';

/** cascadeMethodOf gives the way in which a spec asks to be planned. */
export function cascadeMethodOf({
  planner,
}: {
  readonly planner?: CascadePlanner | undefined;
}): CascadeMethod {
  return planner?.method ?? 'gears';
}

/** CascadeObjective is what is made best within what is promised. */
export type CascadeObjective = 'accuracy' | 'latency' | 'devices' | 'cost';
