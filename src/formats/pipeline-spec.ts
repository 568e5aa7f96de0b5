import type { OpenCluster } from './cluster.js';
import type { HoldArrivals, PlanServing } from './pooled-spec.js';

/**
 * PipelineSpec is the question that `plan solve` answers for a pipeline: a DAG of whole models under one SLO, or one
 * for each application.
 */
export interface PipelineSpec {
  $schema?: string;
  kind: 'pipeline';
  version?: string;
  /** The name by which clients call it. Default `pipeline`. */
  name?: string;
  /** The path of a cluster file, relative to the spec, or the cluster itself. */
  cluster: string | OpenCluster;
  stages: PipelineStage[];
  /** Each list names targets of one stage, of which exactly one is taken. Other edges are taken independently. */
  exclusive?: string[][];
  /** Each entry is a set of like devices that hold several stages. */
  shared?: SharedDevices[];
  /** Needed unless there are applications. */
  sloMs?: number;
  /** In place of `sloMs`: what clients call by name over the same stages. Every request of the load belongs to one of them. */
  applications?: PipelineApplication[];
  /** The share of requests that must be in time, of each application. Default 0.99. */
  attainment?: number;
  /**
   * The further objectives that the sample must meet. Requests are judged by `sloMs` when the plan serves.
   */
  objectives?: FurtherObjective[];
  /**
   * The quantile of the profiles' latencies that is planned with, where a stage does not give its own.
   * Default p50.
   */
  latencyQuantile?: LatencyQuantile;
  /** The sample of the load that the plan is made for. */
  load?: PipelineLoad;
  /** The mean rate alone, in place of a load. */
  rps?: number;
  planner?: PipelinePlanner;
  /** The tuner that changes the replicas while the plan serves. Default none. */
  tuner?: PipelineTuner;
  /** The scheduler that the plan is to be served by. Default `room-first`. */
  serving?: PlanServing;
}

/** PipelineApplication is what clients call by name over the stages that it shares with others, with an SLO of its own. */
export interface PipelineApplication {
  name: string;
  sloMs: number;
  /** The share of the load's requests that are its own. All shares sum to 1. */
  share: number;
  /** How much a drop of one of its requests weighs. Default 1. */
  weight?: number;
}

/** FurtherObjective asks that a share of requests (0.5) is answered within a time. */
export interface FurtherObjective {
  sloMs: number;
  attainment: number;
}

/** LatencyQuantile is a figure of measured latencies: the median, or the 95th percentile of models of one block. */
export type LatencyQuantile = 'p50' | 'p95';

/** PipelinePlanner says how the plan is found; `given` checks what the spec fixes. */
export interface PipelinePlanner {
  /** Default inferline. */
  method?: PipelineMethod;
  /**
   * How often the load is drawn, with the seeds 1, 2, …: the plan holds its objective on every draw. Of a trace only the
   * verdicts are drawn. Default 10, and fewer of a load of more than 10,000 requests, so that all are about 100,000; one
   * of a trace.
   */
  draws?: number;
}

/** PipelineMethod is a way to plan a pipeline. */
export type PipelineMethod = 'given' | 'inferline' | 'exact' | 'coarse-mean' | 'coarse-peak';

/** pipelineMethodOf gives the way in which a spec asks to be planned. */
export function pipelineMethodOf({
  planner,
}: {
  readonly planner?: PipelinePlanner | undefined;
}): PipelineMethod {
  return planner?.method ?? 'inferline';
}

/** PipelineTuner is a rule that changes the replicas while a plan serves. */
export type PipelineTuner = 'none' | 'inferline' | 'coarse' | 'ds2' | 'by-rate';

/** PipelineStage is one model of the pipeline, and what is fixed of how it is served. */
export interface PipelineStage {
  name: string;
  /** The path of the profile, relative to the spec. */
  profile: string;
  /** The stages that its results go to. A name alone is an edge that is always taken. */
  next?: (string | PipelineEdge)[];
  /** The device class that serves it. */
  device?: string;
  /** The device classes that may serve it; all where absent. */
  devices?: string[];
  /** Its replicas are virtual GPUs of 1/virtual of a GPU. Default 1. */
  virtual?: number;
  batch?: number;
  latencyQuantile?: LatencyQuantile;
  /** How many there are. In place of `device`, the number of each of several classes. */
  replicas?: number | Record<string, number>;
  /** Further replicas that are down, and cost nothing, until they are activated. Default 0. */
  standby?: number;
  /**
   * Where the model's inputs come from, by input: `stage.tensor`, `request.tensor`, or several of them, of which the
   * first that there is counts. An input without an entry is the tensor of its name that the stage before gives.
   */
  inputs?: Record<string, string | string[]>;
}

/** PipelineEdge leads from a stage to a later one. It is always taken where it has no probability. */
export interface PipelineEdge {
  to: string;
  /** The share of the stage's tasks for which it is taken, above 0 and at most 1. */
  probability?: number;
  when?: WhenOutput;
}

/**
 * WhenOutput says for which of a stage's results an edge is taken: an output's value is `atLeast` a bound, or `below`
 * one. Of exclusive edges the first that says so is taken, or else the last.
 */
export interface WhenOutput {
  output: string;
  /** The element of a row that is read. Default 0, where the output has one element for each row. */
  index?: number;
  atLeast?: number;
  below?: number;
}

/** SharedDevices is a set of like devices, each of which holds all of the stages, and runs one batch at a time. */
export interface SharedDevices {
  device: string;
  stages: string[];
  replicas: number;
  /** The devices are virtual GPUs of 1/virtual of a GPU. Default 1. */
  virtual?: number;
  /** Further such devices that are down, and cost nothing, until they are activated. Default 0. */
  standby?: number;
}

/** PipelineLoad is the sample that a plan is made for: a trace, or an arrival process. */
export type PipelineLoad =
  | {
      /** The path of a trace, relative to the file that names it. */
      trace: string;
      /** Where the window of the trace begins that is the sample, from the trace's start on, such as 18h. */
      from?: string;
      /** Where that window ends, from the trace's start on, such as 19h. */
      to?: string;
    }
  | {
      arrivals: HoldArrivals;
      rps: number;
      /** The coefficient of variation of the gaps between gamma arrivals. */
      cv?: number;
      /** Such as 60s or 5m. */
      duration?: string;
    };
