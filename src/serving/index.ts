/**
 * Run-time decisions as state machines: which pipeline, which batch, wait or start, drop or retry.
 *
 * In goes a topology made from a plan, then what happened and when (integer nanoseconds since the run began); out come
 * decisions in a buffer the driver owns: execute, transfer, answer, drop, wakeAt (DESIGN.md, idea 1). The runtime drives it in real
 * time, the simulator in virtual time. It knows no clock, no I/O, no randomness, no tensors.
 */
export type { ServingCore } from './core.js';
export { Answer, Decision, Decisions, DROP_REASONS, type DropReason } from './decisions.js';
export { type LogEntry, type Replay, recorded, replay } from './log.js';
export {
  type FirstSightRule,
  type OfferRule,
  PUBLISHED_POLICY,
  RESERVATION_POLICY,
  type ReservationCorrection,
  type ReservationPolicy,
  type ReviewRule,
  type TableRule,
} from './reservation/policy.js';
export { ReservationCore } from './reservation/reservation.js';
export {
  DEFAULT_POLICY,
  type DropRule,
  type FeedbackCorrection,
  FIFO_POLICY,
  type FormationRule,
  type InstantRule,
  type LateRule,
  type PipelineChoice,
  type PlacementRule,
  PUBLISHED_REACTIVE_POLICY,
  type QueueOrder,
  REACTIVE_POLICY,
  type StageLocalPolicy,
} from './stage-local/policy.js';
export { StageLocalCore } from './stage-local/stage-local.js';
export {
  type Links,
  type Pool,
  type ServedModel,
  type Topology,
  type TopologyOptions,
  topologyOf,
  type VirtualDevice,
} from './topology.js';
