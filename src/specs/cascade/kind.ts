import type { GearPlan } from '../../formats/index.js';
import type { GearExplanation } from '../../gearplan/index.js';
import type { PlannerThread } from '../side-by-side.js';
import type { KindTypes } from '../spec-of.js';
import type { Refusal } from '../taken-options.js';
import type { LoadedCascade } from './cascade.js';
import type { GearJob, PlannedGears } from './cascade-worker.js';
import type { CascadeCase } from './cases.js';

/** CascadeTypes are the types of specs of cascades. */
export interface CascadeTypes extends KindTypes {
  readonly spec: 'cascade';
  readonly plan: GearPlan;
  readonly outcome: 'gear-plan';
  readonly explanation: GearExplanation;
  readonly loaded: LoadedCascade;
  readonly compared: LoadedCascade;
  readonly variant: CascadeCase;
  readonly job: GearJob;
  readonly answer: PlannedGears;
}

/** The thread that plans cascades. */
export const CASCADE_THREAD: PlannerThread = {
  worker: '#dist/src/specs/cascade/cascade-worker.js',
  what: 'planner',
};

/** The refusal of options that cascades do not take. */
export const NOT_FOR_CASCADES: Refusal = { refused: 'is not for specs of kind cascade' };
