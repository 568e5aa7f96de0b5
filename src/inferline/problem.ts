import type { GraphEdge, StageGraph } from '../plans/index.js';

/** StageCandidate is a device class on which a stage may run, with what its profile and the cluster say of it. */
export interface StageCandidate {
  readonly device: string;
  /** The batch sizes that may be chosen, ascending: those measured, or the one that the spec fixes. */
  readonly batches: readonly number[];
  /** The latency of a batch of n rows at index n - 1, for 1 up to the largest of `batches`. */
  readonly latencyNs: Float64Array;
  /** The price of one replica. */
  readonly hourlyCost: number;
}

/** StageChoices is what may be chosen for one stage. */
export interface StageChoices {
  readonly candidates: readonly StageCandidate[];
  /** The number of replicas, where the spec fixes it. */
  readonly replicas?: number;
}

/** TailObjective asks that a share of requests (0.99) is answered within `sloNs`. */
export interface TailObjective {
  readonly attainment: number;
  readonly sloNs: number;
  /** The application whose requests alone it is about; absent where it is about all. */
  readonly application?: number;
}

/** PlanningProblem is a pipeline to be planned: a DAG, the choices of each stage, and what the plan must hold. */
export interface PlanningProblem {
  readonly graph: StageGraph;
  /** The choices of each stage, in the order of `graph.names`. */
  readonly stages: readonly StageChoices[];
  readonly objectives: readonly TailObjective[];
  /** The number of replicas that a class has at most; a class that is absent has no limit. */
  readonly counts: Readonly<Record<string, number>>;
  /** The load that every stage must keep up with; absent where nothing but the sample is asked. */
  readonly load?: MeanLoad;
  /** The transfer of a batch along an edge over idle links; absent where transfers take no time. */
  readonly transferNs?: (move: TransferMove) => number;
  /** The number of servers that a class has at most, each of which has one uplink; a class that is absent has no limit. */
  readonly servers?: Readonly<Record<string, number>>;
  /**
   * How many times as long transfers take here as over idle links, as an allowance for waiting, and from how many times as
   * many servers as their link time needs stages are to send; 1 where absent.
   */
  readonly stretch?: number;
}

/** MeanLoad is a mean rate of requests, with the probability by stage that a request visits it. */
export interface MeanLoad {
  readonly rps: number;
  readonly visits: readonly number[];
}

/** TransferMove is a batch that goes along an edge, from one device class to another. */
export interface TransferMove {
  readonly from: number;
  readonly edge: GraphEdge;
  readonly fromDevice: string;
  readonly toDevice: string;
  readonly rows: number;
}

/** Configuration says how each stage is served. Each column has one entry for each stage. */
export interface Configuration {
  /** The index of the stage's candidate. */
  readonly candidate: Int32Array;
  /** The largest batch. */
  readonly batch: Int32Array;
  readonly replicas: Int32Array;
}

/** Sample is the trace that a plan is made for: requests of one row with the fate of each. */
export interface Sample {
  /** The arrivals, ascending. */
  readonly atNs: Float64Array;
  /**
   * The verdict of each stage on each request: bit k says whether the stage's k-th conditional edge is taken, as in
   * simulations. A stage without conditional edges has none.
   */
  readonly verdicts: readonly (Int32Array | undefined)[];
  /** The application of each request, where there are several. */
  readonly applications?: Uint8Array;
}

/** Estimate is what the Estimator says of a configuration on a sample. */
export interface Estimate {
  /** For each objective: the share of requests that was within its SLO. */
  readonly attainments: readonly number[];
  /** The latency of each request, in the order of arrival. It is written anew by the next estimate. */
  readonly latencyNs: Float64Array;
  /** How many replicas of a stage that has one for each visit are busy at once, at most. It means the last estimate. */
  readonly mostBusy?: (stage: number) => number;
}

/** PipelineEstimator estimates configurations of one problem on one sample. */
export interface PipelineEstimator {
  /** estimate serves the sample; what did not change since the last call is not computed again. */
  estimate(configuration: Configuration): Estimate;
}
