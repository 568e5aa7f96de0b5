/**
 * The room `serving` makes every run-time decision as a state machine: which pipeline, which batch, wait or
 * start, drop or retry.
 *
 * In goes a topology made from a plan, then what happened and when, in integer nanoseconds since the run
 * began. Out come decisions (execute, transfer, answer, drop, wakeAt) in a buffer that the driver owns. The
 * runtime drives a core in real time and the simulator in virtual time (docs/design.md). The room has no
 * clock, does no I/O and sees no tensors. Where a rule of a core draws random numbers, it is handed a seeded
 * stream of them.
 *
 * Start with `core.ts` and `decisions.ts` for the language between core and driver, then `schedulers.ts` for
 * the list of schedulers.
 */
export { brokenPromise, unreachable } from './broken-promise.js';
export type { ServingCore } from './core.js';
export { Answer, Decision, Decisions, DROP_REASONS, type DropReason } from './decisions.js';
export { type Links, linksByServer, publishedLinks } from './links.js';
export { type LogEntry, type Replay, recorded, replay } from './log.js';
export { topologyPartOf } from './part.js';
export { busyUntilTables, PUBLISHED_POLICY, PUBLISHED_REACTIVE_POLICY } from './published/index.js';
export {
  type FirstSightRule,
  gapTables,
  RESERVATION_POLICY,
  ReservationCore,
  type ReservationPolicy,
  type ReservationTableRule,
  type ReviewRule,
} from './reservation/index.js';
export { poolNames, scalingFaults } from './scheduled-scaling.js';
export {
  absentChoices,
  choicesGiven,
  chosenScheduler,
  chosenWorkflowPolicy,
  type SchedulerOptions,
} from './scheduler-options.js';
export {
  type ChosenScheduler,
  choiceClashes,
  ENGINE_SCHEDULERS,
  type EngineScheduler,
  engineOf,
  type HandedToCore,
  makeCore,
  SCHEDULER_NAMES,
  type SchedulerName,
  topologyRulesOf,
} from './schedulers.js';
export {
  DEFAULT_POLICY,
  type DropRule,
  FIFO_POLICY,
  type FormationRule,
  GEAR_POLICY,
  INFERLINE_POLICY,
  type InstantRule,
  type LateRule,
  type PipelineChoice,
  type PlacementRule,
  RAY_SERVE_GATHER_MS,
  REACTIVE_POLICY,
  type Readings,
  ROOM_FIRST_POLICY,
  type ScalingRule,
  type SpareTimes,
  StageLocalCore,
  type StageLocalPolicy,
  spareTimes,
} from './stage-local/index.js';
export {
  type FeedbackCorrection,
  MOST_LEVELS,
  type QueueOrder,
  type ReservationCorrection,
} from './state/index.js';
export type { PoolClass, ServedStep } from './topology.js';
export {
  areChains,
  blendLatencies,
  type Edge,
  type EdgeCondition,
  filledLatencies,
  followersOf,
  type GearTable,
  gearsOf,
  ownerOf,
  type Pool,
  poolsServedBy,
  type Routes,
  type ServedGear,
  type ServedModel,
  type StageRoutes,
  type StageTopology,
  sharingFirst,
  type Topology,
  type TopologyRules,
  type VirtualDevice,
} from './topology.js';
export {
  ArrivalWindows,
  envelopeOf,
  needsLoad,
  TUNERS,
  type TunedPlan,
  type TunedSet,
  type TunerName,
  tunerSettings,
} from './tuning/index.js';
export {
  backTo,
  type ComponentPool,
  type DeviceMemory,
  DYORC_POLICY,
  DynamicCore,
  type DynamicOptions,
  END,
  type Foresight,
  type FrequencyRow,
  GREEDY_POLICY,
  type GuessCounts,
  Histories,
  type HostMemory,
  passTimes,
  RAY_LIKE_POLICY,
  type RayLikePolicy,
  ROUND_ROBIN_POLICY,
  type SeenCall,
  START,
  type SubmittedCall,
  WORKFLOW_SCHEDULERS,
  type WorkflowCore,
  type WorkflowParts,
  type WorkflowPolicy,
  type WorkflowScheduler,
  type WorkflowTable,
  workflowCore,
} from './workflow/index.js';
