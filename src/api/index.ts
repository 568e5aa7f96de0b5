/**
 * One function per command: the library's face. It owns files in and out, worker threads, limits and cancellation.
 *
 * In go paths and options as a person gives them, out come result objects and files written whole or not at all. It
 * prints nothing and knows no exit code. Each function loads the rooms it needs when it is called.
 */
export {
  ARTIFACT_KINDS,
  type ArtifactKind,
  InputError,
  MissingError,
  type SimulationReport,
  type SimulationSweep,
  schemaText,
} from '../artifacts/index.js';
export type { LoadReport } from '../loadgen/index.js';
export type {
  Baseline,
  Change,
  InfeasibilityExplanation,
  PlanDiff,
  PlanExplanation,
} from '../milp/index.js';
export type { RunningServer, ServeEvent } from '../runtime/index.js';
export type { SimulationProgress, SweepOptions, SweepProgress } from '../simulation/index.js';
export type { CompareRow, ComparisonDocument } from './compare/index.js';
export {
  type CompareOptions,
  type CompareProgress,
  type Comparison,
  compareSpec,
} from './compare/index.js';
export { type DeployOptions, deployPlan } from './deploy.js';
export { listDevices } from './devices.js';
export { diffPlanFiles } from './diff.js';
export { type ImportOptions, importProfileFiles } from './import.js';
export { loadServer } from './load.js';
export { type PartitionedModel, type PartitionModelOptions, partitionModelFile } from './partition.js';
export { mergeProfileFiles, type ProfileModelOptions, profileModelFile, type Step } from './profile.js';
export { serveBundle } from './serve.js';
export { type Simulated, type SimulateOptions, simulatePlan, sweepPlan } from './simulate.js';
export { type Solved, type SolveLimits, type SolveOptions, solveSpec } from './solve/index.js';
export { type Validated, validateFiles } from './validate.js';
