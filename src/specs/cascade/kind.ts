import type { GearPlan } from '../../artifacts/index.js';
import type { FamilyAnswer, GearExplanation } from '../../gearplan/index.js';
import type { KindTypes } from '../spec-of.js';
import type { Refusal } from '../taken-options.js';
import type { LoadedCascade } from './cascade.js';
import type { PlannedGears } from './cascade-worker.js';
import type { CascadeCase } from './cases.js';

/** FamilyEnded is what came of a search, and whether its time was over. */
export type FamilyEnded = FamilyAnswer & Pick<PlannedGears, 'timeOver'>;

/** CascadeTypes are the types of specs of cascades. */
export interface CascadeTypes extends KindTypes {
  readonly spec: 'cascade';
  readonly plan: GearPlan;
  readonly outcome: 'gear-plan';
  readonly explanation: GearExplanation;
  readonly loaded: LoadedCascade;
  readonly compared: LoadedCascade;
  readonly variant: CascadeCase;
  readonly answer: FamilyEnded;
}

/** What is said of options that cascades do not take. */
export const NOT_FOR_CASCADES: Refusal = { refused: 'is not for specs of kind cascade' };
