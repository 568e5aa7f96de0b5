/**
 * The room `serving` makes every run-time decision as a state machine: which pipeline, which batch, wait or
 * start, drop or retry.
 *
 * In goes a topology made from a plan, then what happened and when, in integer nanoseconds since the run
 * began. Out come decisions (execute, transfer, answer, drop, wakeAt) in a buffer that the driver owns. The
 * runtime drives a core in real time and the simulator in virtual time (docs/design.md). The room has no
 * clock, does no I/O, draws no random numbers and sees no tensors.
 *
 * Start with `core.ts` and `decisions.ts` for the language between core and driver, then `schedulers.ts` for
 * the list of schedulers.
 */
export { brokenPromise } from './broken-promise.js';
export type { ServingCore } from './core.js';
export { Answer, Decision, Decisions, DROP_REASONS, type DropReason } from './decisions.js';
export { gearPlanFaults } from './gear-plan-faults.js';
export { type LogEntry, type Replay, recorded, replay } from './log.js';
export { pipelineTopologyOf } from './pipeline-topology.js';
export { planFaults } from './plan-figures.js';
export { planChoices, plannedScheduler, replayFaults, servingFaults } from './plan-scheduler.js';
export { type Application, applicationsOf, planTopologyOf, type ServedPlan } from './plan-topology.js';
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
export { scalingFaults } from './scheduled-scaling.js';
export { chosenScheduler, type SchedulerOptions } from './scheduler-options.js';
export {
  type ChosenScheduler,
  makeCore,
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
  REACTIVE_POLICY,
  type ScalingRule,
  StageLocalCore,
  type StageLocalPolicy,
} from './stage-local/index.js';
export type { FeedbackCorrection, QueueOrder, ReservationCorrection } from './state/index.js';
export {
  type Edge,
  type EdgeCondition,
  filledLatencies,
  followersOf,
  type Links,
  type Pool,
  poolsServedBy,
  type ServedModel,
  type Topology,
  type TopologyRules,
  type VirtualDevice,
} from './topology.js';
export { chosenTuner, type TunerOptions } from './tuned-pipeline.js';
export { envelopeOf, TUNERS, type TunerName } from './tuning/index.js';
export { checkDeviceCount } from './device-count.js';
export { checkPlacement } from './pooled-placement.js';
export { topologyOf } from './pooled-topology.js';
export type { TopologyOptions } from './topology-options.js';
export { linksByServer, publishedLinks } from './links.js';
