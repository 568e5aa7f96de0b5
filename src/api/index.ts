/**
 * This room has one function per command, and is what the library exports. It reads and writes files,
 * and hands on limits and cancellation.
 *
 * It takes paths and options as a person writes them. It gives result objects, and files that are written whole or not
 * at all. It prints nothing and knows no exit codes. Each function is a door to the file of its command, which is
 * loaded with the rooms that it needs when the function is called; no call replaces a file that it has read. Solving,
 * comparing and what else is asked of a spec is done by the room `specs`. Start reading at the file named after a
 * command.
 */
import { door } from './door.js';

export {
  type CompareOptions,
  type Comparison,
  compareSpec,
  type NotHeld,
  notHeldReason,
  refuseForSeveral,
  type Solved,
  type SolveLimits,
  type SolveOptions,
  type SpecKind,
  solveSpec,
  solveTogether,
  type TimingRound,
  type TogetherOptions,
  type TogetherSolved,
} from '../specs/index.js';
export type { ComparedInSimulation, CompareSchedulersOptions } from './compare-schedulers.js';
export type { DeployOptions } from './deploy.js';
export type { DiffOptions } from './diff.js';
export type { Tolerance } from './diff-tolerances.js';
export type { ImportOptions } from './import.js';
export type {
  BegunKind,
  ExampleName,
  InitCluster,
  InitClusterOptions,
  InitOptions,
  InitSpec,
} from './init/index.js';
export type { LoadServerOptions } from './load.js';
export type { PartitionedModel, PartitionModelOptions } from './partition.js';
export type { ProfileModelOptions, ProgressStep } from './profile.js';
export type { ProfileEngineOptions } from './profile-engine.js';
export type { ProfiledPipeline, ProfilePipelineOptions } from './profile-pipeline.js';
export { refuseLabels, refuseSamples, refuseWorkflow } from './refuse-samples.js';
export type { Simulated, SimulateOptions } from './simulate.js';
export type {
  ConvertTraceOptions,
  DescribeTraceOptions,
  MadeTrace,
  RescaleTraceOptions,
  SliceTraceOptions,
} from './trace.js';
export type * from './types.js';
export type { Validated } from './validate.js';
export type { VerifyOptions } from './verify/index.js';

/** compareSchedulers simulates a plan under several schedulers. */
export const compareSchedulers = door(
  async () => (await import('./compare-schedulers.js')).compareSchedulers,
);

/** deployPlan writes the bundle of a plan. */
export const deployPlan = door(async () => (await import('./deploy.js')).deployPlan);

/** listDevices reports which devices of this machine can profile and serve. */
export const listDevices = door(async () => (await import('./devices.js')).listDevices);

/** diffPlanFiles says what one plan changes in another of its kind. */
export const diffPlanFiles = door(async () => (await import('./diff.js')).diffPlanFiles);

/** importProfileFiles makes a profile of what other tools measured. */
export const importProfileFiles = door(async () => (await import('./import.js')).importProfileFiles);

/** initSpec begins a spec from profiles. */
export const initSpec = door(async () => (await import('./init/index.js')).initSpec);

/** initCluster begins a cluster from the nodes of Kubernetes or Ray. */
export const initCluster = door(async () => (await import('./init/index.js')).initCluster);

/** writeExample copies an example of the package into a folder. */
export const writeExample = door(async () => (await import('./init/index.js')).writeExample);

/** profileEngine measures what an engine takes of requests beside its devices. */
export const profileEngine = door(async () => (await import('./profile-engine.js')).profileEngine);

/** loadServer sends requests to a server as they arrive, and reports what came of them. */
export const loadServer = door(async () => (await import('./load.js')).loadServer);

/** partitionModelFile cuts a model into blocks. */
export const partitionModelFile = door(async () => (await import('./partition.js')).partitionModelFile);

/** profileModelFile measures a model on devices of this machine. */
export const profileModelFile = door(async () => (await import('./profile.js')).profileModelFile);

/** mergeProfileFiles makes one profile of several of a model. */
export const mergeProfileFiles = door(async () => (await import('./profile.js')).mergeProfileFiles);

/** profileCascade measures the models of a cascade, and records what they say of labelled samples. */
export const profileCascade = door(async () => (await import('./profile-cascade.js')).profileCascade);

/** profileWorkflow measures the models of a workflow's components, and records what its program calls for samples. */
export const profileWorkflow = door(async () => (await import('./profile-workflow.js')).profileWorkflow);
export type { ProfiledSpecKind } from './profile-cascade.js';
export type { ProfileWorkflowOptions } from './profile-workflow.js';

/** specKind is the kind of a spec whose models are profiled together. */
export const specKind = door(async () => (await import('./profile-cascade.js')).specKind);

/** profilePipeline measures the models of a pipeline, and counts the edges that samples take. */
export const profilePipeline = door(async () => (await import('./profile-pipeline.js')).profilePipeline);

/** serveBundle serves a bundle until it is closed. */
export const serveBundle = door(async () => (await import('./serve.js')).serveBundle);

/** simulatePlan simulates a plan in virtual time. */
export const simulatePlan = door(async () => (await import('./simulate.js')).simulatePlan);

/** sweepPlan simulates a plan at many loads, and finds the largest that it serves. */
export const sweepPlan = door(async () => (await import('./simulate.js')).sweepPlan);

/** convertTrace makes a trace of inferplan from one of any known format. */
export const convertTrace = door(async () => (await import('./trace.js')).convertTrace);

/** describeTraces gives the figures of traces. */
export const describeTraces = door(async () => (await import('./trace.js')).describeTraces);

/** rescaleTrace makes a trace of another rate or duration. */
export const rescaleTrace = door(async () => (await import('./trace.js')).rescaleTrace);

/** sliceTrace makes a trace of a window of another. */
export const sliceTrace = door(async () => (await import('./trace.js')).sliceTrace);

/** validateFiles checks files, and how they fit together. */
export const validateFiles = door(async () => (await import('./validate.js')).validateFiles);

/** verifyLoad compares a load on a server with its simulation. */
export const verifyLoad = door(async () => (await import('./verify/index.js')).verifyLoad);
