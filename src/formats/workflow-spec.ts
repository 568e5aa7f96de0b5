import type { OpenCluster } from './cluster.js';
import type { PipelineLoad } from './pipeline-spec.js';
import type { PlanServing } from './pooled-spec.js';

/**
 * WorkflowSpec is the question that `plan solve` answers for dynamic workflows: programs that call components, which share the
 * devices of a cluster (DyOrc).
 */
export interface WorkflowSpec {
  $schema?: string;
  kind: 'workflow';
  version?: string;
  /** The path of a cluster file, relative to the spec, or the cluster itself. Every class has a count and a memory. */
  cluster: string | OpenCluster;
  /** The models that programs call. */
  components: WorkflowComponent[];
  /** The programs that clients call by name. */
  workflows: WorkflowEntry[];
  /** The load of all workflows together, where these have shares. */
  load?: PipelineLoad;
  /** The mean rate alone, in place of a load. */
  rps?: number;
  planner?: WorkflowPlanner;
  /** The devices and the components that they hold: for planner.method given. */
  placement?: GivenDevices[];
  /** The scheduler that the plan is to be served by. Default: the method's own. */
  serving?: PlanServing;
}

/** WorkflowComponent is a model that programs call. */
export interface WorkflowComponent {
  name: string;
  /** The path of the profile, relative to the spec. */
  profile: string;
  /**
   * The memory that it takes on a device, the working memory of its largest batch included; that of the profile's
   * weights where absent.
   */
  memoryGiB?: number;
  /** The time from a server's memory to a device; where absent the weights' at the class's loadGBps. */
  loadMs?: number;
  /** The largest batch that it executes. Default: that from which throughput grows no more, or that the profile ends with. */
  maxBatch?: number;
}

/** WorkflowEntry is a workflow that clients call by name, and where its recorded or drawn requests come from. */
export interface WorkflowEntry {
  name: string;
  /** The path of the program, relative to the spec: a module that exports inputs, outputs and a function. */
  program?: string;
  /**
   * The path of recorded requests, relative to the spec. The runs of other workflows in the file are left
   * out.
   */
  runs?: string;
  /** In place of recorded requests: the chain that they are drawn from. */
  chain?: WorkflowChain;
  /** The time from arrival to deadline. Requests of a workflow without one are never late. */
  sloMs?: number;
  /** The share of the load's requests that are its own. All shares sum to 1. Default: equal ones. */
  share?: number;
  /** In place of a share: its own mean rate. Then all workflows have one, and there is no load. */
  rps?: number;
}

/** WorkflowChain draws requests: each begins with a step, and each step leads to another or to the end by chance. */
export interface WorkflowChain {
  requestBytes: number;
  /** The steps with which a request begins, with their chances, which sum to 1; a name alone is one that always does. */
  start: string | ChainEdge[];
  steps: ChainStep[];
}

/**
 * ChainStep is what a program calls side by side. Where a step leads to several, the program has read its outputs before it goes
 * on; where it leads to one, it passes them on unread.
 */
export interface ChainStep {
  name: string;
  calls: ChainCall[];
  /** Where it leads, with the chances, which sum to 1; a name alone is one that always follows. The end where absent. */
  next?: string | ChainEdge[];
}

/** ChainCall is a call of a component. */
export interface ChainCall {
  component: string;
  /** Rows of a batch. Default 1. */
  rows?: number;
  /** Each is `request`, or a step: what its calls gave when it was last visited. A step that was not visited gives nothing. */
  inputs: string[];
  outputBytes: number;
  /** The time that the program takes before it makes the call. Default 0. */
  thinkMs?: number;
}

/** ChainEdge leads to a step, or to the end, with a chance. */
export interface ChainEdge {
  /** A step's name, or `end`. */
  to: string;
  chance: number;
}

/** GivenDevices are like devices, each of which holds all of the components. */
export interface GivenDevices {
  /** Their class. */
  device: string;
  count: number;
  holds: string[];
}

/** WorkflowPlanner says how the plan is found. */
export interface WorkflowPlanner {
  /** Default dyorc. */
  method?: WorkflowMethod;
  /** Default latency. */
  objective?: WorkflowObjective;
  /** The share of requests that must be in time, of each workflow with an SLO. Default 0.99. */
  attainment?: number;
  /** Devices are divided into this many groups, each with a scheduler of its own. Default 1. */
  subclusters?: number;
}

/**
 * WorkflowMethod is the scheduler that the plan is made for: DyOrc's (dyorc), the earliest end of each task (greedy), devices in
 * turn (round-robin), the components that devices hold for ever (static: those of DyOrc's sample, given: those of the spec), or
 * replicas that follow the load, as Ray Serve has them (ray-like).
 */
export type WorkflowMethod = 'dyorc' | 'greedy' | 'round-robin' | 'static' | 'ray-like' | 'given';

/** workflowMethodOf gives the way in which a spec asks to be planned. */
export function workflowMethodOf({
  planner,
}: {
  readonly planner?: WorkflowPlanner | undefined;
}): WorkflowMethod {
  return planner?.method ?? 'dyorc';
}

/** WorkflowObjective is what is made least: the mean latency on all devices, or the devices that hold all SLOs. */
export type WorkflowObjective = 'latency' | 'devices';
