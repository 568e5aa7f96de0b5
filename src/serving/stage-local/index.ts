/**
 * The folder `stage-local` holds the stage-local schedulers: every stage forms its own batches from the tasks
 * that wait before it.
 *
 * In go the events of a driver, out come its decisions, as of every core. A scheduler is a StageLocalPolicy:
 * any queue order, placement, batch formation, drop rule, rule for late requests and correction of expected
 * durations can be combined. Such a scheduler reserves nothing and looks at no link.
 *
 * Start with `policy.ts` for the choices and `stage-local.ts` for the core. `formation.ts` decides how large
 * a batch is, and `dropping.ts` when the head of a queue is given up. PARD is `pard-policies.ts`, with `broker.ts` and
 * `state-planner.ts`.
 */
export { ENGINE_POLICIES, RAY_SERVE_GATHER_MS } from './engine-policies.js';
export { PARD_POLICIES, ROOM_FIRST_POLICY } from './pard-policies.js';
export type { Readings } from './pard-state/readings.js';
export { type SpareTimes, spareTimes } from './pard-state/spare-times.js';
export {
  type Clash,
  clashes,
  DEFAULT_POLICY,
  type DispatchRule,
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
  type SharingRule,
  type StageLocalPolicy,
} from './policy.js';
export { StageLocalCore, type StageLocalOptions } from './stage-local.js';
