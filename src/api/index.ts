/**
 * This room has one function per command, and is what the library exports. It reads and writes files, and
 * owns worker threads, limits and cancellation.
 *
 * It takes paths and options as a person writes them. It gives result objects, and files that are written
 * whole or not at all. It prints nothing and knows no exit codes. Each function loads the rooms that it needs
 * when it is called. Start reading at the file named after a command.
 */
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
  solveSpec,
  solveTogether,
  type TimingRound,
  type TogetherOptions,
  type TogetherSolved,
} from '../specs/index.js';
export { type DeployOptions, deployPlan } from './deploy.js';
export { listDevices } from './devices.js';
export { diffPlanFiles } from './diff.js';
export { type ImportOptions, importProfileFiles } from './import.js';
export { type InitOptions, type InitSpec, initSpec, type SpecKind } from './init/index.js';
export { type LoadServerOptions, loadServer } from './load.js';
export { type PartitionedModel, type PartitionModelOptions, partitionModelFile } from './partition.js';
export {
  mergeProfileFiles,
  type ProfileModelOptions,
  type ProgressStep,
  profileModelFile,
} from './profile.js';
export { profileCascade, refuseLabels, specKind } from './profile-cascade.js';
export {
  type ProfiledPipeline,
  type ProfilePipelineOptions,
  profilePipeline,
  refuseSamples,
} from './profile-pipeline.js';
export { serveBundle } from './serve.js';
export { type Simulated, type SimulateOptions, simulatePlan, sweepPlan } from './simulate.js';
export {
  type ConvertTraceOptions,
  convertTrace,
  type DescribeTraceOptions,
  describeTraces,
  type MadeTrace,
  type RescaleTraceOptions,
  rescaleTrace,
} from './trace.js';
export { type Validated, validateFiles } from './validate.js';
export { type VerifyOptions, verifyLoad } from './verify/index.js';
