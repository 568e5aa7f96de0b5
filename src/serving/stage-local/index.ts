/**
 * Stage-local schedulers: every stage forms its own batches from what waits before it and looks at no link.
 *
 * A scheduler is a StageLocalPolicy: queue order, placement, batch formation, drop rule, what becomes of late requests, and
 * correction of expected durations, any with any. Start with `policy.ts` for the choices and `stage-local.ts` for the core;
 * `formation.ts` decides how large a batch is and `dropping.ts` when the head of a queue is given up.
 */
export {
  DEFAULT_POLICY,
  type DropRule,
  FIFO_POLICY,
  type FormationRule,
  type InstantRule,
  type LateRule,
  type PipelineChoice,
  type PlacementRule,
  REACTIVE_POLICY,
  type StageLocalPolicy,
} from './policy.js';
export { StageLocalCore } from './stage-local.js';
