/**
 * This room says what files hold: the types of every kind of file, what is wrong with their figures, and the words and
 * errors for a person.
 *
 * Values go in, and faults, differences and texts come out. It reads and writes nothing: that is what `artifacts` is for.
 */
export {
  aliasedProfiles,
  aliasFaults,
  classText,
  figuresPlace,
  measuredAs,
  profiledClasses,
  selfAliasFaults,
  withAliases,
} from './aliases.js';
export {
  ARTIFACT_KINDS,
  type ArtifactKind,
  type ArtifactTypes,
  type Loaded,
  schemaId,
} from './artifact-kinds.js';
export {
  BUNDLE_MANIFEST,
  type Bundle,
  type BundledComponent,
  type BundledDevice,
  type BundledModel,
  type BundledPartition,
  type BundledProgram,
  type BundledStage,
  type BundleFile,
  bundledModelFiles,
  bundledPartFiles,
  type DeployTarget,
} from './bundle.js';
export {
  type CascadeLoad,
  type CascadeMethod,
  type CascadeModel,
  type CascadeObjective,
  type CascadePlanner,
  type CascadeSlo,
  type CascadeSpec,
  type CertaintyMeasure,
  cascadeMethodOf,
  DEFAULT_QUANTILE,
} from './cascade-spec.js';
export { byName, changeOf, classChanges, differs, fieldChanges, planChanges, sidesOf } from './changes.js';
export {
  type Cluster,
  classGbps,
  countedCluster,
  type DeviceClass,
  linkGbps,
  type OpenCluster,
  type OpenDeviceClass,
  slowerGbps,
} from './cluster.js';
export { commandText, shellText } from './command-text.js';
export {
  type Boundary,
  type Emitted,
  FORMAT_VERSION,
  type InputFile,
  type LatencyHistogram,
  type TensorSpec,
  type Tool,
} from './common.js';
export type { CompareRow, ComparisonDocument } from './comparison.js';
export {
  CSV_OPTIONS,
  type CsvLine,
  cellFaults,
  keptLine,
  type LineCells,
  MOST_CELLS,
  notCsv,
  smallCsvLines,
} from './csv-text.js';
export { decimalOf, isDecimal } from './decimal.js';
export { sameData, sha256Of } from './digest.js';
export {
  type EngineFigures,
  type EngineIngress,
  type EngineMeasurement,
  type EngineProfile,
  engineFigures,
} from './engine-profile.js';
export {
  CheckFailedError,
  distinctFaults,
  errorFields,
  type Fault,
  type FaultPlace,
  fault,
  faultAt,
  faultInFile,
  firstFaults,
  InputError,
  InterruptedError,
  MissingError,
  MOST_FAULTS,
  moreFaults,
  option,
  optionMark,
} from './errors.js';
export {
  CHANGED_ADVICE,
  type Gate,
  type GateCheck,
  type GateVerdicts,
  INPUTS_CHANGED,
  INPUTS_HELD,
  isHeld,
} from './gate-check.js';
export type {
  AccuracyInterval,
  Gear,
  GearLimit,
  GearObjective,
  GearPlan,
  GearPromise,
  GearScope,
  GearStage,
  GearStep,
  GearSwitching,
  PromisedRate,
  SingleAccuracy,
} from './gear-plan.js';
export { gearObjective, isOfBestSingle, scopeText } from './gear-plan.js';
export { HUGE, isHugeWhole, MOST_WHOLE } from './huge-numbers.js';
export { jsonFindings, notJson, placeIn } from './json-scan.js';
export { LINT_REPORT, type LintFinding, type LintReport } from './lint-report.js';
export {
  gapsText,
  gapTimes,
  type LabelledOutcomes,
  type LoadAnsweredBy,
  type LoadDocument,
  type LoadExecutions,
  type LoadOutcomes,
  type LoadSends,
  type LoadServed,
  type ModelLoad,
  type PriorityLoad,
} from './load-report.js';
export {
  isEmulated,
  isImported,
  type MeasuredCells,
  measurementFaults,
  measurementNotes,
  type ProfileFigures,
} from './measurement-marks.js';
export type { NoPlan, NoPlanModel, NoPlanObjective, NoPlanReason } from './no-plan.js';
export type {
  ApplicationSample,
  ClusterShare,
  EnvelopeWindow,
  LongestPath,
  OtherReplicas,
  PipelineObjective,
  PipelinePlan,
  PlannedApplication,
  PlannedEdge,
  PlannedObjective,
  PlannedSample,
  PlannedShared,
  PlannedStage,
  PlannedStandby,
  StageClassUse,
  StageInput,
  StageMisses,
  StagePlacement,
} from './pipeline-plan.js';
export type {
  CalledOften,
  CountedSamples,
  PipelineProfile,
  RecordedFamily,
  RecordedModel,
  SampledEdge,
  SampledRuns,
  SampledShare,
  SampledStage,
} from './pipeline-profile.js';
export {
  type FurtherObjective,
  type LatencyQuantile,
  type PipelineApplication,
  type PipelineEdge,
  type PipelineLoad,
  type PipelineMethod,
  type PipelinePlanner,
  type PipelineSpec,
  type PipelineStage,
  type PipelineTuner,
  pipelineMethodOf,
  type SharedDevices,
  type WhenOutput,
} from './pipeline-spec.js';
export {
  type GpuRow,
  type GpuRun,
  gpuNumber,
  runsOf,
  type Seat,
  type Spanned,
  seatsOf,
} from './placement.js';
export { type CheckedInput, type PlanChecks, planChecks, withChecks } from './plan-checks.js';
export type {
  Changed,
  ChangedWords,
  FieldChange,
  GearDifference,
  PlanDifference,
  StageDifference,
} from './plan-diff.js';
export type { ClassInSet, PlanInSet, PlanSet } from './plan-set.js';
export type {
  ChoiceParts,
  PolicyChoices,
  PolicyFamily,
  PolicyFile,
  PolicyGiven,
  PolicyScaling,
  ReservationChoices,
  ScheduledScaling,
  StageLocalChoices,
  WorkflowChoices,
} from './policy.js';
export type {
  ClassUse,
  HeldModel,
  HoldRuns,
  Placement,
  PlanHold,
  PlannedModel,
  PlannedPartition,
  PlannedPipeline,
  PlanObjective,
  PooledPlan,
  WarmUp,
} from './pooled-plan.js';
export {
  type BatchFormation,
  DEFAULT_SCHEDULER,
  EARLIER_GEARS,
  type HoldArrivals,
  type ObjectiveKind,
  PLANNED_GEARS,
  PLANNED_SCHEDULER,
  type PlannerOptions,
  type PlanServing,
  type PlanToHold,
  type PlanTuner,
  type PooledSpec,
  type PooledSpecModel,
} from './pooled-spec.js';
export type {
  CompletionScript,
  DeviceList,
  ErrorCode,
  ErrorDocument,
  ListedDevice,
  PartitionReport,
  PrintedFault,
  ServerAddress,
  Validation,
  WrittenExample,
} from './printed.js';
export type {
  DataFile,
  DeviceProfile,
  DimValues,
  LatencyTable,
  Measurement,
  Profile,
  ProfiledBlock,
  ProfiledLayer,
  ProfiledModel,
  ProfiledSpan,
  SpanTable,
  UnfitFigure,
  UnfitFigures,
  WholeLatency,
} from './profile.js';
export {
  cellName,
  layersBeforeBlocks,
  type ProfiledCell,
  type ServingMarks,
  servingMarks,
  servingNotes,
  unservedOutputNote,
} from './profile.js';
export {
  contradictionNotes,
  dipNotes,
  readProfileFaults,
  refuseContradictions,
  unmeasuredFaults,
} from './profile-contradictions.js';
export { MOST_BATCH, MOST_VIRTUAL, profileSizeFaults } from './profile-sizes.js';
export { proofFaults } from './proof-faults.js';
export { isReadIn, type Run, type RunTask, taskOrderFaults } from './run.js';
export type {
  ComparedApplication,
  ComparedChoice,
  ComparedFigure,
  ComparedPriority,
  ComparedScheduler,
  ComparedWindow,
  SchedulerComparison,
  SkippedScheduler,
  WorstWindow,
} from './scheduler-comparison.js';
export { shown, shownPath } from './shown.js';
export { didYouMean } from './similar.js';
export type {
  FigureOverRuns,
  RunsFigures,
  SimulatedCascade,
  SimulatedClass,
  SimulatedCost,
  SimulatedDrop,
  SimulatedExecution,
  SimulatedInUse,
  SimulatedLatency,
  SimulatedLinks,
  SimulatedLinkUse,
  SimulatedLoad,
  SimulatedModel,
  SimulatedPhase,
  SimulatedPool,
  SimulatedPoolClass,
  SimulatedPriorities,
  SimulatedPriorityLevel,
  SimulatedRequests,
  SimulatedRuns,
  SimulatedScheduler,
  SimulatedSplit,
  SimulatedVerdicts,
  SimulatedWindow,
  SimulatedWindows,
  SimulatedWorkflows,
  SimulatedWorkload,
  SimulationReport,
} from './simulation-report.js';
export type {
  LargestLoad,
  SimulationSweep,
  SweptModel,
  SweptPoint,
  SweptWorkload,
} from './simulation-sweep.js';
export type { StageFields, StageOf } from './stage-of.js';
export {
  hasOwnName,
  stageFields,
  stageIndex,
  stageMark,
  stageName,
  stageRoute,
  writtenStageName,
} from './stage-of.js';
export { MOST_TEXT_LEVELS, refuseLargeJson, refuseLargeYaml, TOO_DEEP, tooLargeJson } from './text-bounds.js';
export { ToldFaults } from './told-faults.js';
export { toldApart, toldBeyond, toldDown, toldUp, toldUpBelow } from './told-figures.js';
export type { DescribedTrace, TraceDescription, TraceFigures, TraceWindow } from './trace-description.js';
export { figureName, isOf, sameFigure, unfitFigures, unfitOf } from './unfit-figures.js';
export {
  BYTES_PER_GIB,
  BYTES_PER_MIB,
  NS_PER_MS,
  NS_PER_S,
  NS_PER_US,
  US_PER_MS,
  US_PER_S,
} from './units.js';
export type {
  CauseParts,
  CorrectedProfile,
  Verification,
  VerifiedAnswers,
  VerifiedCauses,
  VerifiedExecutions,
  VerifiedFigure,
  VerifiedFigureName,
} from './verification.js';
export { summedUs, type WholeAt, wholeLatencyUs } from './whole-latency.js';
export { counted, listed } from './words.js';
export type {
  ComponentOnClass,
  DeviceTimeShares,
  NextCallCount,
  PlannedComponent,
  PlannedWorkflow,
  SampleOfWorkflow,
  WorkflowBounds,
  WorkflowDevice,
  WorkflowPlan,
  WorkflowPlanObjective,
  WorkflowSample,
} from './workflow-plan.js';
export type {
  ChainCall,
  ChainEdge,
  ChainStep,
  GivenDevices,
  WorkflowChain,
  WorkflowComponent,
  WorkflowEntry,
  WorkflowMethod,
  WorkflowObjective,
  WorkflowPlanner,
  WorkflowSpec,
} from './workflow-spec.js';
export { workflowMethodOf } from './workflow-spec.js';
export { writtenSeconds } from './written-time.js';
