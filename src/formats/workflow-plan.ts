import type { OpenCluster } from './cluster.js';
import type { Emitted, TensorSpec } from './common.js';
import type { PipelineLoad } from './pipeline-spec.js';
import type { PlanServing } from './pooled-spec.js';
import type { WorkflowChain, WorkflowMethod, WorkflowObjective } from './workflow-spec.js';

/** WorkflowPlan says where the components of dynamic workflows are at the start, and how their tasks are scheduled. */
export interface WorkflowPlan extends Emitted {
  kind: 'workflow-plan';
  /** How the plan was found. */
  method: WorkflowMethod;
  notes?: string[];
  /** status says whether it is proved that no plan is better. */
  status: 'optimal' | 'feasible';
  /** False where an interruption ended the search. */
  reproducible?: boolean;
  objective: WorkflowPlanObjective;
  /** The scheduler that serves the plan. */
  serving: PlanServing;
  /** The cluster that the plan uses: of objective devices, with the counts that it found. */
  cluster: OpenCluster;
  /** The share of requests that must be in time, of each workflow with an SLO. */
  attainment: number;
  load?: PipelineLoad;
  /** True where the load is a trace that counts functions: function f, from 0 on, is of workflow f modulo their number. */
  functionsInTurn?: boolean;
  /** The mean rate that the plan was made for, of all workflows together. */
  rps: number;
  /** How many groups of devices there are, each with a scheduler of its own. */
  subclusters: number;
  components: PlannedComponent[];
  workflows: PlannedWorkflow[];
  /** The devices, those of a class and server beside one another. */
  placement: WorkflowDevice[];
  sample: WorkflowSample;
  bounds: WorkflowBounds;
}

/** WorkflowPlanObjective is what was made least, with the proved bound on what any plan reaches. */
export interface WorkflowPlanObjective {
  kind: WorkflowObjective;
  /** The mean latency of the sample in milliseconds, or the number of devices. */
  value: number;
  /** No plan reaches less on the sample. */
  bound: number;
  /** value/bound − 1; absent where the bound is 0, and where requests were dropped and the mean of the others reaches its bound. */
  gap?: number;
}

/** PlannedComponent is a component, and what it needs of each class of devices. */
export interface PlannedComponent {
  name: string;
  /** The name of the model, as its profile has it. */
  model: string;
  /** The bytes that it takes of a device's memory, and of its server's. */
  memoryBytes: number;
  /** The bytes of the model's weights, where the profile has them. */
  weightBytes?: number;
  /** The classes that run it. */
  classes: ComponentOnClass[];
  /** The model's tensors, where the profile has them. */
  inputs?: TensorSpec[];
  outputs?: TensorSpec[];
  batchTolerance?: number;
  trustBatch?: string;
  unservedOutputs?: string[];
}

/** ComponentOnClass is how a component is executed and loaded on devices of a class. */
export interface ComponentOnClass {
  device: string;
  /** The largest batch that it executes. */
  batch: number;
  /** The execution latency at batch 1 … batch; null where the profile has no such batch. */
  latencyUsByBatch: (number | null)[];
  /** The time from the server's memory to a device. */
  loadUs: number;
  /** The time from the server's disk to its memory. */
  diskUs: number;
}

/** PlannedWorkflow is a workflow that clients call, and what its requests did in the runs that the plan was made from. */
export interface PlannedWorkflow {
  name: string;
  sloMs?: number;
  /** The share of the requests that are its own. All shares sum to 1. */
  share: number;
  /** The path of its program, relative to the plan. */
  program?: string;
  /** The path of its recorded requests, relative to the plan; absent where they are drawn from a chain. */
  runs?: string;
  chain?: WorkflowChain;
  /** The counts of which call followed which in the runs. */
  frequencies: NextCallCount[];
}

/** NextCallCount counts what followed a history of calls. */
export interface NextCallCount {
  /** The components of the last calls before, the latest last; fewer at a request's start. */
  after: string[];
  /** The component that was called next; absent where the request ended. */
  component?: string;
  /** Where each of its inputs came from: 1 is the call before, 2 the one before that; 0 is the request. */
  inputs?: number[];
  rows?: number;
  count: number;
  /** The mean bytes of its outputs. */
  outputBytes?: number;
}

/** WorkflowDevice is a device, with the components that it holds. */
export interface WorkflowDevice {
  /** The name of the server, such as `A800-0`. */
  server: string;
  /** The device on the server, counted from 0. */
  gpu: number;
  class: string;
  /** The components that it holds at the start. */
  holds: string[];
  /** The components that it holds where components never move, as under the scheduler static; `holds` where absent. */
  static?: string[];
  /** The group that it is in, counted from 0; 0 where absent. */
  subcluster?: number;
}

/** WorkflowSample is what the plan makes of the sample that it was made for, served by its scheduler. */
export interface WorkflowSample {
  /** The seed of the arrivals and of the requests that are drawn. */
  seed: number;
  /** The digest of arrivals, workflows and requests. */
  sha256: string;
  requests: number;
  tasks: number;
  meanMs: number;
  p50Ms: number;
  p95Ms: number;
  p99Ms: number;
  dropped: number;
  workflows: SampleOfWorkflow[];
  /** The share of all devices' time in which they only executed, only loaded, did both, or neither. All sum to 1. */
  deviceTime: DeviceTimeShares;
  loads: number;
  evictions: number;
  /** The share of next calls, ends included, that were as expected; absent where the scheduler expects nothing. */
  rightGuesses?: number;
}

/** SampleOfWorkflow is what the plan makes of the sample's requests of a workflow. The figures are absent where it has none. */
export interface SampleOfWorkflow {
  name: string;
  requests: number;
  meanMs?: number;
  p50Ms?: number;
  p95Ms?: number;
  p99Ms?: number;
  /** The share in time; absent where it has no SLO. */
  attainment?: number;
}

/** DeviceTimeShares say what devices did of the time. */
export interface DeviceTimeShares {
  executing: number;
  loading: number;
  both: number;
  idle: number;
}

/** WorkflowBounds are what no plan of these components and classes reaches less than, on the sample. */
export interface WorkflowBounds {
  /** By the work that all requests have at their best batch and class, and by the time there is: as many devices at least. */
  devices: number;
  /** By the critical path of each request, executed alone on its best class with all it needs there: the mean is at least this. */
  meanMs: number;
}
