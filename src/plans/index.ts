/**
 * This room says what a plan of each kind is: what clients call, its topology and the parts that it executes, its scheduler
 * and tuner, what its clients send and get, where it contradicts itself, and how two plans differ.
 *
 * It takes plans as their files have them, and gives values. It chooses nothing: planners make plans, `serving` decides what
 * happens to requests, and `checks` checks. It reads no files and draws no random numbers: these are handed in. Start reading
 * at `plan-of.ts`, which says what is asked of a kind, and `plan-table.ts`, which has the kinds.
 */
export { bundledFile } from './bundled-file.js';
export { chosenTuner, type TunerOptions } from './chosen-tuner.js';
export { diffGears, servedCascadeOf, unlikeModelFaults, unservedCascadeFaults } from './gears/index.js';
export {
  ancestorsOf,
  answerKeys,
  bytesPerRow,
  CERTAIN,
  type ConditionalEdge,
  conditionalEdges,
  countFaults,
  diffPipelines,
  edgeOf,
  fatesOf,
  type GivenEdge,
  type GraphEdge,
  heldTogether,
  type PipelinePlanBody,
  pipelineTopologyOf,
  plannedApplications,
  predecessorsOf,
  type ReadGraph,
  readStageGraph,
  type ServedStage,
  type ServedStages,
  type StageGraph,
  servedPipelineOf,
  stageWiring,
  type UncertainPipeline,
  unservedFaults,
  type VerdictChoice,
  verdictChoices,
  wireStages,
  withSpares,
} from './pipeline/index.js';
export type {
  Application,
  ClassUses,
  KnownSamples,
  LoadOfPlan,
  PlanOf,
  PlanPart,
  PlanWorld,
  ServedTensors,
  StagePlanOf,
  TimedApplication,
  ToldDifference,
} from './plan-of.js';
export {
  engineFaults,
  planChoices,
  plannedScheduler,
  replayFaults,
  servingFaults,
} from './plan-scheduler.js';
export {
  applicationsOf,
  isOfStages,
  PLAN_KINDS,
  PLANS,
  planOf,
  planProfileFaults,
  planTopologyOf,
  STAGE_PLAN_KINDS,
  weighedApplications,
} from './plan-table.js';
export { diffPlans, type PlanDiff, topologyOf } from './pooled/index.js';
export { areWeighed, type WeighedApplication, weightOfPriority } from './priorities.js';
export { REQUEST, requestKey } from './request-key.js';
export type { PlanFile, PlanKind, ServedPlan, StagePlan, StagePlanKind } from './served-plan.js';
export { checkDeviceCount, MOST_LISTED, seatsFrom } from './stages/index.js';
export type { TopologyOptions } from './topology-options.js';
export type {
  ApplicationWiring,
  BundledTensors,
  FedInput,
  GivenOutput,
  KeyedTensor,
  PartWiring,
  Wiring,
} from './wiring.js';
export {
  type CountedWorkflow,
  frequencyRowsOf,
  type HeldBy,
  isWorkflowScheduler,
  nextCallCountsOf,
  type PlacedWorkflows,
  plannedPolicy,
  type Subcluster,
  subclustersOf,
  workflowPolicyOf,
  workflowServingFaults,
  workflowTableOf,
  workflowTopologyOf,
} from './workflow/index.js';
