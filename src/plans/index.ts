/**
 * This room says what a plan of each kind is: what clients call, its topology, its scheduler and tuner, what its clients send
 * and get, and how two plans differ.
 *
 * It takes plans as their files have them, and gives values. It chooses nothing: planners make plans, `serving` decides what
 * happens to requests, and `checks` checks. It reads no files and draws no random numbers. Start reading at
 * `plan-topology.ts`.
 */
export { diffGears, gearFieldChanges, servedCascadeOf, unservedCascadeFaults } from './gears/index.js';
export {
  ancestorsOf,
  bytesPerRow,
  CERTAIN,
  type ConditionalEdge,
  chosenTuner,
  conditionalEdges,
  countFaults,
  diffPipelines,
  edgeOf,
  figureFaults,
  type GivenEdge,
  type GraphEdge,
  heldTogether,
  type PipelinePlanBody,
  pipelineFieldChanges,
  pipelinePlanFaults,
  pipelineTopologyOf,
  predecessorsOf,
  REQUEST,
  type ReadGraph,
  readStageGraph,
  type ServedStage,
  type ServedStages,
  type StageGraph,
  servedPipelineOf,
  type TunerOptions,
  unservedFaults,
  type VerdictChoice,
  verdictChoices,
  wireStages,
  withSpares,
} from './pipeline/index.js';
export { planChoices, plannedScheduler, replayFaults, servingFaults } from './plan-scheduler.js';
export { type Application, applicationsOf, planTopologyOf } from './plan-topology.js';
export { diffPlans, type PlanDiff, pooledFieldChanges, topologyOf } from './pooled/index.js';
export type { ServedPlan } from './served-plan.js';
export { checkDeviceCount, MOST_LISTED, seatsFrom } from './stages/index.js';
export type { TopologyOptions } from './topology-options.js';
