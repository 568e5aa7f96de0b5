import type { GearPlan } from '../formats/index.js';

/** GearPlanBody is a plan without what the file and its spec add. */
export type GearPlanBody = Omit<GearPlan, 'kind' | 'version' | '$schema' | 'tool' | 'inputs' | 'serving'>;
