/**
 * This folder says what a pipeline plan is: the graph of its stages, its topology, tensors, tuner and spare devices.
 */
export { plannedApplications } from './applications.js';
export {
  CERTAIN,
  type ConditionalEdge,
  conditionalEdges,
  type VerdictChoice,
  verdictChoices,
} from './choices.js';
export { diffPipelines } from './diff.js';
export { fatesOf, type UncertainPipeline } from './fates.js';
export {
  ancestorsOf,
  countFaults,
  edgeOf,
  type GivenEdge,
  type GraphEdge,
  predecessorsOf,
  type ReadGraph,
  readStageGraph,
  type StageGraph,
} from './graph.js';
export { PIPELINE_PLAN } from './pipeline-plan.js';
export type { PipelinePlanBody } from './plan-body.js';
export { type ServedStage, type ServedStages, servedPipelineOf, unservedFaults } from './served.js';
export { heldTogether, withSpares } from './spares.js';
export { bytesPerRow, wireStages } from './tensors.js';
export { pipelineTopologyOf } from './topology.js';
export { answerKeys, stageWiring } from './wiring.js';
