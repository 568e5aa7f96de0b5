/**
 * This folder answers specs of cascades: it loads them, plans gears on threads, and compares cases.
 */
export {
  type CascadeSolved,
  evaluatedGearFaults,
  type LoadedCascade,
  loadCascade,
  replannedGears,
  solveCascade,
} from './cascade.js';
export type { GearJob, PlannedGears } from './cascade-worker.js';
export { compareCascade } from './compare.js';
export { gearServing, repeatedGearPromiseFaults } from './gear-simulation.js';
